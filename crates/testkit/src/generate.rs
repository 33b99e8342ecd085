//! Generated transcripts of any size with realistic lines; the same seed gives the same bytes.

use std::io::{self, Write};

/// A small random number generator (`SplitMix64`), which is enough for tests and needs no dependency.
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// Returns one of several things.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        let index = self.below(things.len() as u64);
        &things[usize::try_from(index).expect("an index is small")]
    }

    fn uuid(&mut self) -> String {
        let (a, b) = (self.below(u64::MAX), self.below(u64::MAX));
        let hex = format!("{a:016x}{b:016x}");
        format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
    }
}

const PIECES: [&str; 16] = [
    "the parser keeps every byte ",
    "let value = line.get(\\\"key\\\")?;\\n",
    "error: expected `;` before `}`\\n",
    "    return fold(items, |sum, item| sum + item);\\n",
    "请看一下这个函数 ",
    "テストは三つとも通りました。",
    "😀 done\\n",
    "- [x] rename the field\\n- [ ] write the test\\n",
    "https://example.org/a?b=c&d=e ",
    "C:\\\\work\\\\天气\\\\main.rs ",
    "{\\\"nested\\\": [1, 2, {\\\"a\\\": null}]} ",
    "1\\tfn main() {\\n2\\t    run();\\n3\\t}\\n",
    "and then the second pass looks at what is left over from the first one ",
    "## Result\\n\\nAll 42 checks are green.\\n\\n",
    "diff --git a/x b/x\\n@@ -1,3 +1,4 @@\\n-old\\n+new\\n",
    "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd29ybGQ= ",
];

/// Writes the lines of one session until at least `bytes` are written; returns how many bytes and lines.
pub fn session(out: &mut impl Write, seed: u64, bytes: u64) -> io::Result<(u64, u64)> {
    let mut random = Random::new(seed);
    let session = random.uuid();
    let (mut written, mut lines) = (0, 0);
    let mut parent = String::from("null");
    while written < bytes {
        let uuid = random.uuid();
        let line = line(&mut random, &session, &parent, &uuid, lines);
        out.write_all(line.as_bytes())?;
        written += line.len() as u64;
        lines += 1;
        parent = format!("\"{uuid}\"");
    }
    Ok((written, lines))
}

