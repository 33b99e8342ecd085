use std::fmt::Write as _;
use std::io::Cursor;

use super::ends::{CHUNK, SMALL_CHUNK, last_line_end};
use super::summary::contains;
use super::*;
use crate::entry::view::{CustomTitle, LastPrompt};
use crate::line::first_line;

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
    read(&mut Cursor::new(file))
}

fn read<T: AsRef<[u8]>>(source: &mut Cursor<T>) -> Lite {
    let size = source.get_ref().as_ref().len() as u64;
    source.set_position(0);
    Lite::read(source, size).unwrap()
}

fn seconds(time: Option<Timestamp>) -> i8 {
    time.unwrap().to_zoned(jiff::tz::TimeZone::UTC).second()
}

/// LISTS 1.2
#[test]
fn a_small_file_is_read_whole() {
    let file = user("<command-name>/x</command-name>", "01") + &user("First", "03") + &user("Second", "02");
    let lite = lite(&file);
    assert!(lite.whole && lite.has_main_messages);
    assert_eq!(lite.first_prompt.as_deref(), Some("First"));
    assert_eq!((lite.cwd.as_deref(), lite.git_branch.as_deref()), (Some("/p"), Some("main")));
    assert_eq!((seconds(lite.first_at), seconds(lite.last_at)), (1, 3));
}

/// LISTS 1.3
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

/// A file that counts the bytes that are read of it.
struct Counted<'a>(Cursor<&'a [u8]>, usize);

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1 += count;
        Ok(count)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// LISTS 4.1, 4.2
#[test]
fn small_ends_are_enough_if_the_tail_repeats_the_title() {
    let record = |kind: &str, key: &str, text: &str| {
        format!("{{\"type\":\"{kind}\",\"{key}\":\"{text}\",\"sessionId\":\"s\"}}\n")
    };
    let messages: String = (0..600).map(|second| some_line(99, second)).collect();
    let (before, behind) = messages.split_at(some_line(99, 0).len() * 40);
    assert!((SMALL_CHUNK..CHUNK).contains(&before.len()));
    let last = record("last-prompt", "lastPrompt", "p");
    let custom = |name| record("custom-title", "customTitle", name);
    let ai = record("ai-title", "aiTitle", "by a model");
    let message = some_line(99, 601);
    let (little, much) = (2 * SMALL_CHUNK + 1, 2 * (SMALL_CHUNK + CHUNK + 1));
    for (end, found, most) in [
        (last.clone() + &custom("late"), Some("late"), little),
        (ai.clone() + &last + &message, None, little),
        (ai.clone() + &message + &last, Some("early"), much),
        (last.clone() + &message + &ai, Some("early"), much),
        (last.clone() + &ai + &message + &last, Some("early"), much),
        (last.clone(), Some("early"), much),
        (custom("late"), Some("late"), much),
    ] {
        let file = before.to_owned() + &custom("early") + behind + &end;
        let mut source = Counted(Cursor::new(file.as_bytes()), 0);
        let read = Lite::read(&mut source, file.len() as u64).unwrap();
        assert_eq!(read.last::<CustomTitle>().and_then(|record| record.title()).as_deref(), found, "{end}");
        assert!(source.1 <= most, "{} bytes for {end}", source.1);
    }
}

/// LISTS 1.3
#[test]
fn a_title_at_the_start_of_the_small_tail_is_found() {
    let title = "{\"type\":\"custom-title\",\"customTitle\":\"At the border\",\"sessionId\":\"s\"}\n";
    let last = "{\"type\":\"last-prompt\",\"lastPrompt\":\"p\",\"sessionId\":\"s\"}\n";
    let messages: String = (0..600).map(|second| some_line(99, second)).collect();
    let behind = user("Last", "09").replace("2026-01", "2027-01");
    let rest = SMALL_CHUNK - title.len() - last.len() - behind.len();
    let end = title.to_owned() + last + &" ".repeat(rest - 1) + "\n" + &behind;
    assert_eq!(end.len(), SMALL_CHUNK);
    let file = messages + &end;
    let mut source = Counted(Cursor::new(file.as_bytes()), 0);
    let read = Lite::read(&mut source, file.len() as u64).unwrap();
    assert_eq!(read.last::<CustomTitle>().unwrap().title().unwrap(), "At the border");
    assert_eq!(source.1, 2 * SMALL_CHUNK + 1);
}

