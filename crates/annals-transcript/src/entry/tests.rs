use super::*;
use crate::line::Reader;

/// Lists the entries of a file as `type or problem` with their bytes.
fn read(file: &[u8]) -> Vec<(String, String)> {
    let mut reader = Reader::new(file);
    let mut found = Vec::new();
    while let Some(entry) = reader.read().unwrap() {
        let name = match (entry.kind().name(), entry.problem()) {
            (Some(name), None) => name.to_owned(),
            (Some(name), Some(problem)) => format!("{name}: {problem:?}"),
            (None, Some(problem)) => format!("{problem:?}"),
            (None, None) => "other".to_owned(),
        };
        found.push((name, String::from_utf8_lossy(entry.bytes()).into_owned()));
    }
    found
}

fn check(file: &str, expected: &[(&str, &str)]) {
    let found = read(file.as_bytes());
    let found: Vec<_> = found.iter().map(|(name, bytes)| (name.as_str(), bytes.as_str())).collect();
    assert_eq!(found, expected);
}

const USER: &str =
    r#"{"parentUuid":null,"type":"user","uuid":"a","message":{"content":[{"type":"text","text":"}{"}]}}"#;

#[test]
fn sound_lines_have_no_problem() {
    check(&format!("{USER}\n"), &[("user", &format!("{USER}\n"))]);
    check(&format!(" {USER} \r\n"), &[("user", &format!(" {USER} \r\n"))]);
    check(&format!("\u{feff}{USER}"), &[("user", &format!("\u{feff}{USER}"))]);
    let mark_inside = format!("{USER}\n\u{feff}{USER}");
    check(&mark_inside, &[("user", &format!("{USER}\n")), ("Garbage", "\u{feff}"), ("user: Glued", USER)]);
    check(
        "{}\n{\"type\":\"new\"}\n{\"type\":7}",
        &[("other", "{}\n"), ("other", "{\"type\":\"new\"}\n"), ("other", "{\"type\":7}")],
    );
}

#[test]
fn lines_without_an_object_say_what_they_are() {
    check("\n", &[("Blank", "\n")]);
    check(" \t\r\n", &[("Blank", " \t\r\n")]);
    check("\0\0\0\n", &[("Nul", "\0\0\0\n")]);
    check("[1,2]\n", &[("NotObject", "[1,2]\n")]);
    check("\"text\"\n", &[("NotObject", "\"text\"\n")]);
    check("what?\n", &[("Garbage", "what?\n")]);
    check(".344Z\"}\n", &[("Headless", ".344Z\"}\n")]);
    check("{\"type\":\"user\",\n", &[("Unclosed", "{\"type\":\"user\",\n")]);
    check("{\"type\":\"user\",", &[("Torn", "{\"type\":\"user\",")]);
    check("{\"type\" \"user\"}\n", &[("Syntax", "{\"type\" \"user\"}\n")]);
}

#[test]
fn glued_objects_are_all_read() {
    check(&format!("{USER}{USER}\n"), &[("user", USER), ("user: Glued", &format!("{USER}\n"))]);
    check(&format!("{USER}\0 {USER}\n"), &[("user", USER), ("user: NulPrefix", &format!("\0 {USER}\n"))]);
    check(&format!("\0\0{USER}\n"), &[("user: NulPrefix", &format!("\0\0{USER}\n"))]);
    check(&format!("{USER} trailing\n"), &[("user", USER), ("Trailing", " trailing\n")]);
    check(&format!("{USER}}}\n"), &[("user", USER), ("Trailing", "}\n")]);
    check(&format!("{USER}{{\"cut\n"), &[("user", USER), ("Unclosed", "{\"cut\n")]);
}

#[test]
fn an_object_behind_a_torn_or_headless_one_is_found() {
    let torn = r#"{"type":"user","message":{"content":"cut of"#;
    check(&format!("{torn}{USER}\n"), &[("Unclosed", torn), ("user: Glued", &format!("{USER}\n"))]);
    check(
        &format!("{torn}{USER}{USER}\n"),
        &[("Unclosed", torn), ("user: Glued", USER), ("user: Glued", &format!("{USER}\n"))],
    );
    let tail = r#"lost"},"timestamp":"2026-01-02T03:04:05.000Z"}"#;
    check(&format!("{tail}{USER}\n"), &[("Headless", tail), ("user: Glued", &format!("{USER}\n"))]);
}

#[test]
fn an_object_inside_a_broken_one_is_not_an_entry() {
    let copy = format!("{{\"type\":\"progress\",\"data\":{{\"message\":{USER},\"x\":1\n");
    check(&copy, &[("Unclosed", &copy)]);
    let bare_copy = r#"{"type":"progress","data":{"message":{"type":"user","uuid":"a","message":{}}"#;
    check(bare_copy, &[("Torn", bare_copy)]);
    let tail = format!("\"message\":{USER}}}\n");
    check(&tail, &[("Headless", &tail)]);
    let other = r#"cut {"type":"text","text":"x"}"#;
    check(other, &[("Headless", other)]);
}

#[test]
fn a_pretty_printed_object_is_one_entry() {
    let names: Vec<_> =
        read(b"{\n  \"type\": \"user\",\n  \"n\": 1\n}\n").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["user"]);
}

#[test]
fn hostile_lines_are_read_in_bounded_time() {
    for piece in [
        r#"{"type""#,
        r#"{"uuid":"#,
        "{",
        "[",
        "\"",
        "\\",
        "\0{",
        "}{",
        "{} {\"a\":[",
        r#"{"type":"mode","sessionId":"s"}{"a":["#,
        "{\n",
        "{\"a\":\n",
        "{\"a\":[\n",
        "{\"a\":[{},\n",
    ] {
        let line = piece.repeat(3_000_000 / piece.len());
        let total: usize = read(line.as_bytes()).iter().map(|(_, bytes)| bytes.len()).sum();
        assert_eq!(total, line.len(), "{piece}");
    }
}

#[test]
fn verifying_finds_what_the_scanner_passes_over() {
    let entry = Entry::new(br#"{"type":"user","message":{"content":[1,,2]}}"#);
    assert_eq!((entry.kind(), entry.problem(), entry.verify()), (Kind::User, None, Some(Problem::Syntax)));
    assert_eq!(Entry::new(USER.as_bytes()).verify(), None);
    assert_eq!(Entry::new(b"nothing").verify(), Some(Problem::Garbage));
}

#[test]
fn a_view_is_given_for_its_own_kind_only() {
    let entry = Entry::new(USER.as_bytes());
    assert_eq!(entry.content().text(), "}{");
    assert!(entry.view::<view::Assistant>().is_none());
    assert!(Entry::new(b"noise").view::<view::User>().is_none());
}