/// Writes a session of short entries: prompts, replies, calls and results, each the parent of the next.
pub fn entries(out: &mut impl Write, number: u64) -> io::Result<()> {
    let mut parent = String::from("null");
    for n in 0..number {
        let uuid = format!("{:08x}-0000-4000-8000-{n:012x}", n % 4096);
        let (minute, second) = (n / 60 % 60, n % 60);
        let time =
            format!("2026-03-{:02}T{:02}:{minute:02}:{second:02}.000Z", 1 + n / 86_400 % 28, n / 3600 % 24);
        let call = n / 4;
        let (kind, message) = match n % 4 {
            0 => ("user", format!(r#"{{"role":"user","content":"Prompt {n}"}}"#)),
            1 => (
                "assistant",
                format!(
                    r#"{{"id":"msg_{call}","content":[{{"type":"tool_use","id":"toolu_{call}","name":"Bash","input":{{}}}}]}}"#
                ),
            ),
            2 => (
                "user",
                format!(
                    r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{call}","content":"ok"}}]}}"#
                ),
            ),
            _ => (
                "assistant",
                format!(r#"{{"id":"msg_{call}_b","content":[{{"type":"text","text":"Reply {n}"}}]}}"#),
            ),
        };
        writeln!(
            out,
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","message":{message},"uuid":"{uuid}","timestamp":"{time}","sessionId":"s"}}"#
        )?;
        parent = format!("\"{uuid}\"");
    }
    Ok(())
}

/// Writes a session of four entries: a prompt, a reply with the given number of calls, one entry with all their results,
/// and a last reply.
pub fn calls_in_one_line(out: &mut impl Write, calls: u64) -> io::Result<()> {
    let made = (0..calls).map(|n| {
        format!(r#"{{"type":"tool_use","id":"toolu_{n}","name":"Bash","input":{{"command":"echo {n}"}}}}"#)
    });
    let made = made.collect::<Vec<_>>().join(",");
    let results = (0..calls)
        .map(|n| format!(r#"{{"type":"tool_result","tool_use_id":"toolu_{n}","content":"ok {n}"}}"#));
    let results = results.collect::<Vec<_>>().join(",");
    let reply = r#"[{"type":"text","text":"Done."}]"#;
    let entries = [
        ("user", format!(r#"{{"role":"user","content":"Make {calls} calls"}}"#)),
        ("assistant", format!(r#"{{"id":"msg_1","content":[{made}]}}"#)),
        ("user", format!(r#"{{"role":"user","content":[{results}]}}"#)),
        ("assistant", format!(r#"{{"id":"msg_2","content":{reply}}}"#)),
    ];
    let mut parent = "null".to_owned();
    for (n, (kind, message)) in entries.into_iter().enumerate() {
        let uuid = format!("\"00000000-0000-4000-8000-{n:012x}\"");
        writeln!(
            out,
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","message":{message},"uuid":{uuid},"timestamp":"2026-03-01T10:00:0{n}.000Z","sessionId":"s"}}"#
        )?;
        parent = uuid;
    }
    Ok(())
}

/// Generates one line: a prompt, a reply, a call, a result or a record, with realistic frequencies and lengths.
fn line(random: &mut Random, session: &str, parent: &str, uuid: &str, number: u64) -> String {
    let (minute, second, milli) = (number / 60 % 60, number % 60, random.below(1000));
    let time = format!(
        "2026-03-0{}T{:02}:{minute:02}:{second:02}.{milli:03}Z",
        1 + number / 86_400 % 9,
        number / 3600 % 24
    );
    let envelope = format!(
        r#""parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/home/mia/tea-timer","sessionId":"{session}","version":"2.1.88","gitBranch":"main""#
    );
    let call = format!("toolu_{:08}", number / 2);
    let reply = |block: String| {
        format!(
            r#"{{{envelope},"message":{{"model":"claude-opus-4-5","id":"msg_{number}","type":"message","role":"assistant","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":3,"cache_creation_input_tokens":512,"cache_read_input_tokens":20480,"cache_creation":{{"ephemeral_5m_input_tokens":512,"ephemeral_1h_input_tokens":0}},"output_tokens":{},"service_tier":"standard","server_tool_use":{{"web_search_requests":0,"web_fetch_requests":0}}}}}},"requestId":"req_{number}","type":"assistant","uuid":"{uuid}","timestamp":"{time}"}}"#,
            number % 900
        )
    };
    let text = match random.below(20) {
        0..8 => {
            let output = prose(random, 200, 6000);
            format!(
                r#"{{{envelope},"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result","content":"{output}","is_error":false}}]}},"uuid":"{uuid}","timestamp":"{time}","toolUseResult":{{"stdout":"{output}","stderr":"","interrupted":false,"isImage":false}}}}"#
            )
        }
        8..14 => {
            let command = prose(random, 20, 300);
            reply(format!(
                r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{{"command":"{command}"}}}}"#
            ))
        }
        14..17 => {
            let answer = prose(random, 100, 3000);
            reply(format!(r#"{{"type":"text","text":"{answer}"}}"#))
        }
        17 => {
            let prompt = prose(random, 20, 400);
            format!(
                r#"{{{envelope},"type":"user","message":{{"role":"user","content":"{prompt}"}},"uuid":"{uuid}","timestamp":"{time}","permissionMode":"default"}}"#
            )
        }
        18 => format!(
            r#"{{"type":"last-prompt","lastPrompt":"go on","leafUuid":"{uuid}","sessionId":"{session}"}}"#
        ),
        _ => format!(
            r#"{{"type":"file-history-snapshot","messageId":"{uuid}","snapshot":{{"messageId":"{uuid}","trackedFileBackups":{{}},"timestamp":"{time}"}},"isSnapshotUpdate":false}}"#
        ),
    };
    text + "\n"
}

/// Returns JSON-escaped text of a random length.
fn prose(random: &mut Random, least: u64, most: u64) -> String {
    let length = usize::try_from(least + random.below(most - least)).expect("a length is small");
    let mut text = String::with_capacity(length + 100);
    while text.len() < length {
        let piece: &&str = random.pick(&PIECES);
        text.push_str(piece);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let make = |seed| {
            let mut bytes = Vec::new();
            session(&mut bytes, seed, 100_000).unwrap();
            bytes
        };
        assert!(make(1).len() >= 100_000 && make(1).ends_with(b"\n"));
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }
}
