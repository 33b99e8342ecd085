//! `annals export`.

use std::fs;

use serde_json::json;
use testkit::command::Home;
use testkit::transcript::{Reply, Transcript};

use crate::{SESSION, annals};

/// A home with one session: a prompt with markup, reasoning, a command that failed, an edit, a reply in Markdown, a second turn.
fn home() -> Home {
    let home = Home::new();
    let edit =
        json!({"file_path": "/home/mia/tea/a.rs", "old_string": "let x = 1;", "new_string": "let x = 2;"});
    let lines = Transcript::session(SESSION)
        .user("u1", "Boil <script>alert(1)</script>\n  it")
        .assistant("a1", |reply| reply.id("m1").thinking("Hot **enough**?"))
        .assistant("a2", |reply| reply.id("m1").tool("t1", "Bash", json!({"command": "kettle --on"})))
        .failure("r1", "t1", "Exit code 3\n\u{1b}[31mno water\u{1b}[0m")
        .assistant("a3", |reply| reply.id("m2").tool("t2", "Edit", edit))
        .result("r2", "t2", "done")
        .assistant("a4", |reply| reply.id("m3").text("Done:\n\n| a | b |\n|---|---|\n| 1 | `2` |"))
        .user("u2", "Thanks 茶")
        .assistant("a5", |reply| reply.id("m4").text("Enjoy [it](javascript:alert(1))"))
        .message(
            "user",
            "x1",
            json!({"isMeta": true, "message": {"role": "user", "content": "Added context"}}),
        )
        .title("Tea <b>timer</b>");
    home.write(format!(".claude/projects/-home-mia-tea/{SESSION}.jsonl"), lines.to_string());
    home
}

