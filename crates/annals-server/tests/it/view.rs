//! What a viewer is sent: a skeleton of all rows, some rows with their content, more of one row.

use std::fs::{self, OpenOptions};
use std::io::Write;

use annals_proto::ErrorCode;
use serde_json::{Value, json};

use crate::world::{TEA, World, lines_at};

fn skeleton(world: &World) -> Value {
    world.get("history/skeleton", &json!({"sessionId": TEA}))
}

fn world_with_calls(count: usize) -> World {
    let world = World::new();
    let mut lines = lines_at(0, None).user("u1", "Count");
    for number in 0..count {
        let (reply, call) = (format!("a{number}"), format!("t{number}"));
        let output: Vec<String> = (0..=number).map(|line| format!("line {line}")).collect();
        lines = lines
            .assistant(&reply, |made| {
                made.id(&format!("m{number}")).tool(
                    &call,
                    "Bash",
                    json!({"command": format!("seq {number}")}),
                )
            })
            .result(&format!("r{number}"), &call, output.join("\n"));
    }
    fs::write(world.session(TEA), lines.to_string()).unwrap();
    world
}

#[test]
fn a_window_of_rows_is_found_by_its_skeleton() {
    let world = world_with_calls(60);
    let all = skeleton(&world);
    assert_eq!(all["total"], 61);
    assert_eq!(all["kinds"].as_str().unwrap(), format!("u{}", "c".repeat(60)));
    assert_eq!((&all["turns"], &all["failed"], &all["left"]), (&json!([0]), &json!([]), &json!([])));
    let params = json!({"sessionId": TEA, "revision": all["revision"], "from": 50, "count": 5, "open": [51]});
    let rows = world.get("history/rows", &params)["rows"].as_array().unwrap().clone();
    let titles: Vec<_> = rows.iter().map(|row| row["tool"]["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["seq 49", "seq 50", "seq 51", "seq 52", "seq 53"]);
    assert!(rows[0].get("output").is_none());
    // The last lines of the output of a command, and what is above them.
    let output = &rows[1]["output"];
    assert_eq!(
        (&output[0]["t"], &output[0]["lines"], &output[0]["from"]),
        (&json!("more"), &json!(31), &json!(0))
    );
    assert_eq!(output[1]["lines"][19], json!(["line 50"]));
    let part =
        json!({"sessionId": TEA, "revision": all["revision"], "row": 51, "part": 1, "from": 10, "count": 2});
    let part = world.get("history/part", &part);
    assert_eq!(
        part,
        json!({"nodes": [{"t": "ansi", "lines": [["line 10"], ["line 11"]]}], "lines": 51, "next": 12})
    );
}

#[test]
fn rows_are_located_by_entry_line_turn_and_call() {
    let world = world_with_calls(5);
    let revision = &skeleton(&world)["revision"];
    for (params, row) in [
        (json!({"uuid": "a2"}), 3),
        (json!({"uuid": "r2"}), 3),
        (json!({"line": 1}), 0),
        (json!({"turn": 1}), 0),
        (json!({"callId": "t4"}), 5),
    ] {
        let mut params = params;
        params["sessionId"] = json!(TEA);
        assert_eq!(
            world.get("history/locate", &params),
            json!({"row": row, "revision": revision}),
            "{params}"
        );
    }
    for (params, code) in [
        (json!({"sessionId": TEA, "uuid": "nobody"}), ErrorCode::NotFound),
        (json!({"sessionId": TEA, "turn": 0}), ErrorCode::NotFound),
        (json!({"sessionId": TEA}), ErrorCode::InvalidParams),
        (json!({"sessionId": TEA, "turn": 1, "line": 1}), ErrorCode::InvalidParams),
    ] {
        assert_eq!(world.refusal("history/locate", &params), code, "{params}");
    }
}

#[test]
fn a_skeleton_grows_with_its_file_and_a_replaced_file_has_a_new_one() {
    let world = world_with_calls(3);
    let before = skeleton(&world);
    let more = lines_at(9, Some("r2")).user("u2", "And now").to_string();
    let mut file = OpenOptions::new().append(true).open(world.session(TEA)).unwrap();
    file.write_all(more.as_bytes()).unwrap();
    let known = json!({"sessionId": TEA, "revision": before["revision"], "from": 4});
    let after = world.get("history/skeleton", &known);
    assert_eq!(
        (&after["from"], &after["kinds"], &after["total"]),
        (&json!(4), &json!("u"), &json!(5)),
        "{after}"
    );
    assert_eq!(after["turns"], json!([0, 4]));
    // The rows that the viewer knows are still those of the session.
    let rows = json!({"sessionId": TEA, "revision": before["revision"], "from": 3, "count": 9});
    assert_eq!(world.get("history/rows", &rows)["rows"].as_array().unwrap().len(), 1);
    fs::write(world.session(TEA), lines_at(0, None).user("x1", "Another").to_string()).unwrap();
    assert_eq!(world.refusal("history/rows", &rows), ErrorCode::StaleCursor);
    let replaced = world.get("history/skeleton", &known);
    assert_eq!((&replaced["from"], &replaced["total"]), (&json!(0), &json!(1)));
}

#[test]
fn wrong_numbers_are_refused_or_empty() {
    let world = world_with_calls(2);
    let revision = skeleton(&world)["revision"].clone();
    let with = |params: Value| {
        let mut params = params;
        params["sessionId"] = json!(TEA);
        params["revision"] = revision.clone();
        params
    };
    let rows = world.get("history/rows", &with(json!({"from": 1_000_000, "count": 1_000_000})));
    assert_eq!(rows, json!({"rows": []}));
    for params in [json!({"row": 99, "part": 0}), json!({"row": 1, "part": 99}), json!({"row": 0, "part": 1})]
    {
        assert_eq!(world.refusal("history/part", &with(params.clone())), ErrorCode::NotFound, "{params}");
    }
    for revision in ["", "1", "1-", "-", "x-y", "9999999999999999999999-0", "3-0000000000000000"] {
        let params = json!({"sessionId": TEA, "revision": revision, "from": 0, "count": 1});
        assert_eq!(world.refusal("history/rows", &params), ErrorCode::StaleCursor, "{revision}");
    }
}

/// Returns a world with one call of `Bash` and this result of it.
fn world_with_result(text: &str) -> World {
    let world = World::new();
    let lines = lines_at(0, None)
        .user("u1", "Count")
        .assistant("a1", |made| made.id("m1").tool("t1", "Bash", json!({"command": "seq"})))
        .result("r1", "t1", text);
    fs::write(world.session(TEA), lines.to_string()).unwrap();
    world
}

fn opened(world: &World) -> Value {
    let revision = &skeleton(world)["revision"];
    let params = json!({"sessionId": TEA, "revision": revision, "from": 1, "count": 1, "open": true});
    world.get("history/rows", &params)["rows"][0].clone()
}

fn part(world: &World, from: usize, count: usize) -> Value {
    let revision = &skeleton(world)["revision"];
    let params =
        json!({"sessionId": TEA, "revision": revision, "row": 1, "part": 1, "from": from, "count": count});
    world.get("history/part", &params)
}

#[test]
fn output_in_a_file_of_its_own_is_sent_in_pieces_and_masked() {
    let notice = |name: &str| {
        format!(
            "<persisted-output>\nOutput too large (1MB). Full output saved to: /elsewhere/{name}\n\nPreview (first 2KB):\nline 0\n</persisted-output>"
        )
    };
    let world = world_with_result(&notice("out.txt"));
    let folder = world.session(TEA).with_extension("").join("tool-results");
    assert!(opened(&world)["output"].to_string().contains("Preview"), "the file does not exist");
    let token = ["gh", "p_", "Q7fZk2mX9rT4w8B3cLs5", "Vn1Yd6Hj0Gp3Ae8U"].concat();
    let lines: Vec<_> =
        (0..5000).map(|n| if n == 4990 { token.clone() } else { format!("line {n}") }).collect();
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("out.txt"), lines.join("\n")).unwrap();
    let row = opened(&world);
    assert_eq!(
        (&row["output"][0]["t"], &row["output"][0]["lines"], &row["output"][0]["part"]),
        (&json!("more"), &json!(4980), &json!(1)),
        "{row}"
    );
    assert_eq!(row["output"][1]["lines"][19], json!(["line 4999"]));
    assert!(row["output"].to_string().contains("masked: github-token") && !row.to_string().contains(&token));
    assert_eq!(row["masked"], 1);
    assert_eq!(
        part(&world, 1000, 2),
        json!({"nodes": [{"t": "ansi", "lines": [["line 1000"], ["line 1001"]]}], "lines": 5000, "next": 1002})
    );
    assert!(!part(&world, 4980, 5000).to_string().contains(&token));
    // A transcript that is not trusted leads to no other file.
    fs::write(world.path().join("secret.txt"), "not for you").unwrap();
    for path in ["../../secret.txt", "/etc/passwd", "..", ".hidden"] {
        let world = world_with_result(&notice(path));
        assert!(opened(&world)["output"].to_string().contains("Preview"), "{path}");
    }
    #[cfg(unix)]
    {
        fs::remove_file(folder.join("out.txt")).unwrap();
        std::os::unix::fs::symlink(world.path().join("secret.txt"), folder.join("out.txt")).unwrap();
        let row = opened(&world);
        assert!(row.to_string().contains("Preview") && !row.to_string().contains("not for you"), "{row}");
    }
}

#[test]
fn an_output_that_is_too_long_to_be_rendered_is_sent_in_pieces() {
    let line = "x".repeat(3600);
    let text: String = (0..5000).map(|n| n.to_string() + " " + &line + "\n").collect();
    let world = world_with_result(&text);
    let row = opened(&world);
    assert_eq!(row["tool"]["knownFacts"][0]["kind"], "bytes", "{}", row["tool"]);
    assert_eq!((&row["output"][0]["t"], &row["output"][0]["lines"]), (&json!("more"), &json!(4998)));
    assert_eq!(row["output"][1]["lines"][1], json!([format!("4999 {line}")]));
    assert_eq!(row["output"].as_array().unwrap().len(), 2, "{}", row["output"]);
    let piece = part(&world, 3000, 2);
    assert_eq!(piece["nodes"][0]["lines"][0], json!([format!("3000 {line}")]));
    assert_eq!((&piece["lines"], &piece["next"]), (&json!(5000), &json!(3002)));
    let last = part(&world, 4999, 5000);
    assert_eq!((last["nodes"][0]["lines"].as_array().unwrap().len(), last.get("next")), (1, None));
}

#[test]
fn an_entry_that_is_too_long_to_be_parsed_is_sent_as_it_is() {
    let world = World::new();
    let text = format!("{} the end", "word ".repeat(4 << 20));
    fs::write(world.session(TEA), lines_at(0, None).user("u1", &*text).to_string()).unwrap();
    let revision = &skeleton(&world)["revision"];
    let params = json!({"sessionId": TEA, "revision": revision, "from": 0, "count": 1});
    let row = world.get("history/rows", &params)["rows"][0].clone();
    let more = &row["nodes"][1];
    assert_eq!((&more["t"], &more["part"]), (&json!("more"), &json!(0)), "{row}");
    let last = more["from"].as_u64().unwrap() + more["lines"].as_u64().unwrap() - 1;
    let params =
        json!({"sessionId": TEA, "revision": revision, "row": 0, "part": 0, "from": last, "count": 1});
    assert!(world.get("history/part", &params).to_string().contains("the end"));
}
