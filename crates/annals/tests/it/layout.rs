//! What every command that reads prints on a narrow and on a wide terminal, with text of wide characters.

use insta::assert_snapshot;
use testkit::command::Home;
use unicode_width::UnicodeWidthStr;

use crate::show::run_on_terminal;
use crate::{ANNALS, annals};

const TEA: &str = "11111111-93c1-4d41-9f0c-2a6f0f9f7a55";
const WEATHER: &str = "22222222-93c1-4d41-9f0c-2a6f0f9f7a55";
const DELETED: &str = "33333333-93c1-4d41-9f0c-2a6f0f9f7a55";
const HERE: &str = "44444444-93c1-4d41-9f0c-2a6f0f9f7a55";

/// A home with sessions in English, one in Chinese with a subagent, and one whose folder exists.
#[expect(clippy::too_many_lines, reason = "the lines of transcripts")]
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
    let key = annals_transcript::project::folder_name("/home/wei/项目/天气预报");
    let folder = format!(".claude/projects/{key}");
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
    home.write(
        format!(".claude/projects/-/{HERE}.jsonl"),
        [
            entry("user", "u3000001", "", 40, r#""水什么时候开？""#),
            entry(
                "assistant",
                "a3000002",
                "u3000001",
                41,
                r#"[{"type":"tool_use","id":"t5","name":"Write","input":{"file_path":"/茶/水.md","content":"五分钟"}}]"#,
            ),
            entry(
                "user",
                "u3000003",
                "a3000002",
                42,
                r#"[{"type":"tool_result","tool_use_id":"t5","content":"好"}]"#,
            ),
        ]
        .map(|line| line.replace("/home/wei/项目/天气预报", "/") + "\n")
        .concat(),
    );
    home.write(
        "draft.jsonl",
        r#"{"type":"user","uuid":"u5000001","message":{"role":"user","content":"水开了。"}}"#,
    );
    home.write(
        "damaged.jsonl",
        [
            entry("user", "u6000001", "", 0, r#""茶叶要泡多久？""#),
            entry("assistant", "a6000002", "u6000001", 1, r#"[{"type":"text","text":"三分钟。"}]"#),
            entry("user", "u6000003", "lost", 50, r#""水温呢？""#),
            entry("assistant", "a6000004", "u6000003", 51, r#"[{"type":"text","text":"八十度。"}]"#),
        ]
        .join("\n")
            + "\n",
    );
    home.write("log.jsonl", entry("user", "u4000001", "", 50, r#""茶叶在哪里？""#) + "\n");
    home
}

/// What is printed, by the name of its snapshot: that of the command, and what is special about it. They run in this order in one
/// home. A command that serves until it is ended, or whose output is a script, is shown with its help.
const PRINTED: &[(&str, &str)] = &[
    ("list", "list"),
    ("projects", "projects"),
    ("roots", "roots --root .claude"),
    ("prompts", "prompts"),
    ("search", "search 湿度"),
    ("search_nothing", "search nichts-dergleichen"),
    ("index", "index"),
    ("show", "show 2222"),
    ("show_ids", "show 2222 --ids --tools none"),
    ("show_subagents", "show 湿度 --subagents"),
    ("show_full", "show 2222 --tools full --expand"),
    ("show_model", "show 2222 --view model"),
    ("show_ambiguous", "show e < /dev/null"),
    ("show_nearest", "show presents < /dev/null"),
    ("tail", "tail 2222 --seconds 0"),
    ("turns", "turns 2222"),
    ("tools", "tools"),
    ("tools_full", "tools --errors --full"),
    ("agents", "agents 2222"),
    ("files", "files 4444"),
    ("files_of_all", "files --file 水.md --diff"),
    ("files_nothing", "files 2222"),
    ("lineage_nothing", "lineage 2222"),
    ("stats", "stats"),
    ("stats_one", "stats 2222"),
    ("usage", "usage --timezone UTC"),
    ("usage_by_model", "usage --by model --breakdown --timezone UTC"),
    ("usage_context", "usage 2222 --context"),
    ("insight", "insight"),
    ("check", "check 2222"),
    ("check_damaged", "check damaged.jsonl"),
    ("repair", "repair 2222"),
    ("repair_damaged", "repair damaged.jsonl"),
    ("export", "export 2222 -o 湿度.html --force"),
    ("resume", "resume 4444 --print"),
    ("resume_without_folder", "resume 2222"),
    ("resume_several", "resume --on 2025-03-01 --print < /dev/null"),
    ("rename", "rename 4444 '茶的时间'"),
    ("tag", "tag 4444 厨房"),
    ("fork", "fork 2222 --title '另一种方法'"),
    ("lineage", "lineage 2222"),
    ("turns_compared", "turns 2222 另一种方法"),
    ("archive", "archive 4444"),
    ("unarchive", "unarchive 4444"),
    ("delete_dry_run", "delete 3333 --force --dry-run"),
    ("delete", "delete 3333 --force"),
    ("restore_list", "restore"),
    ("restore", "restore 3333"),
    ("tombstone", "tombstone 2222 a1000006 --force"),
    ("record", "record --project / --session 55555555-93c1-4d41-9f0c-2a6f0f9f7a55 < draft.jsonl"),
    ("hydrate", "hydrate log.jsonl --project /"),
    ("push", "push 4444 http://127.0.0.1:9/{session} --dry-run"),
    ("serve", "serve --help"),
    ("mcp", "mcp --help"),
    ("statusline", "statusline --help"),
    ("completions", "completions --help"),
    ("man", "man --help"),
];

/// Returns what a command prints on a terminal of so many columns, without what differs from run to run.
fn printed(home: &Home, columns: usize, args: &str) -> String {
    let line = format!("stty cols {columns} rows 24; {ANNALS} --color never {args}");
    let shown = without_new_ids(home, &run_on_terminal(home, &line));
    let shown = without_time(&shown).replace(&*home.path().to_string_lossy(), "[home]");
    shown.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Replaces the ids of sessions that commands created by one that is as long.
fn without_new_ids(home: &Home, text: &str) -> String {
    let projects = std::fs::read_dir(home.path().join(".claude/projects")).unwrap();
    let files = projects.flat_map(|project| std::fs::read_dir(project.unwrap().path()).unwrap());
    let mut text = text.to_owned();
    for file in files {
        let name = file.unwrap().file_name().into_string().unwrap();
        let id = name.trim_end_matches(".jsonl");
        if !id.ends_with("-93c1-4d41-9f0c-2a6f0f9f7a55") {
            text = text.replace(id, "abcdabcd-abcd-4bcd-8bcd-abcdabcdabcd").replace(&id[..8], "abcdabcd");
        }
    }
    text
}

/// Returns whether a line has a path or a command, which stays whole, so that it can be copied.
fn is_copied(line: &str) -> bool {
    let is_command = line.starts_with("  ") && ["annals ", "curl "].iter().any(|name| line.contains(name));
    is_command || line.contains("[home]")
}

#[test]
fn every_command_fits_into_80_and_200_columns() {
    for columns in [80, 200] {
        let home = home();
        for (name, args) in PRINTED {
            let mut text = printed(&home, columns, args);
            if *name == "roots" {
                // The path of the home is as long as the system makes it, and with it the column.
                let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
                text = text.lines().map(squeezed).collect();
            }
            if *name == "index" {
                // The size of the database is that of its pages, whose number no test should depend on.
                text = text.split_inclusive('\n').filter(|line| !line.starts_with("size")).collect();
            }
            let prose = text.lines().filter(|line| !is_copied(line));
            let widest = prose.map(UnicodeWidthStr::width).max().unwrap_or(0);
            assert!(widest <= columns, "{name}: {widest} of {columns} columns\n{text}");
            assert_snapshot!(format!("{name}_{columns}"), text);
        }
    }
}

/// Replaces the names of trash entries, which are times.
fn without_time(text: &str) -> String {
    let is_number =
        |digits: &str, count| digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_entry = |word: &&str| {
        let (date, time) = word.split_once('T').unwrap_or_default();
        is_number(date, 8) && is_number(time, 9)
    };
    let entries: Vec<_> = text.split_whitespace().filter(is_entry).collect();
    entries.iter().fold(text.to_owned(), |text, entry| text.replace(entry, "20250301T103200000"))
}

#[test]
fn every_command_has_a_snapshot() {
    let home = Home::new();
    assert_eq!(annals(&home, &["man", "--output", "pages"]).code, Some(0));
    let pages = std::fs::read_dir(home.path().join("pages")).unwrap();
    let pages = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
    let mut commands: Vec<_> =
        pages.filter_map(|page| Some(page.strip_prefix("annals-")?.strip_suffix(".1")?.to_owned())).collect();
    // `annals-mcp-install` is a page of a command of `mcp`.
    commands.retain(|command| !command.contains('-'));
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        let is_printed = |(name, args): &(&str, &str)| {
            *name == command && args.split_whitespace().next() == Some(&command)
        };
        assert!(PRINTED.iter().any(is_printed), "`annals {command}` has no snapshot in `PRINTED`");
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