/// LISTS 5.4
#[test]
fn a_line_cut_by_the_tail_may_have_the_latest_time() {
    let messages: String = (0..600).map(|second| some_line(99, second)).collect();
    let long = some_line(99, 5000).replace("xxx", &"x".repeat(400));
    assert!(long.len() > CHUNK);
    let read = lite(&(messages + &long + &some_line(99, 600)));
    assert_eq!(read.last_at.unwrap().as_second(), 1_767_225_600 + 5000);
}

/// LISTS 1.3
#[test]
fn the_last_line_of_a_large_file_may_have_no_newline() {
    let messages: String = (0..600).map(|second| some_line(99, second)).collect();
    let title = "{\"type\":\"custom-title\",\"customTitle\":\"Unended\",\"sessionId\":\"s\"}";
    assert_eq!(lite(&(messages + title)).last::<CustomTitle>().unwrap().title().unwrap(), "Unended");
}

/// LISTS 2.6
#[test]
fn context_behind_the_first_prompt_may_be_older() {
    let [first, attached] = [10, 4].map(|second| some_line(99, second));
    let attached = attached.replace("\"type\":\"user\"", "\"type\":\"attachment\"");
    let messages: String = (11..600).map(|second| some_line(99, second)).collect();
    let end = "{\"type\":\"last-prompt\",\"sessionId\":\"s\"}\n{\"type\":\"ai-title\",\"aiTitle\":\"A\"}\n";
    for length in [100, SMALL_CHUNK - first.len(), SMALL_CHUNK] {
        let first = first.replacen("words", &format!("words{}", "x".repeat(length)), 1);
        let read = lite(&(first + &attached + &messages + end));
        assert_eq!(read.first_at.unwrap().as_second(), 1_767_225_600 + 4, "{length}");
    }
}

/// LISTS 1.1
#[test]
fn bytes_appended_since_are_not_read() {
    for messages in [10_u32, 600] {
        let file: String = (0..i64::from(messages)).map(|second| some_line(99, second)).collect();
        let longer = file.clone() + &user("Since", "09");
        let read = Lite::read(&mut Cursor::new(&longer), file.len() as u64).unwrap();
        assert_eq!(facts(&read), facts(&lite(&file)));
        assert_eq!((read.size, read.fingerprint), (file.len() as u64, lite(&file).fingerprint));
        let all = Lite::read_all(&mut Cursor::new(&longer), file.len() as u64).unwrap();
        assert_eq!((all.messages, all.fingerprint), (u64::from(messages), lite(&file).fingerprint));
        let shorter = Lite::read(&mut Cursor::new(&file), longer.len() as u64).unwrap();
        assert_eq!(shorter.first_prompt, lite(&file).first_prompt);
    }
}

/// LISTS 1.4
#[test]
fn a_long_first_line_is_read_to_its_end() {
    let first = user(&format!("Long {}", "z".repeat(200_000)), "01");
    let read = lite(&(first + &user("Second", "02") + &filler(300_000)));
    assert!(read.first_prompt.unwrap().starts_with("Long zzz"));
    assert_eq!(seconds(read.first_at), 1);
}

/// LISTS 1.4
#[test]
fn a_long_injected_line_does_not_hide_the_prompt() {
    let meta = user(&"m".repeat(200_000), "01").replace("\"uuid\"", "\"isMeta\":true,\"uuid\"");
    let read = lite(&(meta + &user("Second", "02") + &filler(300_000)));
    assert_eq!(read.first_prompt.as_deref(), Some("Second"));
}

