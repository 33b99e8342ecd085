use std::fmt::Write as _;
use std::io::Cursor;

use super::ends::{CHUNK, SMALL_CHUNK, last_line_end};
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

fn summary_of(lite: &Lite, file: &mut Cursor<impl AsRef<[u8]>>) -> Option<String> {
    lite.summary(file, ScanBound::default()).unwrap().text
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
    fn record(kind: &str, key: &str, text: &str) -> String {
        format!("{{\"type\":\"{kind}\",\"{key}\":\"{text}\",\"sessionId\":\"s\"}}\n")
    }

    fn custom(name: &str) -> String {
        record("custom-title", "customTitle", name)
    }

    let messages: String = (0..600).map(|second| some_line(99, second)).collect();
    let (before, behind) = messages.split_at(some_line(99, 0).len() * 40);
    assert!((SMALL_CHUNK..CHUNK).contains(&before.len()));
    let last = record("last-prompt", "lastPrompt", "p");
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
        let all = Lite::read_from(&mut Cursor::new(&longer), 0, file.len() as u64).unwrap();
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
    fn line(more: &str) -> Lite {
        let head = format!(
            r#"{{"isSidechain":{more},"type":"user","message":{{"content":[{{"type":"text","text":"Endless"#
        );
        lite(&(head + &"z".repeat(9_000_000)))
    }

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
    fn entry(id: &str) -> String {
        format!("{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":null}}\n")
    }

    fn summary(text: &str, leaf: &str) -> String {
        format!("{{\"type\":\"summary\",\"summary\":\"{text}\",\"leafUuid\":\"{leaf}\"}}\n")
    }

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
    assert_eq!(summary_of(&found, &mut source).as_deref(), Some("Ours"));
    // From 1.0.128 on, a summary in the head is verified by the head alone.
    let stays = user("Words", "01") + &summary("Near", "u") + &filler + &entry("a") + &filler + timed;
    for (first, found) in [("", Some("Near")), (&*summary("Far", "a"), Some("Near"))] {
        let mut source = std::io::Cursor::new(first.to_owned() + &stays);
        assert_eq!(summary_of(&read(&mut source), &mut source).as_deref(), found);
    }
    let mut far = std::io::Cursor::new(stays.replace("\"u\"", "\"other\"") + &summary("Far", "a") + timed);
    assert_eq!(summary_of(&read(&mut far), &mut far).as_deref(), Some("Far"));
    let mut other = std::io::Cursor::new(summary("Of another", "z") + &entry("a"));
    assert_eq!(summary_of(&read(&mut other), &mut other), None);
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
        let whole = Lite::read_from(&mut Cursor::new(&file), 0, file.len() as u64).unwrap();
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

