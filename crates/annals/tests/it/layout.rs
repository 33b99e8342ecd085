//! What every command that reads prints on a narrow and on a wide terminal, with text of wide characters.

use insta::assert_snapshot;
use testkit::command::Home;
use unicode_width::UnicodeWidthStr;

use crate::show::run_on_terminal;
use crate::{ANNALS, annals};

const TEA: &str = "11111111-93c1-4d41-9f0c-2a6f0f9f7a55";
const WEATHER: &str = "22222222-93c1-4d41-9f0c-2a6f0f9f7a55";
const DELETED: &str = "33333333-93c1-4d41-9f0c-2a6f0f9f7a55";

/// A home with a session in English, one in Chinese with a subagent, and one in the trash.
fn home() -> Home {
    let home = Home::new();
    let entry = |kind: &str, uuid: &str, parent: &str, minute: u32, content: &str| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        let role = if kind == "assistant" {
            format!(
                r#""id":"m{uuid}","model":"claude-opus-5-5","role":"assistant","usage":{{"input_tokens":10,"output_tokens":1234}}"#
            )
        } else {
            r#""role":"user""#.to_owned()
        };
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"isSidechain":false,"cwd":"/home/wei/项目/天气预报","gitBranch":"修复/湿度","version":"2.1.325","timestamp":"2025-03-01T10:{minute:02}:00.000Z","message":{{{role},"content":{content}}}}}"#
        )
    };
    let weather = [
        entry(
            "user",
            "u1000001",
            "",
            0,
            r#""湿度显示成 0.7 了，应该是 70 %。请找出原因，修复它，然后写一个测试，这样以后就不会再发生了。""#,
        ),
        entry(
            "assistant",
            "a1000002",
            "u1000001",
            1,
            r#"[{"type":"text","text":"我先看一下代码。湿度的单位在两个地方换算：一个在读取数据的时候，一个在显示的时候，所以结果小了一百倍。这是一个很长的段落，它在任何终端上都要换行。"},{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/home/wei/项目/天气预报/源代码/湿度.py","old_string":"x","new_string":"y"}}]"#,
        ),
        entry(
            "user",
            "u1000003",
            "a1000002",
            2,
            r#"[{"type":"tool_result","tool_use_id":"t1","content":"文件不存在","is_error":true}]"#,
        ),
        entry(
            "assistant",
            "a1000004",
            "u1000003",
            3,
            r#"[{"type":"tool_use","id":"t2","name":"Agent","input":{"description":"查找文件","prompt":"湿度.py 在哪里？","subagent_type":"Explore"}}]"#,
        ),
        entry(
            "user",
            "u1000005",
            "a1000004",
            4,
            r#"[{"type":"tool_result","tool_use_id":"t2","content":"在 src 里"}]"#,
        ),
        entry("assistant", "a1000006", "u1000005", 5, r#"[{"type":"text","text":"修好了。"}]"#),
    ];
    let folder = ".claude/projects/-home-wei---------";
    home.write(format!("{folder}/{WEATHER}.jsonl"), weather.join("\n") + "\n");
    home.write(
        format!("{folder}/{WEATHER}/subagents/agent-a1b2c3d.jsonl"),
        entry("user", "s1", "", 3, r#""湿度.py 在哪里？""#)
            .replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a1b2c3d\"")
            + "\n",
    );
    home.write(
        format!("{folder}/{WEATHER}/subagents/agent-a1b2c3d.meta.json"),
        r#"{"agentType":"Explore","description":"查找文件","toolUseId":"t2"}"#,
    );
    let tea = |id: &str, title: &str| {
        let lines = [
            entry("user", "u2000001", "", 30, r#""How long does the tea have to steep?""#)
                .replace("/home/wei/项目/天气预报", "/home/mia/tea-timer")
                .replace("修复/湿度", "main"),
            entry(
                "assistant",
                "a2000002",
                "u2000001",
                31,
                r#"[{"type":"tool_use","id":"t9","name":"Bash","input":{"command":"sleep 180 && echo the tea is ready"}}]"#,
            ),
            format!(r#"{{"type":"custom-title","customTitle":"{title}","sessionId":"{id}"}}"#),
        ];
        home.write(format!(".claude/projects/-home-mia-tea-timer/{id}.jsonl"), lines.join("\n") + "\n");
    };
    tea(
        TEA,
        "Tea presets, and why the timer forgets them when the screen is locked for longer than a minute",
    );
    tea(DELETED, "Deleted");
    home.write(
        ".claude/history.jsonl",
        format!("{{\"display\":\"湿度显示成 0.7 了\",\"timestamp\":1740823200000,\"project\":\"/home/wei/项目/天气预报\",\"sessionId\":\"{WEATHER}\",\"pastedContents\":{{}}}}\n"),
    );
    home
}

/// Returns what a command prints on a terminal of so many columns, without the name of the home.
fn printed(home: &Home, columns: usize, args: &str) -> String {
    let line = format!("stty cols {columns} rows 24; {ANNALS} --color never {args}");
    let shown = run_on_terminal(home, &line).replace(&*home.path().to_string_lossy(), "[home]");
    shown.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[test]
fn every_command_fits_into_80_and_200_columns() {
    let home = home();
    let deleted = annals(&home, &["delete", "3333", "--force"]);
    assert_eq!(deleted.code, Some(0), "{}", deleted.stderr);
    for columns in [80, 200] {
        for (name, args) in [
            ("list", "list"),
            ("projects", "projects"),
            ("prompts", "prompts"),
            ("show", "show 2222"),
            ("show_ids", "show 2222 --ids --tools none"),
            ("show_subagents", "show 湿度 --subagents"),
            ("show_model", "show 2222 --view model"),
            ("turns", "turns 2222"),
            ("tools", "tools"),
            ("agents", "agents 2222"),
            ("lineage", "lineage 2222"),
            ("stats", "stats"),
            ("stats_one", "stats 2222"),
            ("check", "check 2222"),
            ("ambiguous", "show e"),
        ] {
            let text = printed(&home, columns, args);
            // A path stays whole, so that it can be copied.
            let prose = text.lines().filter(|line| !line.contains("[home]"));
            let widest = prose.map(UnicodeWidthStr::width).max().unwrap_or(0);
            assert!(widest <= columns, "{name}: {widest} of {columns} columns\n{text}");
            assert_snapshot!(format!("{name}_{columns}"), text);
        }
    }
}

#[test]
fn prose_is_never_wider_than_100_columns() {
    let home = home();
    for args in ["show 2222", "show 2222 --view model", "show nothing-like-it"] {
        let text = printed(&home, 200, args);
        let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
        assert!((60..=100).contains(&widest), "{args}: {widest}\n{text}");
    }
}

#[test]
fn the_column_that_identifies_a_row_is_never_left_out() {
    let home = home();
    for (args, id) in
        [("list", "22222222"), ("tools", "22222222"), ("prompts", "22222222"), ("stats", "22222222")]
    {
        for columns in [30, 40, 60, 80] {
            let text = printed(&home, columns, args);
            assert!(text.contains(id), "{args} at {columns} columns:\n{text}");
        }
    }
}