/// LISTS 1.5, 5.4
#[test]
fn the_time_of_a_long_last_line_is_found() {
    let read = lite(&(user("First", "01") + &filler(300_000) + &user(&"z".repeat(300_000), "09")));
    assert_eq!(seconds(read.last_at), 9);
    let mode = "{\"type\":\"mode\",\"mode\":\"normal\"}\n";
    let read = lite(&(user("First", "01") + &filler(300_000) + &user(&"z".repeat(300_000), "08") + mode));
    assert_eq!(seconds(read.last_at), 8, "from the end of a line whose beginning was not read");
}

/// LISTS 5.1, 5.2
#[test]
fn a_line_beyond_the_limit_is_read_as_far_as_it_goes() {
    let first = user(&format!("Endless {}", "z".repeat(9_000_000)), "01");
    let read = lite(&(first + &filler(100_000)));
    assert!(read.first_prompt.unwrap().starts_with("Endless zzz"));
    assert_eq!(read.cwd.as_deref(), Some("/p"));
}

/// LISTS 5.1, 5.3
#[test]
fn fields_of_truncated_lines_are_top_level_ones() {
    let line = user(r#"he said \"uuid\":\"no\" \u4f60"#, "01");
    let line = line.trim_end().as_bytes();
    for cut in 0..line.len() {
        let (begun, ended) = line.split_at(cut);
        for key in ["uuid", "content", "role", "timestamp"] {
            let found = field_without_beginning(ended, key);
            let expected = match key {
                "uuid" => "u",
                _ => "2026-01-02T03:04:01.000Z",
            };
            assert!(found.is_none_or(|found| found == expected), "{key} from {cut}");
        }
        let version = field_without_end(begun, "version");
        assert!(version.is_none_or(|version| "2.1.0".starts_with(&*version)), "{cut}");
    }
    assert_eq!(field_without_beginning(&line[20..], "timestamp").unwrap(), "2026-01-02T03:04:01.000Z");
    assert_eq!(field_without_end(line, "content"), None);
    assert_eq!(field_without_end(br#"{"a":"caf\u00e"#, "a").unwrap(), "caf");
    // A line cut exactly where an inner object starts is not a line that starts there.
    let inner = br#"{"timestamp":"2031-01-01T00:00:00Z"},"timestamp":"2026-01-01T00:00:00Z"}"#;
    assert_eq!(field_without_beginning(inner, "timestamp").unwrap(), "2026-01-01T00:00:00Z");
}

/// LISTS 1.5
#[test]
fn the_tail_is_read_as_far_back_as_the_last_time() {
    let modes = "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"s\"}\n".repeat(5000);
    let read = lite(&(user("First", "01") + &filler(300_000) + &user("Last", "09") + &modes));
    assert_eq!(seconds(read.last_at), 9);
    assert_eq!(read.first_prompt.as_deref(), Some("First"));
}

/// LISTS 2.7
#[test]
fn a_prompt_of_the_tail_is_not_the_first_of_the_session() {
    let read = lite(&(filler(300_000) + &user("Not the first", "09")));
    assert_eq!((read.first_prompt, read.whole), (None, false));
    let read = lite(&(filler(100_000) + &user("The first", "09")));
    assert_eq!((read.first_prompt.as_deref(), read.whole), (Some("The first"), true));
}

/// LISTS 5.2
#[test]
fn messages_of_subagents_beyond_the_limit_are_no_prompts() {
    let line = |more: &str| {
        let head = format!(
            r#"{{"isSidechain":{more},"type":"user","message":{{"content":[{{"type":"text","text":"Endless"#
        );
        lite(&(head + &"z".repeat(9_000_000)))
    };
    let (main, side) = (line("false"), line("true"));
    assert!(main.first_prompt.unwrap().starts_with("Endlesszz"));
    assert_eq!((side.first_prompt, side.has_messages, side.has_main_messages), (None, true, false));
}

/// LISTS 1.3
#[test]
fn a_record_at_the_start_of_the_tail_is_found() {
    let title = "{\"type\":\"custom-title\",\"customTitle\":\"At the border\",\"sessionId\":\"s\"}\n";
    let last = user("Last", "09");
    let modes = "{\"type\":\"mode\",\"mode\":\"normal\"}\n";
    let rest = 65_536 - title.len() - last.len();
    let padding = modes.repeat(rest / modes.len() - 1);
    let padding = padding.clone() + &" ".repeat(rest - padding.len() - 1) + "\n";
    let tail = title.to_owned() + &padding + &last;
    assert_eq!(tail.len(), 65_536);
    let read = lite(&(user("First", "01") + &filler(300_000) + &tail));
    assert_eq!(read.last::<CustomTitle>().unwrap().title().unwrap(), "At the border");
}

/// LISTS 2.1 to 2.4, 2.10
#[test]
fn the_first_or_the_last_value_of_a_field_wins() {
    let first = r#"{"type":"user","uuid":"a","sessionId":"one","cwd":"/first","entrypoint":"cli","version":"1","message":{}}"#;
    let second = r#"{"type":"user","uuid":"b","sessionId":"two","cwd":"/second","entrypoint":"sdk","version":"2","message":{}}"#;
    let records = r#"{"type":"summary","summary":"S","leafUuid":"l"}"#.to_owned()
        + "\n"
        + r#"{"type":"pr-link","prNumber":7}"#;
    let read = lite(&format!("{first}\n{second}\n{records}\n"));
    let texts =
        [read.session.as_deref(), read.cwd.as_deref(), read.entrypoint.as_deref(), read.version.as_deref()];
    assert_eq!(texts, [Some("one"), Some("/first"), Some("cli"), Some("2")]);
    assert_eq!(read.last::<crate::entry::view::PrLink>().unwrap().number(), Some(7));
}

/// LISTS 3.3, 3.4
#[test]
fn a_summary_is_a_title_if_its_leaf_is_in_the_file() {
    let entry = |id: &str| format!("{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":null}}\n");
    let summary = |text: &str, leaf: &str| {
        format!("{{\"type\":\"summary\",\"summary\":\"{text}\",\"leafUuid\":\"{leaf}\"}}\n")
    };
    let filler = "{\"type\":\"filler\"}\n".repeat(20_000);
    let file = summary("Old", "a")
        + &summary("Ours", "a")
        + &summary("Of another", "z")
        + "{\"type\":\"summary\",\"leafUuid\":\"a\"}\n"
        + &filler
        + &entry("a")
        + &filler;
    let timed = "{\"type\":\"filler\",\"timestamp\":\"2026-01-01T00:00:00Z\"}\n";
    let mut source = std::io::Cursor::new(file + timed);
    let found = read(&mut source);
    assert!(!found.whole);
    assert_eq!(found.summary(&mut source).unwrap().as_deref(), Some("Ours"));
    // From 1.0.128 on, a summary in the head is verified by the head alone.
    let stays = user("Words", "01") + &summary("Near", "u") + &filler + &entry("a") + &filler + timed;
    for (first, found) in [("", Some("Near")), (&*summary("Far", "a"), Some("Near"))] {
        let mut source = std::io::Cursor::new(first.to_owned() + &stays);
        assert_eq!(read(&mut source).summary(&mut source).unwrap().as_deref(), found);
    }
    let mut far = std::io::Cursor::new(stays.replace("\"u\"", "\"other\"") + &summary("Far", "a") + timed);
    assert_eq!(read(&mut far).summary(&mut far).unwrap().as_deref(), Some("Far"));
    let mut other = std::io::Cursor::new(summary("Of another", "z") + &entry("a"));
    assert_eq!(read(&mut other).summary(&mut other).unwrap(), None);
}

/// Reads both ends of a file and parses every line of them.
fn read_without_fast_path(file: &[u8]) -> Lite {
    let mut lite = Lite { size: file.len() as u64, ..Lite::default() };
    let head = &file[..last_line_end(&file[..CHUNK])];
    lite.add_lines(head);
    let tail = &file[file.len() - CHUNK - 1..];
    let cut = first_line(tail).len();
    let mut rest = Lite::default();
    rest.add_lines(&tail[cut..]);
    rest.add_line_without_beginning(&tail[..cut], &lite);
    lite.add_tail(rest, tail, false);
    lite
}

/// A line of a session: mostly a message, sometimes something odd.
fn some_line(kind: u8, second: i64) -> String {
    let time =
        |second: i64| jiff::Timestamp::from_second(1_767_225_600 + second).unwrap().strftime("%FT%T.000Z");
    let now = time(second);
    let surroundings = format!(
        "\"cwd\":\"/w{}\",\"sessionId\":\"s\",\"version\":\"2.1.{kind}\",\"gitBranch\":\"b{second}\"",
        kind % 3
    );
    let message = |more: &str, time: &str| {
        format!(
            "{{\"parentUuid\":null,\"isSidechain\":false,{surroundings},\"type\":\"user\",\"message\":{{\"role\":\"user\",\
            \"content\":\"words {}\"}},{more}\"uuid\":\"u{second}\",\"timestamp\":\"{time}\"}}",
            "x".repeat(700)
        )
    };
    let record = format!("{{\"type\":\"ai-title\",\"aiTitle\":\"T{second}\",\"sessionId\":\"s\"}}");
    match kind {
        0 => record + "\n",
        1 => format!("{{\"type\":\"tag\",\"tag\":\"t{second}\",\"sessionId\":\"s\"}}\n"),
        2 => message("", &now.to_string()) + &record + "\n",
        3 => {
            message(
                &format!("\"toolUseResult\":{{\"timestamp\":\"{}\"}},", time(second + 1_000_000)),
                &now.to_string(),
            ) + "\n"
        }
        4 => message("", &time(second + 500).to_string()) + "\n",
        6 => message("", "no time") + "\n",
        7 => message("", "2026-01-01T00:00:00Z") + "\n",
        5 => message("\"permissionMode\":\"plan\",", &now.to_string()) + "\n",
        14 => message("\"permissionMode\":\"default\",", &now.to_string()) + "\n",
        9 => message("", &now.to_string()).replace("\"type\":\"user\"", "\"type\":\"unheard-of\"") + "\n",
        10 => message("", &time(second - 500).to_string()) + "\n",
        11 => message("", &now.to_string()) + " " + &record + "\n",
        12 => message("", &now.to_string()) + "\0\0" + &record + "\n",
        13 => message("", &now.to_string())[..500].to_owned() + &record + "\n",
        8 => {
            message("", &now.to_string()).replacen("{\"parentUuid\":null,", "{\"uuid\":\"first\",", 1) + "\n"
        }
        _ if second % 2 == 1 => message("", &now.to_string()).replace("\"user\"", "\"assistant\"") + "\n",
        _ => message("", &now.to_string()) + "\n",
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]
    /// LISTS 4.3 to 4.5
    #[test]
    fn skipped_messages_change_no_fact(
        kinds in proptest::collection::vec(0u8..40, 200..400),
    ) {
        let mut file: String = kinds.iter().zip(0..).map(|(kind, second)| some_line(*kind, second)).collect();
        // Old versions write no entrypoint; a session may go on with a version that does.
        let is_new = file.len() * usize::from(kinds[0]) / 30;
        let old = file.floor_char_boundary(is_new.min(file.len()));
        let new = file.split_off(old);
        for (number, line) in new.split_inclusive('\n').enumerate() {
            let entrypoint = if number < 20 { "cli" } else { "sdk-ts" };
            file += &line.replace("\"isSidechain\"", &format!("\"entrypoint\":\"{entrypoint}\",\"isSidechain\""));
        }
        proptest::prop_assume!(file.len() > 2 * CHUNK + 1);
        let (fast, slow) = (lite(&file), read_without_fast_path(file.as_bytes()));
        proptest::prop_assert_eq!(facts(&fast), facts(&slow));
        proptest::prop_assert_eq!(fast.in_tail, slow.in_tail);
    }

    /// LISTS 4.1
    #[test]
    fn repeated_records_are_those_of_the_whole_file(
        turns in proptest::collection::vec((0u8..20, 1i64..30), 30..90),
    ) {
        let (mut file, mut records, mut second) = (String::new(), BTreeMap::new(), 0);
        for (number, (change, messages)) in turns.into_iter().enumerate() {
            for _ in 0..messages {
                second += 1;
                file += &some_line(99, second);
            }
            match change {
                0 | 1 => _ = records.insert("custom-title", format!("\"customTitle\":\"C{number}\"")),
                2 => _ = records.insert("ai-title", format!("\"aiTitle\":\"A{number}\"")),
                3 => _ = records.insert("tag", format!("\"tag\":\"t{number}\"")),
                4 => _ = records.insert("permission-mode", "\"permissionMode\":\"plan\"".to_owned()),
                5 if records.remove("tag").is_some() => {
                    file += "{\"type\":\"tag\",\"tag\":\"\",\"sessionId\":\"s\"}\n";
                }
                _ => {}
            }
            writeln!(file, "{{\"type\":\"last-prompt\",\"lastPrompt\":\"p{number}\",\"sessionId\":\"s\"}}").unwrap();
            for (kind, member) in &records {
                writeln!(file, "{{\"type\":\"{kind}\",{member},\"sessionId\":\"s\"}}").unwrap();
            }
        }
        proptest::prop_assume!(file.len() > 2 * CHUNK + 1 && records.keys().any(|kind| kind.ends_with("title")));
        let whole = Lite::read_all(&mut Cursor::new(&file), file.len() as u64).unwrap();
        let without_empty_tags = |lite: &Lite| {
            let mut records = lite.records.clone();
            // A tag that was taken away is an empty record, or no record at all.
            records.retain(|_, body| !body.windows(8).any(|bytes| bytes == b"\"tag\":\"\""));
            Lite { records, ..lite.clone() }
        };
        proptest::prop_assert_eq!(facts(&without_empty_tags(&lite(&file))), facts(&without_empty_tags(&whole)));
    }
}

/// Returns the facts that the fast path must not change.
#[expect(clippy::type_complexity, reason = "it is only compared")]
fn facts(
    lite: &Lite,
) -> ([Option<String>; 8], [Option<Timestamp>; 2], BTreeMap<Kind, Vec<u8>>, bool, Option<String>) {
    let texts = [
        &lite.session,
        &lite.cwd,
        &lite.last_cwd,
        &lite.git_branch,
        &lite.version,
        &lite.entrypoint,
        &lite.permission_mode,
        &lite.first_prompt,
    ];
    let times = [lite.first_at, lite.last_at];
    (texts.map(Clone::clone), times, lite.records.clone(), lite.has_main_messages, lite.forked_from.clone())
}

#[test]
fn bytes_are_found_wherever_they_are_in_a_file() {
    let length = 2 * CHUNK + 1;
    for at in [0, 1, length - 4, length - 3, length - 1, length, 2 * length - 6, 2 * length + 10] {
        let mut file = vec![b'.'; 3 * length];
        file[at..at + 4].copy_from_slice(b"this");
        assert!(contains(&mut Cursor::new(&file), b"this").unwrap(), "{at}");
        assert!(contains(&mut Cursor::new(&file[..at + 4]), b"this").unwrap(), "{at}");
        assert!(!contains(&mut Cursor::new(&file[..at + 3]), b"this").unwrap(), "{at}");
    }
    let endless = vec![b'.'; 2 * length];
    assert!(!contains(&mut Cursor::new(&endless), &endless).unwrap());
}

/// LISTS 1.5, 2.9
#[test]
fn all_messages_are_counted_if_the_tail_meets_the_head() {
    let messages: String = (0..150).map(|second| some_line(99, second)).collect();
    let untimed = "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"s\"}\n".repeat(20_000);
    assert!(messages.len() > 2 * CHUNK && untimed.len() > 4 * CHUNK);
    let read = lite(&(messages + &untimed));
    assert!(read.whole);
    assert_eq!((read.messages, seconds(read.last_at)), (150, 29));
}
