use std::fmt::Write as _;
use std::io::Cursor;

use super::*;
use crate::entry::view::{CustomTitle, LastPrompt};

fn user(text: &str, time: &str) -> String {
    format!(
        r#"{{"parentUuid":null,"cwd":"/p","sessionId":"s","version":"2.1.0","gitBranch":"main","type":"user","message":{{"role":"user","content":"{text}"}},"uuid":"u","timestamp":"2026-01-02T03:04:{time}.000Z"}}{}"#,
        "\n"
    )
}

fn filler(bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        writeln!(text, r#"{{"type":"assistant","uuid":"x","message":{{"content":"{}"}}}}"#, "y".repeat(1000))
            .unwrap();
    }
    text
}

fn lite(file: &str) -> Lite {
    Lite::read(&mut Cursor::new(file.as_bytes())).unwrap()
}

fn seconds(time: Option<Timestamp>) -> i8 {
    time.unwrap().to_zoned(jiff::tz::TimeZone::UTC).second()
}

#[test]
fn a_small_file_is_read_whole() {
    let file = user("<command-name>/x</command-name>", "01") + &user("First", "03") + &user("Second", "02");
    let lite = lite(&file);
    assert!(lite.whole && lite.has_main_messages);
    assert_eq!(lite.first_prompt.as_deref(), Some("First"));
    assert_eq!((lite.cwd.as_deref(), lite.git_branch.as_deref()), (Some("/p"), Some("main")));
    assert_eq!((seconds(lite.first_at), seconds(lite.last_at)), (1, 3));
}

#[test]
fn the_middle_of_a_large_file_is_not_read() {
    let title =
        |name| format!("{{\"type\":\"custom-title\",\"customTitle\":\"{name}\",\"sessionId\":\"s\"}}\n");
    let last = r#"{"type":"last-prompt","lastPrompt":"p","leafUuid":"l","sessionId":"s"}"#.to_owned() + "\n";
    let file = user("First", "01") + &title("early") + &filler(300_000) + &title("hidden") + &filler(300_000);
    let read = lite(&(file.clone() + &user("Last", "09") + &last));
    assert!(!read.whole);
    assert_eq!(read.last::<CustomTitle>().unwrap().title().unwrap(), "early");
    assert_eq!(read.last::<LastPrompt>().unwrap().leaf().unwrap(), "l");
    assert_eq!((seconds(read.first_at), seconds(read.last_at)), (1, 9));
    let renamed = lite(&(file + &title("late")));
    assert_eq!(renamed.last::<CustomTitle>().unwrap().title().unwrap(), "late");
}

#[test]
fn a_long_first_line_is_read_to_its_end() {
    let first = user(&format!("Long {}", "z".repeat(200_000)), "01");
    let read = lite(&(first + &user("Second", "02") + &filler(300_000)));
    assert!(read.first_prompt.unwrap().starts_with("Long zzz"));
    assert_eq!(seconds(read.first_at), 1);
}

#[test]
fn a_long_injected_line_does_not_hide_the_prompt() {
    let meta = user(&"m".repeat(200_000), "01").replace("\"uuid\"", "\"isMeta\":true,\"uuid\"");
    let read = lite(&(meta + &user("Second", "02") + &filler(300_000)));
    assert_eq!(read.first_prompt.as_deref(), Some("Second"));
}

#[test]
fn a_long_last_line_still_tells_its_time() {
    let read = lite(&(user("First", "01") + &filler(300_000) + &user(&"z".repeat(300_000), "09")));
    assert_eq!(seconds(read.last_at), 9);
    let mode = "{\"type\":\"mode\",\"mode\":\"normal\"}\n";
    let read = lite(&(user("First", "01") + &filler(300_000) + &user(&"z".repeat(300_000), "08") + mode));
    assert_eq!(seconds(read.last_at), 8, "from the end of a line whose beginning was not read");
}

#[test]
fn a_line_beyond_the_limit_is_read_as_far_as_it_goes() {
    let first = user(&format!("Endless {}", "z".repeat(9_000_000)), "01");
    let read = lite(&(first + &filler(100_000)));
    assert!(read.first_prompt.unwrap().starts_with("Endless zzz"));
    assert_eq!(read.cwd.as_deref(), Some("/p"));
}

#[test]
fn fields_of_cut_lines_are_the_top_level_ones() {
    let line = user(r#"he said \"uuid\":\"no\" \u4f60"#, "01");
    let line = line.trim_end().as_bytes();
    for cut in 0..line.len() {
        let (begun, ended) = line.split_at(cut);
        let uuid = field(ended, "uuid");
        assert!(uuid.is_none() || uuid.as_deref() == Some("u"), "{cut}");
        let version = field(begun, "version");
        assert!(version.is_none_or(|version| "2.1.0".starts_with(&*version)), "{cut}");
    }
    assert_eq!(field(&line[20..], "timestamp").unwrap(), "2026-01-02T03:04:01.000Z");
    assert_eq!(field(line, "content"), None);
    assert_eq!(field(br#"{"a":"caf\u00e"#, "a").unwrap(), "caf");
}