fn exported(home: &Home, args: &[&str]) -> String {
    let ran = annals(home, &[&["export", SESSION, "-o", "-"], args].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
    ran.stdout
}

#[test]
fn a_page_has_no_markup_but_its_own() {
    let home = home();
    let page = exported(&home, &[]);
    for expected in [
        "default-src 'none'",
        "<title>Tea &lt;b&gt;timer&lt;/b&gt;</title>",
        "Boil &lt;script&gt;alert(1)&lt;/script&gt;\n  it",
        "<section class=\"user\" id=\"u1\">",
        "<li value=\"2\"><a href=\"#u2\">Thanks 茶</a></li>",
        "<b>Bash</b> <span class=\"what\">kettle --on</span>",
        "exit 3",
        "<span class=\"fg1\">no water</span>",
        "<td><code>2</code></td>",
        "<p>Enjoy it</p>",
    ] {
        assert!(page.contains(expected), "{expected}\n{page}");
    }
    assert!(
        !page.contains("<script") && !page.contains("javascript:") && !page.contains("src=\"http"),
        "{page}"
    );
    assert_eq!(page.matches("id=\"a2\"").count(), 1);
}

#[test]
fn markdown_and_text_read_well() {
    let home = home();
    assert_eq!(exported(&home, &["--format", "md"]), MARKDOWN);
    assert_eq!(exported(&home, &["--format", "text", "--turn", "2"]), TEXT);
}

/// The helpers of tests print `/` for every backslash.
const MARKDOWN: &str = "# Tea /<b/>timer/</b/>

- session: 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55
- project: /home/mia/tea
- branch: main
- time: 2026-03-01 10:00 +00:00 – 2026-03-01 10:00 +00:00
- turns: 2

<details><summary>Turns</summary>

1. [Boil /<script/>alert(1)/</script/> it](#you-1)
2. [Thanks 茶](#you-2)

</details>

## You 1

> ```
> Boil <script>alert(1)</script>
>   it
> ```

<details><summary><b>Thinking</b> </summary>

Hot **enough**?

</details>

<details><summary><b>Bash</b> kettle --on <i>exit 3 · 1 s · error</i></summary>

```sh
kettle --on
```

```
Exit code 3
no water
```

</details>

<details><summary><b>Edit</b> a.rs <i>+1 −1 · 1 s</i></summary>

```diff
-let x = 1;
+let x = 2;
```

```
done
```

</details>

Done:

| a | b |
| --- | --- |
| 1 | `2` |

## You 2

> Thanks 茶

Enjoy it

";

const TEXT: &str = "Tea <b>timer</b>

session: 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55
project: /home/mia/tea
branch: main
time: 2026-03-01 10:00 +00:00 – 2026-03-01 10:00 +00:00
turns: 2

You
> Thanks 茶

Enjoy it

";

#[test]
fn json_is_a_line_about_the_session_and_then_its_items() {
    let home = home();
    let lines = exported(&home, &["--format", "json"]);
    let mut lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    assert_eq!(lines.next().unwrap()["id"], SESSION);
    let shown = annals(&home, &["show", SESSION, "--json"]).stdout;
    assert_eq!(
        lines.map(|line| line.to_string()).collect::<Vec<_>>(),
        shown
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap().to_string())
            .collect::<Vec<_>>()
    );
}

#[test]
fn parts_are_left_out_on_request() {
    let home = home();
    for (option, gone) in [
        ("--no-thinking", "Hot"),
        ("--no-results", "no water"),
        ("--no-diffs", "let x = 2"),
        ("--turn=1", "Enjoy"),
        ("--turn=2", "kettle"),
    ] {
        assert!(exported(&home, &["--format", "md"]).contains(gone), "{option}");
        assert!(!exported(&home, &["--format", "md", option]).contains(gone), "{option}");
    }
    assert!(!exported(&home, &[]).contains("Added context"));
    assert!(exported(&home, &["--context"]).contains("Added context"));
    let model = exported(&home, &["--format", "text", "--view", "model"]);
    assert!(model.contains("Enjoy"), "{model}");
}

#[test]
fn files_that_exist_are_not_replaced_unless_asked() {
    let home = home();
    let path = home.path().join("tea.md");
    let target = path.to_str().unwrap();
    let ran = annals(&home, &["export", SESSION, "-o", target]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.starts_with("# Tea"), "the ending names the format: {written}");
    fs::write(&path, "mine").unwrap();
    let ran = annals(&home, &["export", SESSION, "-o", target]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    let ran = annals(&home, &["export", SESSION, "-o", target, "--force"]);
    assert_eq!((ran.code, fs::read_to_string(&path).unwrap()), (Some(0), written));
    let left =
        fs::read_dir(home.path()).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    assert!(!left.into_iter().any(|name| name.starts_with(".annals-export")));
}

#[test]
fn nothing_is_written_into_the_folders_of_claude_code() {
    let home = home();
    let root = home.path().join(".claude");
    let transcript = fs::read_dir(root.join("projects")).unwrap().next().unwrap().unwrap().path();
    let transcript = transcript.join(format!("{SESSION}.jsonl"));
    let before = fs::read(&transcript).unwrap();
    for target in [&transcript, &root.join("tea.html")] {
        let ran = annals(&home, &["export", SESSION, "-o", target.to_str().unwrap(), "--force"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("folder of Claude Code"), "{}", ran.stderr);
    }
    assert_eq!(fs::read(&transcript).unwrap(), before);
    assert!(!root.join("tea.html").exists());
}

#[test]
fn a_project_becomes_a_folder_with_an_index() {
    let home = home();
    let folder = home.path().join("history");
    let ran = annals(&home, &["export", SESSION, SESSION, "--force", "-o", folder.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let index = fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(
        index.contains(&format!("<a href=\"annals-{SESSION}.html\">Tea &lt;b&gt;timer&lt;/b&gt;</a>")),
        "{index}"
    );
    assert!(folder.join(format!("annals-{SESSION}.html")).is_file());
}

/// A home with a session of several megabytes, of 40 turns.
fn big_home() -> Home {
    let home = Home::new();
    let mut lines = Transcript::session(SESSION);
    for turn in 1..=40 {
        let reply = "The kettle is warm. ".repeat(5000);
        lines = lines
            .user(&format!("u{turn}"), format!("Turn {turn}"))
            .assistant(&format!("a{turn}"), |message| message.id(&format!("m{turn}")).text(&reply));
    }
    home.write(format!(".claude/projects/-home-mia-tea/{SESSION}.jsonl"), lines.to_string());
    home
}

#[test]
fn a_split_session_is_a_folder_of_pages_with_an_index() {
    let home = big_home();
    let folder = home.path().join("pages");
    for (format, index, ending, link) in [
        ("html", "index.html", "html", "<a href=\"page-002.html#u12\">Turn 12</a>"),
        ("md", "README.md", "md", "12. [Turn 12](page-002.md#you-12)"),
    ] {
        let args = ["export", SESSION, "--split", "--format", format, "-o", folder.to_str().unwrap()];
        let ran = annals(&home, &args);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let index = fs::read_to_string(folder.join(index)).unwrap();
        assert!(index.contains(link), "{index}");
        let page =
            |number: usize| fs::read_to_string(folder.join(format!("page-{number:03}.{ending}"))).unwrap();
        let pages: Vec<String> = (1..=4).map(page).collect();
        assert!(!folder.join(format!("page-005.{ending}")).exists());
        assert!(pages.iter().all(|page| page.len() < 2_000_000));
        let replies: usize = pages.iter().map(|page| page.matches("The kettle is warm.").count()).sum();
        assert_eq!(replies, 40 * 5000, "nothing is lost between pages");
        for turn in 1..=40 {
            let starts = [format!("id=\"u{turn}\""), format!("## You {turn}\n")];
            let found = pages.iter().filter(|page| starts.iter().any(|start| page.contains(start)));
            assert_eq!(found.count(), 1, "turn {turn} is on one page");
        }
        assert!(
            pages[1].contains(&format!("page-001.{ending}"))
                && pages[1].contains(&format!("page-003.{ending}"))
        );
        assert!(!pages[0].contains(&format!("page-000.{ending}")));
        assert!(!pages[3].contains(&format!("page-005.{ending}")));
    }
}

#[test]
fn a_session_of_more_than_16_mb_is_split_unless_the_output_is_a_file() {
    let home = Home::new();
    let mut lines = Transcript::session(SESSION);
    for turn in 1..=17 {
        let reply = "x ".repeat(500_000);
        lines = lines
            .user(&format!("u{turn}"), format!("Turn {turn}"))
            .assistant(&format!("a{turn}"), |message| message.id(&format!("m{turn}")).text(&reply));
    }
    home.write(format!(".claude/projects/-home-mia-tea/{SESSION}.jsonl"), lines.to_string());
    let (folder, file) = (home.path().join("big"), home.path().join("big.html"));
    for path in [&folder, &file] {
        let ran = annals(&home, &["export", SESSION, "-o", path.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    assert!(folder.join("index.html").is_file() && folder.join("page-002.html").is_file());
    assert!(file.is_file());
}

#[test]
fn the_table_of_contents_lists_the_turns_that_are_exported() {
    let page = exported(&home(), &["--turn", "2"]);
    assert!(!page.contains("href=\"#u1\"") && page.contains("href=\"#u2\""), "{page}");
}

#[test]
fn every_link_of_the_contents_leads_somewhere() {
    let home = Home::new();
    let summary = json!({"isCompactSummary": true, "message": {"role": "user", "content": "Tea was made."}});
    let lines = Transcript::session(SESSION)
        .user("u1", "Boil water")
        .assistant("a1", |reply| reply.id("m1").text("Done"))
        .message("user", "u2", summary)
        .assistant("a2", |reply| reply.id("m2").text("And now?"))
        .user("u3", "Pour it");
    home.write(format!(".claude/projects/-home-mia-tea/{SESSION}.jsonl"), lines.to_string());
    let markdown = exported(&home, &["--format", "md"]);
    assert_eq!(markdown.matches("](#you-").count(), 3, "{markdown}");
    for (turn, target) in [(1, "## You 1\n"), (2, "<a name=\"you-2\"></a>"), (3, "## You 3\n")] {
        assert!(markdown.contains(&format!("(#you-{turn})")), "{markdown}");
        assert!(markdown.contains(target), "{target}\n{markdown}");
    }
    let page = exported(&home, &[]);
    for uuid in ["u1", "u2", "u3"] {
        assert!(page.contains(&format!("href=\"#{uuid}\"")), "{page}");
        assert_eq!(page.matches(&format!("id=\"{uuid}\"")).count(), 1, "{page}");
    }
}

#[test]
fn a_report_says_what_was_masked() {
    let home = Home::new();
    let token = format!("ghp_{}", "Q7fZk2mX9rT4w8B3cLs6".repeat(2).split_at(36).0);
    let url = "postgres://app:c0rrect-horse@db.internal/prod";
    let lines = Transcript::session(SESSION)
        .user("u1", format!("Use {token} and {url}"))
        .assistant("a1", |reply| reply.id("m1").text(&format!("Yes, {token}")));
    home.write(format!(".claude/projects/-home-mia-tea/{SESSION}.jsonl"), lines.to_string());
    let report = "2 secrets masked: 1 github-token, 1 url-password";
    for format in ["html", "md", "text", "json"] {
        let ran = annals(&home, &["export", SESSION, "-o", "-", "--format", format]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains(report), "{format}: {}", ran.stderr);
        assert!(!ran.stdout.contains(&token) && !ran.stdout.contains("c0rrect"), "{format}");
        assert_eq!(ran.stdout.contains("2 secrets masked"), format != "json", "{format}: {}", ran.stdout);
        for option in ["--reveal", "--no-redact"] {
            let ran = annals(&home, &["export", SESSION, "-o", "-", "--format", format, option]);
            assert!(ran.stdout.contains(&token) && !ran.stderr.contains("masked"), "{format} {option}");
        }
    }
}

#[test]
fn what_an_option_would_not_change_is_refused() {
    let home = home();
    for args in [
        &["-o", "-", "--format", "json", "--no-thinking"][..],
        &["-o", "tea.pdf"],
        &["-o", ".", "--force"],
        &["-o", "/dev/null", "--force"],
        &["-o", "tea.html", "--split"],
        &["-o", "-", "--split"],
        &["-o", "tea", "--split", "--format", "text"],
    ] {
        let ran = annals(&home, &[&["export", SESSION], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
    }
    let ran = annals(&home, &["export", SESSION, "-o", "-", "--turn", "9"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.stderr);
}

#[test]
fn secrets_in_blocks_of_unknown_types_are_masked() {
    let home = Home::new();
    let token = format!("ghp_{}", "Q7fZk2mX9rT4w8B3cLs6".repeat(2).split_at(36).0);
    let block = json!({"type": "weird_block", "path": format!("token {token}"), "id": token});
    let message = json!({"message": {"role": "assistant", "id": "m1", "content": [block]}});
    let lines = Transcript::session(SESSION).user("u1", "Tea").message("assistant", "a1", message);
    home.write(format!(".claude/projects/-home-mia-tea/{SESSION}.jsonl"), lines.to_string());
    for format in ["html", "md", "text"] {
        let ran = annals(&home, &["export", SESSION, "-o", "-", "--format", format]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains("weird_block"), "{format}: {}", ran.stdout);
        assert!(!ran.stdout.contains(&token), "{format}: {}", ran.stdout);
    }
}

#[test]
fn calls_with_the_same_id_are_exported_with_their_own_results() {
    let call =
        |text: &'static str| move |reply: Reply| reply.id(text).tool("t1", "Bash", json!({"command": text}));
    let home = Home::new();
    let lines = Transcript::session(SESSION)
        .user("u1", "Boil water")
        .assistant("a1", call("first command"))
        .result("r1", "t1", "first output")
        .assistant("a2", call("second command"))
        .result("r2", "t1", "second output");
    home.write(format!(".claude/projects/-home-mia-tea/{SESSION}.jsonl"), lines.to_string());
    for format in ["html", "md", "text"] {
        let text = exported(&home, &["--format", format]);
        let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{format}: {words}: {text}"));
        let places = ["first command", "first output", "second command", "second output"].map(place);
        assert!(places.is_sorted(), "{format}: {text}");
    }
}

/// Returns a home with a call whose output is in a file of its own.
fn home_with_spilled_output(output: &str) -> Home {
    let home = Home::new();
    let notice = "<persisted-output>\nOutput too large (2MB). Full output saved to: /elsewhere/tool-results/b1.txt\n\nPreview:\nfirst line";
    let lines = Transcript::session(SESSION)
        .user("u1", "Boil water")
        .assistant("a1", |reply| reply.id("m1").tool("t1", "Bash", json!({"command": "seq"})))
        .result("r1", "t1", notice);
    home.write(format!(".claude/projects/-home-mia-tea/{SESSION}.jsonl"), lines.to_string());
    if !output.is_empty() {
        home.write(format!(".claude/projects/-home-mia-tea/{SESSION}/tool-results/b1.txt"), output);
    }
    home
}

#[test]
fn output_in_a_file_of_its_own_is_exported_masked_and_up_to_a_bound() {
    let token = ["gh", "p_", "Q7fZk2mX9rT4w8B3cLs5", "Vn1Yd6Hj0Gp3Ae8U"].concat();
    let (before, behind) = token.split_at(12);
    // The second one is put together by a terminal.
    let beginning = format!(
        "first line\nuse {token}\nuse {before}\u{1b}[31m{behind}\u{1b}[0m\n<script>alert(1)</script>\nlast line\n"
    );
    let long = format!("{beginning}{}the end\n", "many words\n".repeat(200_000));
    for format in ["html", "md", "text"] {
        let ran = |output: &str, more: &[&str]| {
            let home = home_with_spilled_output(output);
            annals(&home, &[&["export", SESSION, "-o", "-", "--format", format], more].concat())
        };
        let whole = ran(&beginning, &[]);
        assert_eq!(whole.code, Some(0), "{}", whole.stderr);
        assert!(
            whole.stdout.contains("last line") && !whole.stdout.contains("persisted-output"),
            "{}",
            whole.stdout
        );
        assert!(
            whole.stdout.contains("[masked: github-token]") && !whole.stdout.contains(behind),
            "{}",
            whole.stdout
        );
        assert!(!(format == "html" && whole.stdout.contains("<script>")), "{}", whole.stdout);
        let cut = ran(&long, &[]).stdout;
        assert!(
            cut.contains("many words") && cut.contains("goes on for") && !cut.contains("the end"),
            "{format}"
        );
        assert!(cut.len() < 3 << 20, "{}", cut.len());
        let gone = ran("", &[]);
        assert!(gone.code == Some(0) && gone.stdout.contains("first line"), "{}", gone.stdout);
        assert!(!ran(&beginning, &["--no-results"]).stdout.contains("last line"));
    }
}

#[test]
fn long_output_without_white_space_is_exported_up_to_the_bound() {
    let items = r#"{"kind":"hay"},"#.repeat(130_000);
    let home = home_with_spilled_output(&format!(r#"[{{"kind":"whistle"}},{items}{{"kind":"behind"}}]"#));
    for format in ["html", "md", "text"] {
        let text = exported(&home, &["--format", format]);
        let has = |words: &str| text.contains(words);
        assert!(has("whistle") && has("goes on for") && !has("behind"), "{format}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_out_of_the_folder_of_a_session_is_not_followed() {
    let home = home_with_spilled_output("secret words\n");
    let results = home.path().join(format!(".claude/projects/-home-mia-tea/{SESSION}/tool-results"));
    fs::rename(results.join("b1.txt"), home.path().join("elsewhere.txt")).unwrap();
    std::os::unix::fs::symlink(home.path().join("elsewhere.txt"), results.join("b1.txt")).unwrap();
    let text = exported(&home, &["--format", "text"]);
    assert!(text.contains("first line") && !text.contains("secret words"), "{text}");
}
