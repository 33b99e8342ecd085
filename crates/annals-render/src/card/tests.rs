use super::*;

/// Renders a card as text: the folded line, the arguments, the result.
fn card(name: &str, input: &str, result: &str, output: &str) -> String {
    let call = format!(r#"{{"type":"tool_use","id":"t","name":"{name}","input":{input}}}"#);
    let parts = |target| {
        CallParts::new(
            tool::read(call.as_bytes()).unwrap(),
            tool::read_result(result.as_bytes()),
            Value::new(output.as_bytes()).filter(|value| value.is_object()),
            Some("/home/mia/kettle"),
            target,
        )
    };
    let text = text_of(&parts(Target::Viewer));
    assert_eq!(text, text_of(&parts(Target::Plain)), "colours change no text");
    text
}

fn text_of(parts: &CallParts<'_>) -> String {
    let card = parts.card();
    let changes = card.changes.map_or_else(String::new, |(added, removed)| format!(" +{added} −{removed}"));
    let words: Vec<_> = card.facts.iter().map(Fact::words).collect();
    let mut out = format!("{} | {} | {}{changes}\n", card.name, card.title, words.join(", "));
    crate::text::nodes(&parts.input(), "> ", &mut out);
    crate::text::nodes(&parts.output().0, "< ", &mut out);
    out
}

fn result(content: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"t","content":{content}}}"#)
}

fn failed(content: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"t","is_error":true,"content":{content}}}"#)
}

#[test]
fn the_reason_of_a_failure_has_no_tags_of_claude_code() {
    let reason = failed(r#""<tool_use_error>Read the file first.</tool_use_error>""#);
    let card = card("Edit", r#"{"file_path":"/a"}"#, &reason, "");
    assert!(card.starts_with("Edit | /a | Read the file first."), "{card}");
    assert!(!card.lines().next().unwrap().contains("tool_use_error"), "{card}");
}

#[test]
fn a_command_shows_its_first_line_and_how_it_ended() {
    assert_eq!(
        card(
            "Bash",
            r#"{"command":"cargo test\nls","description":"Run tests"}"#,
            &result(r#""ok\nall""#),
            r#"{"stdout":"\u001b[32mok\u001b[0m\nall","stderr":"warning","interrupted":false}"#
        ),
        "Bash | cargo test (+1 lines) | 3 lines\n> Run tests\n\n> cargo test\n> ls\n< ok\n< all\n< standard error\n\n< warning\n"
    );
    assert_eq!(
        card(
            "Bash",
            r#"{"command":"false"}"#,
            &failed(r#""Exit code 1\nno tea""#),
            r#""Error: Exit code 1""#
        ),
        "Bash | false | exit 1\n> false\n< Exit code 1\n< no tea\n"
    );
}

#[test]
fn a_long_output_counts_all_lines_that_are_stored_and_not_those_of_its_preview() {
    let preview = result(r#""<persisted-output>\nOutput too large.\n\nPreview:\na""#);
    let folded = |output| {
        let card = card("Bash", r#"{"command":"seq"}"#, &preview, output);
        card.lines().next().unwrap().to_owned()
    };
    assert_eq!(folded(r#"{"stdout":"a\nb\nc\nd\ne\nf\n","stderr":""}"#), "Bash | seq | 6 lines");
    assert_eq!(folded(r#"{"stdout":"","stderr":" "}"#), "Bash | seq | no output");
    assert_eq!(folded("{}"), "Bash | seq | 5 lines");
}

#[test]
fn an_edit_shows_the_line_numbers_of_the_file() {
    let patch = r#"{"structuredPatch":[{"oldStart":40,"oldLines":1,"newStart":40,"newLines":2,"lines":["-a","+a","+b"]}]}"#;
    assert_eq!(
        card(
            "Edit",
            r#"{"file_path":"/home/mia/kettle/src/a.rs","old_string":"a","new_string":"a\nb"}"#,
            &result(r#""done""#),
            patch
        ),
        "Edit | src/a.rs |  +2 −1\n> @@ -40 +40 @@\n> -a\n> +a\n> +b\n"
    );
    assert_eq!(
        card("Edit", r#"{"file_path":"/b.rs","old_string":"x","new_string":"y"}"#, "", ""),
        "Edit | /b.rs |  +1 −1\n> -x\n> +y\n"
    );
}

#[test]
fn an_edit_that_failed_shows_what_it_wanted_and_counts_no_lines() {
    assert_eq!(
        card(
            "Edit",
            r#"{"file_path":"/b.rs","old_string":"x","new_string":"y"}"#,
            &failed(r#""Read the file first.""#),
            ""
        ),
        "Edit | /b.rs | Read the file first.\n> -x\n> +y\n< Read the file first.\n"
    );
}

#[test]
fn a_file_that_was_read_has_its_line_numbers() {
    let file =
        r#"{"type":"text","file":{"filePath":"/a.rs","content":"fn a()\n}","numLines":2,"startLine":7}}"#;
    assert_eq!(
        card("Read", r#"{"file_path":"/a.rs","offset":7,"limit":2}"#, &result(r#""x""#), file),
        "Read | /a.rs 7–8 | 2 lines\n> file_path: /a.rs\n> offset: 7\n> limit: 2\n<     7  fn a()\n<     8  }\n"
    );
    assert_eq!(
        card("Read", r#"{"file_path":"/a.rs"}"#, &result(r#""     3→let x;\n     4→}""#), ""),
        "Read | /a.rs | \n> file_path: /a.rs\n<     3  let x;\n<     4  }\n"
    );
}

#[test]
fn lists_questions_and_plans_read_as_such() {
    assert_eq!(
        card(
            "TodoWrite",
            r#"{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"}]}"#,
            &result(r#""ok""#),
            "{}"
        ),
        "TodoWrite | 1/2 → b | \n> [x] a\n> [ ] b\n"
    );
    assert_eq!(
        card(
            "AskUserQuestion",
            r#"{"questions":[{"question":"Tea?","options":[{"label":"Green"},{"label":"Black","description":"strong"}]}]}"#,
            &result(r#""x""#),
            r#"{"answers":{"Tea?":"Black"}}"#
        ),
        "AskUserQuestion | Tea? → Black | \n> Tea?\n\n> [ ] Green\n> [x] Black: strong\n< x\n"
    );
}

#[test]
fn tools_without_a_card_are_shown_with_everything_they_have() {
    assert_eq!(
        card(
            "mcp__kettle__boil",
            r#"{"degrees":70,"name":"茶","long":"a\nb"}"#,
            &result(r#"[{"type":"text","text":"{\"a\":1}"}]"#),
            "[]"
        ),
        "kettle › boil | 茶 | 1 line\n> degrees: 70\n> name: 茶\n> long\n\n> a\n> b\n< {\n<   \"a\": 1\n< }\n"
    );
    assert_eq!(card("Fancy", "[1]", "", ""), "Fancy |  | \n> [\n>   1\n> ]\n");
}

#[test]
fn an_error_is_shown_without_the_tags_for_the_model() {
    assert_eq!(
        card(
            "Read",
            r#"{"file_path":"/a.txt"}"#,
            &failed(r#""<tool_use_error>There is no file.</tool_use_error>""#),
            ""
        ),
        "Read | /a.txt | There is no file.\n> file_path: /a.txt\n< There is no file.\n"
    );
}
