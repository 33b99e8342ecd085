//! Transcripts that are hard to list, written line by line as Claude Code writes them.

use serde_json::{Value as Json, json};

/// A transcript that is to be listed.
pub(crate) struct Shape {
    /// What is hard about it.
    pub(crate) name: &'static str,
    pub(crate) session: String,
    /// The working directory of its project.
    pub(crate) project: &'static str,
    lines: Vec<String>,
    /// The modification time of the file, if it is not the time of the last entry.
    touched_at: Option<&'static str>,
    /// The title in a file of its own.
    pub(crate) title_beside: Option<&'static str>,
    number: u32,
    cwd: String,
    branch: &'static str,
}

const PROJECT: &str = "/home/dev/work/shapes";
const OTHER_PROJECT: &str = "/home/dev/work/shapes-too";

/// What is hard about a shape, and how it is written.
type Written = (&'static str, fn(Shape) -> Shape);

/// Returns all shapes, in the order of their times.
pub(crate) fn all() -> Vec<Shape> {
    let written = [TITLES, PROMPTS, TIMES, PLACES, FILES].concat();
    let shape = |(number, (name, write)): (u32, Written)| write(Shape::new(number, name, PROJECT));
    let mut shapes: Vec<_> = (0..).zip(written).map(shape).collect();
    let twin = Shape::new(99, "the same session in another project", OTHER_PROJECT);
    let twin = Shape { session: shapes[0].session.clone(), ..twin };
    shapes.push(twin.user("Said to the first of two").says("Hi").user("And to the second"));
    shapes
}

const TITLES: &[Written] = &[
    ("plain", |shape| shape.user("Said to the first of two").says("Hi")),
    ("a title", |shape| shape.user("Hello").says("Hi").custom_title("Given")),
    ("titles in Chinese and with emoji", |shape| {
        shape.user("你好").says("Hi").custom_title("天气 \u{1f326} \"今天\"")
    }),
    ("a title in escapes", |shape| {
        let line = r#"{"type":"custom-title","customTitle":"\u5929\u6c14 \ud83c\udf26","sessionId":"x"}"#;
        shape.user("Hello").says("Hi").line(line)
    }),
    ("a title by the model", |shape| shape.user("Hello").says("Hi").ai_title("Made")),
    ("a title, then one by the model", |shape| {
        shape.user("Hello").says("Hi").custom_title("Given").ai_title("Made")
    }),
    ("a title that was given twice", |shape| {
        shape.user("Hello").custom_title("Given").says("Hi").custom_title("Given again")
    }),
    ("a title in the middle of a large file", |shape| {
        shape.user("Hello").much().custom_title("Given").much()
    }),
    ("a title by the model in the middle of a large file", |shape| {
        shape.user("Hello").much().ai_title("Made").much()
    }),
    ("a title in a file of its own", |shape| Shape {
        title_beside: Some("Beside"),
        ..shape.user("Hello").says("Hi")
    }),
    ("an agent's name", |shape| shape.user("Hello").says("Hi").record("agent-name", "agentName", "Named")),
    ("an agent's name over a title by the model", |shape| {
        shape.user("Hello").says("Hi").record("agent-name", "agentName", "Named").ai_title("Made")
    }),
    ("a last prompt", |shape| {
        shape.user("Hello").says("Hi").user("And now?").says("Hm").record(
            "last-prompt",
            "lastPrompt",
            "And now?",
        )
    }),
    ("a last prompt and a title", |shape| {
        let shape = shape.user("Hello").says("Hi").user("And now?").says("Hm");
        shape.record("last-prompt", "lastPrompt", "And now?").custom_title("Given")
    }),
    ("an old summary", |shape| {
        let leaf = shape.id(2);
        shape.user("Hello").says("Hi").summary("Summed up", &leaf)
    }),
    ("an old summary of another session", |shape| {
        shape.summary("Of another", "99999999-0000-4000-8000-000000000001").user("Hello").says("Hi")
    }),
    ("an old summary, then one of another session", |shape| {
        let leaf = shape.id(2);
        let other = "99999999-0000-4000-8000-000000000001";
        shape.user("Hello").says("Hi").summary("Summed up", &leaf).summary("Of another", other)
    }),
    ("a call with keys like those of records", |shape| {
        let input = json!({"customTitle": "Not a title", "aiTitle": "Nor this", "lastPrompt": "Nor this",
            "summary": "Nor this", "cwd": "/not/here", "gitBranch": "not-this",
            "timestamp": "2020-01-01T00:00:00.000Z", "tag": "not-this"});
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Note", "input": input});
        shape.user("Hello").reply(&json!([call]))
    }),
    ("a tag", |shape| shape.user("Hello").says("Hi").record("tag", "tag", "important")),
    ("a tag that was taken away", |shape| {
        shape.user("Hello").says("Hi").record("tag", "tag", "important").record("tag", "tag", "")
    }),
    ("a tag in the middle of a large file", |shape| {
        shape.user("Hello").much().record("tag", "tag", "important").much()
    }),
];

const PROMPTS: &[Written] = &[
    ("a prompt of several lines", |shape| shape.user("First line\n  second line\n").says("Hi")),
    ("a long prompt", |shape| shape.user(&"天气怎么样 ".repeat(100)).says("Hi")),
    ("a long prompt of emoji", |shape| shape.user(&"\u{1f326}".repeat(300)).says("Hi")),
    ("a prompt above 64 KiB", |shape| shape.user(&"words ".repeat(20_000)).says("Hi")),
    ("a prompt behind 64 KiB", |shape| shape.snapshots(1000).user("Hello").much()),
    ("a prompt behind a large one of Claude Code", |shape| {
        shape.meta(&"words ".repeat(40_000)).user("Hello").says("Hi")
    }),
    ("a slash command only", |shape| shape.user(CLEAR)),
    ("a slash command first", |shape| shape.user(CLEAR).user("Hello").says("Hi")),
    ("a slash command with arguments only", |shape| {
        let name = "<command-message>review</command-message>\n<command-name>/review</command-name>";
        shape.user(&format!("{name}\n<command-args>the diff</command-args>")).says("Hi")
    }),
    ("a prompt of Claude Code first", |shape| shape.meta("Not said by anybody").user("Hello").says("Hi")),
    ("a prompt of Claude Code only", |shape| shape.meta("Not said by anybody").says("Hi")),
    ("an interrupt first", |shape| shape.user("[Request interrupted by user]").user("Hello").says("Hi")),
    ("an interrupt only", |shape| shape.user("[Request interrupted by user for tool use]")),
    ("an interrupted prompt", |shape| {
        let [said, interrupt] = ["Hello", "[Request interrupted by user]"];
        shape.user_with(&json!([{"type": "text", "text": said}, {"type": "text", "text": interrupt}]), "")
    }),
    ("output of a command first", |shape| {
        shape.user("<local-command-stdout>done</local-command-stdout>").user("Hello").says("Hi")
    }),
    ("bash mode first", |shape| {
        let output = "<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>";
        shape.user("<bash-input>ls</bash-input>").user(output).user("Hello").says("Hi")
    }),
    ("news of a task first", |shape| {
        shape.user("<task-notification>\n<task-id>1</task-id>\n</task-notification>").user("Hello").says("Hi")
    }),
    ("a selection, then a prompt in the same message", |shape| {
        let selection = "<ide_selection>The user selected the lines 1 to 2</ide_selection>";
        let texts = json!([{"type": "text", "text": selection}, {"type": "text", "text": "Explain"}]);
        shape.user_with(&texts, "").says("Hi")
    }),
    ("a selection, then a prompt in the same text", |shape| {
        shape.user("<ide_opened_file>The user opened a.rs</ide_opened_file>\nExplain").says("Hi")
    }),
    ("a prompt about markup", |shape| shape.user("<div> is not centred").says("Hi")),
    ("a picture first", |shape| {
        let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
        shape.user_with(&json!([{"type": "image", "source": source}]), "").user("What is it?").says("Hi")
    }),
    ("a queued prompt only", |shape| {
        let queued = json!({"type": "queued_command", "prompt": "Also this", "commandMode": "prompt"});
        shape.meta("Not said by anybody").message("attachment", &format!("\"attachment\":{queued}"))
    }),
    ("a compacted session", |shape| {
        let boundary = r#""subtype":"compact_boundary","content":"Conversation compacted","isMeta":false"#;
        let shape = shape.user("Hello").says("Hi").message("system", boundary);
        shape.compact_summary("This session is being continued: MOCK").user("And on").says("Yes")
    }),
    ("a compacted session that begins with its summary", |shape| {
        shape.compact_summary("This session is being continued: MOCK").user("And on").says("Yes")
    }),
    ("a compact summary of an old version of Claude Code", |shape| {
        let summary = "This session is being continued from a previous conversation that ran out of context.";
        shape.user(summary).user("And on").says("Yes")
    }),
];

const TIMES: &[Written] = &[
    ("a last megabyte without times", |shape| shape.user("Hello").says("Hi").snapshots(8000)),
    ("snapshots first", |shape| shape.snapshots(3).user("Hello").says("Hi")),
    ("an entry that was said before the first", |shape| shape.out_of_order().says("Hi")),
    ("a session that went on after all others", |shape| {
        let then = shape.time(2);
        shape.user("Hello").says("Hi").change_last(&then, "2026-05-01T00:00:00.123Z")
    }),
    ("a file that was touched later", |shape| Shape {
        touched_at: Some("2026-11-15T00:00:00.000Z"),
        ..shape.user("Hello").says("Hi")
    }),
    ("a file that was restored with an older time", |shape| Shape {
        touched_at: Some("2025-01-01T00:00:00.000Z"),
        ..shape.user("Hello").says("Hi")
    }),
];

const PLACES: &[Written] = &[
    ("a working directory that changed", |shape| {
        shape.user("Hello").says("Hi").elsewhere("/home/dev/work/shapes/below", "main").user("And here")
    }),
    ("a folder of Windows", |shape| shape.elsewhere(r"C:\Users\魏\项目", "main").user("Hello").says("Hi")),
    ("a branch that changed", |shape| {
        shape.user("Hello").says("Hi").elsewhere(PROJECT, "feature/天气").user("And here")
    }),
    ("no branch", |shape| shape.elsewhere(PROJECT, "").user("Hello").says("Hi")),
    ("a branch that was left", |shape| {
        shape.user("Hello").says("Hi").elsewhere(PROJECT, "").user("And here")
    }),
    ("a session that moved", |shape| {
        shape.user("Hello").says("Hi").record("relocated", "relocatedCwd", "/home/dev/work/moved")
    }),
];

const FILES: &[Written] = &[
    ("an empty file", |shape| shape),
    ("a title only", |shape| shape.custom_title("Given")),
    ("records only", |shape| shape.snapshots(2).record("mode", "mode", "normal")),
    ("a last prompt only", |shape| shape.record("last-prompt", "lastPrompt", "Hello")),
    ("a subagent only", |shape| shape.side("Do this").side("And that")),
    ("a subagent first", |shape| shape.side("Do this").user("Hello").says("Hi")),
    ("a torn last line", |shape| shape.user("Hello").says("Hi").line(r#"{"parentUuid":"x","type":"us"#)),
    ("a damaged first line", |shape| shape.line(r#"{"type":"user","mess"#).user("Hello").says("Hi")),
    ("a reply only", |shape| shape.says("Hi")),
];

const CLEAR: &str = "<command-name>/clear</command-name>\n            <command-message>clear</command-message>\n            \
                     <command-args></command-args>";

impl Shape {
    /// Returns what is in the file.
    pub(crate) fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    /// Returns the modification time of the file.
    pub(crate) fn written_at(&self) -> String {
        let time = |line: &String| {
            let entry: Json = serde_json::from_str(line).ok()?;
            entry["timestamp"].as_str().map(str::to_owned)
        };
        let last = self.lines.iter().filter_map(time).max();
        self.touched_at.map(str::to_owned).or(last).unwrap_or_else(|| self.time(0))
    }
}

/// Writing.
impl Shape {
    fn new(number: u32, name: &'static str, project: &'static str) -> Self {
        // Neither in the order of their times nor in the opposite one.
        let session = format!("{:08x}-0000-4000-8000-{number:012}", number.wrapping_mul(0x9e37_79b1));
        let (cwd, branch) = (project.to_owned(), "main");
        let (lines, touched_at, title_beside) = (Vec::new(), None, None);
        Self { name, session, project, lines, touched_at, title_beside, number, cwd, branch }
    }

    fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// Writes a record about the session. It has no time.
    fn record(self, kind: &str, key: &str, value: &str) -> Self {
        let line = format!(r#"{{"type":"{kind}","{key}":{},"sessionId":"{}"}}"#, json!(value), self.session);
        self.line(&line)
    }

    fn custom_title(self, title: &str) -> Self {
        self.record("custom-title", "customTitle", title)
    }

    fn ai_title(self, title: &str) -> Self {
        self.record("ai-title", "aiTitle", title)
    }

    fn summary(self, text: &str, leaf: &str) -> Self {
        self.line(&format!(r#"{{"type":"summary","summary":"{text}","leafUuid":"{leaf}"}}"#))
    }

    /// Writes snapshots, which have a time in them, but none of their own.
    fn snapshots(mut self, count: usize) -> Self {
        for number in 0..count {
            let (id, time) = (self.id(number), "2026-12-31T23:59:59.999Z");
            let snapshot = json!({"messageId": id, "trackedFileBackups": {}, "timestamp": time});
            self = self.line(&format!(
                r#"{{"type":"file-history-snapshot","messageId":"{id}","snapshot":{snapshot},"isSnapshotUpdate":false}}"#
            ));
        }
        self
    }

    fn user(self, text: &str) -> Self {
        self.user_with(&json!(text), "")
    }

    fn meta(self, text: &str) -> Self {
        self.user_with(&json!(text), r#","isMeta":true"#)
    }

    fn compact_summary(self, text: &str) -> Self {
        self.user_with(&json!(text), r#","isVisibleInTranscriptOnly":true,"isCompactSummary":true"#)
    }

    fn user_with(self, content: &Json, fields: &str) -> Self {
        let message = json!({"role": "user", "content": content});
        self.message("user", &format!("\"message\":{message}{fields}"))
    }

    fn says(self, text: &str) -> Self {
        self.reply(&json!([{"type": "text", "text": text}]))
    }

    fn reply(self, content: &Json) -> Self {
        let id = format!("msg_{}", self.lines.len());
        let message =
            json!({"id": id, "type": "message", "role": "assistant", "model": "m", "content": content});
        self.message("assistant", &format!("\"message\":{message}"))
    }

    /// Writes more messages than fit into the ends that lists read.
    fn much(self) -> Self {
        let words = "words ".repeat(20_000);
        self.user(&words).says(&words)
    }

    fn side(self, text: &str) -> Self {
        let shape = self.user(text);
        shape.change_last(r#""isSidechain":false"#, r#""isSidechain":true"#)
    }

    /// Writes a message whose time is before that of the entry above it.
    fn out_of_order(self) -> Self {
        let (first, second) = (self.time(1), self.time(2));
        self.user("Hello").change_last(&first, &second).says("Hi").change_last(&second, &first)
    }

    fn change_last(mut self, old: &str, new: &str) -> Self {
        let line = self.lines.last_mut().expect("a line was written");
        *line = line.replace(old, new);
        self
    }

    /// Continues in another working directory, or on another branch.
    fn elsewhere(self, cwd: &str, branch: &'static str) -> Self {
        Self { cwd: cwd.to_owned(), branch, ..self }
    }

    fn message(self, kind: &str, fields: &str) -> Self {
        let number = self.lines.len() + 1;
        let parent = if number == 1 { Json::Null } else { self.id(number - 1).into() };
        let (cwd, session, branch) = (json!(self.cwd), &self.session, self.branch);
        let begin = format!(r#""parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":{cwd}"#);
        let about = format!(r#""sessionId":"{session}","version":"2.1.325","gitBranch":"{branch}""#);
        let end = format!(r#""uuid":"{}","timestamp":"{}""#, self.id(number), self.time(number));
        let line = format!(r#"{{{begin},{about},"type":"{kind}",{fields},{end}}}"#);
        self.line(&line)
    }

    /// Returns the id of an entry.
    fn id(&self, line: usize) -> String {
        format!("{:08}-0000-4000-8000-{line:012}", self.number)
    }

    /// Returns the time of an entry: every shape has an hour.
    fn time(&self, line: usize) -> String {
        let (day, hour, minute, second) = (1 + self.number / 24, self.number % 24, line / 60 % 60, line % 60);
        format!("2026-03-{day:02}T{hour:02}:{minute:02}:{second:02}.123Z")
    }
}