/// LISTS 3.3
#[test]
fn the_leaf_of_a_summary_is_found_wherever_it_is_and_however_it_is_spelled() {
    let length = 2 * CHUNK + 1;
    let summary = "{ \"type\" : \"summary\", \"summary\" : \"Ours\", \"leafUuid\" : \"leaf\" }\n";
    let spellings = ["\"uuid\":\"leaf\"", "\"uuid\": \"leaf\"", "\"uuid\"  :\t\"leaf\""];
    for (id, at) in spellings.into_iter().flat_map(|id| {
        let near_border = (length - 40..length + 2).chain(2 * length - 60..2 * length - 10);
        [100, 1000].into_iter().chain(near_border).map(move |at| (id, at))
    }) {
        let mut file = vec![b'.'; 3 * length];
        file[..summary.len()].copy_from_slice(summary.as_bytes());
        file[at..at + id.len()].copy_from_slice(id.as_bytes());
        let mut summaries = Summaries::default();
        summaries.add(summary.trim_end().as_bytes());
        let found = |end: usize| {
            summaries.last_of_session(&mut Cursor::new(&file), &[0..10, 50..end as u64]).unwrap()
        };
        let ours = VerifiedSummary { text: Some("Ours".to_owned()), is_open: false };
        assert_eq!(found(file.len()), ours, "{id} at {at}");
        assert_eq!(found(at + id.len()), ours, "{id} at {at}");
        assert_eq!(found(at + id.len() - 1), VerifiedSummary { text: None, is_open: true }, "{id} at {at}");
    }
    let named = "{\"type\":\"user\",\"parentUuid\":\"leaf\",\"uuid\":\"leafs\"}\n";
    assert_eq!(summary_of(&lite(&(summary.to_owned() + named)), &mut Cursor::new("")), None);
    let entry = "{\"type\": \"user\", \"uuid\": \"leaf\"}\n";
    assert_eq!(
        summary_of(&lite(&(summary.to_owned() + entry)), &mut Cursor::new("")).as_deref(),
        Some("Ours")
    );
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

/// LISTS 1.5, 2.3
#[test]
fn the_last_message_is_found_behind_long_lines_that_are_no_messages() {
    let envelope = "\"parentUuid\":\"u\",\"cwd\":\"/p\",\"version\":\"9\",\"gitBranch\":\"of a record\"";
    let progress = |bytes: usize| {
        format!(
            "{{{envelope},\"type\":\"progress\",\"data\":\"{}\",\"timestamp\":\"2026-01-02T03:04:10.000Z\"}}\n",
            "z".repeat(bytes)
        )
    };
    let last = user("Last", "09").replace("\"main\"", "\"feature\"").replace("2.1.0", "2.1.9");
    let before = user("First", "01") + &filler(300_000) + &last;
    for behind in
        [progress(70_000), progress(40_000).repeat(3), progress(2_000_000), progress(60_000) + &progress(10)]
    {
        let read = lite(&(before.clone() + &behind));
        let known = (read.git_branch.as_deref(), read.version.as_deref(), read.tail_has_messages);
        assert_eq!(known, (Some("feature"), Some("2.1.9"), true), "{} bytes", behind.len());
        assert_eq!(seconds(read.last_at), 10);
        assert!(!read.whole || behind.len() > 300_000);
    }
    let hidden = lite(&(before + &progress(9_000_000)));
    assert!(!hidden.tail_has_messages && !hidden.whole);
}

/// LISTS 3.6
#[test]
fn the_first_words_of_the_model_are_kept_if_no_prompt_stands_before_them() {
    fn reply(more: &str, content: &str) -> String {
        format!(
            "{{\"type\":\"assistant\",\"uuid\":\"a\",{more}\"message\":{{\"role\":\"assistant\",{content}}}}}\n"
        )
    }

    fn text(text: &str) -> String {
        format!("\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]")
    }

    let call = "\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Bash\"}]";
    let odd = reply("\"isSidechain\":true,", &text("agent"))
        + &reply("\"isApiErrorMessage\":true,", &text("failed"))
        + &reply(
            "",
            &(text("none").replace("none", "No response requested.") + ",\"model\":\"<synthetic>\""),
        )
        + &reply("", call)
        + &reply("", &text("  "));
    let file = odd.clone() + &reply("", &text("你好 👋")) + &reply("", &text("Second"));
    assert_eq!(lite(&file).first_reply.as_deref(), Some("你好 👋"));
    assert_eq!(lite(&odd).first_reply, None);
    assert_eq!(lite(&(user("First", "01") + &file)).first_reply, None);
}

/// A file that is too long to be kept: everything between its start and its end is a line that is repeated.
struct Long {
    start: Vec<u8>,
    line: Vec<u8>,
    end: Vec<u8>,
    length: u64,
    at: u64,
    bytes_read: u64,
}

impl Read for Long {
    #[expect(clippy::cast_possible_truncation, reason = "each offset is one inside a vector")]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let middle_end = self.length - self.end.len() as u64;
        let rest: &[u8] = match self.at {
            at if at < self.start.len() as u64 => &self.start[at as usize..],
            at if at < middle_end => {
                let line = &self.line[(at - self.start.len() as u64) as usize % self.line.len()..];
                &line[..line.len().min((middle_end - at) as usize)]
            }
            at => self.end.get((at - middle_end) as usize..).unwrap_or_default(),
        };
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count as u64;
        self.bytes_read += count as u64;
        Ok(count)
    }
}

impl Seek for Long {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(at) = to else { panic!("only from the start") };
        self.at = at;
        Ok(at)
    }
}

/// LISTS 1.8
#[test]
fn no_more_than_the_bound_is_read_of_a_file_of_any_length() {
    let summary = "{\"type\":\"summary\",\"summary\":\"Of another\",\"leafUuid\":\"nowhere\"}\n";
    // Only lines that answer nothing: no time, no message, no prompt.
    let silent = format!("{{\"type\":\"mode\",\"mode\":\"{}\"}}\n", "z".repeat(50_000)).into_bytes();
    let endless = "z".repeat(1000).into_bytes();
    for (line, length) in [(&silent, 314 << 20), (&endless, 314 << 20), (&silent, 1 << 40)] {
        let mut file = Long {
            start: summary.as_bytes().to_vec(),
            line: line.clone(),
            end: b"\n".to_vec(),
            length,
            at: 0,
            bytes_read: 0,
        };
        Lite::read(&mut file, length).unwrap();
        let ends = std::mem::take(&mut file.bytes_read);
        assert!(ends < 17 << 20, "{ends} bytes for both ends");
        let scanned = Lite::scan(&mut file, length, ScanBound::default()).unwrap();
        assert!(scanned.partial && !scanned.whole);
        let scan = std::mem::take(&mut file.bytes_read);
        assert!(scan < (24 << 20) + (1 << 18), "{scan} bytes for a scan");
        assert!(scanned.summary(&mut file, ScanBound::default()).unwrap().is_open);
        let search = file.bytes_read;
        assert!(search <= 24 << 20, "{search} bytes for a summary");
        assert!(ends + scan + search < 65 << 20);
    }
}

/// LISTS 1.8
#[test]
fn the_parts_that_are_read_depend_on_the_length_alone_and_seldom_change() {
    let bound = ScanBound::with_part(10);
    assert_eq!([0, 29, 30].map(|size| bound.gap(size)), [None, None, None]);
    assert_eq!([31, 39].map(|size| bound.gap(size)), [Some(10..20), Some(10..20)]);
    assert_eq!([40, 49, 50].map(|size| bound.gap(size)), [Some(10..30), Some(10..30), Some(10..40)]);
    for size in 0..200 {
        let read: u64 = bound.spans(size).into_iter().map(|span| span.end - span.start).sum();
        assert!(read <= 30 && (read == size || read >= 20), "{read} of {size}");
    }
}

/// LISTS 1.8, 2.5, 2.6, 2.7, 3.2
#[test]
fn what_the_parts_of_a_long_file_say_counts_by_the_side_of_the_gap() {
    fn of(first: &str, last: &str) -> Lite {
        let first = first.to_owned() + &filler(2000 - first.len());
        let file = first + &filler(20_000) + last;
        Lite::scan(&mut Cursor::new(&file), file.len() as u64, ScanBound::with_part(4000)).unwrap()
    }

    let title = |name: &str| {
        format!("{{\"type\":\"custom-title\",\"customTitle\":\"{name}\",\"sessionId\":\"s\"}}\n")
    };
    let prompt = user("First", "01").replace("\"uuid\"", "\"permissionMode\":\"plan\",\"uuid\"");
    let read = of(&(prompt + &title("early")), &user("Second", "02"));
    assert!(read.partial && !read.whole && read.tail_has_messages);
    assert_eq!(read.first_prompt.as_deref(), Some("First"));
    assert_eq!((seconds(read.first_at), seconds(read.last_at)), (1, 2));
    assert_eq!(read.permission_mode, None);
    assert!(read.last::<CustomTitle>().is_some() && read.newest::<CustomTitle>().is_none());
    let read = of("", &(user("Second", "02") + &title("late")));
    assert_eq!((read.first_prompt.as_deref(), seconds(read.first_at)), (None, 2));
    assert_eq!(read.newest::<CustomTitle>().unwrap().title().unwrap(), "late");
}
