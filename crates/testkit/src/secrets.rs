//! Sessions with an invented secret in every place that holds text, for tests that no output shows one.
//!
//! Each place has a secret of its own, so that a test that fails names the place. The secrets are made at run time, so
//! that no scanner takes this repository for a leak.

use serde_json::{Value, json};

use crate::transcript::Transcript;

/// The session with nearly all places.
pub const EVERYWHERE: &str = "5ec4e700-0000-4000-8000-000000000001";
/// Sessions whose titles come from a model, a summary and a prompt.
pub const AI_TITLE: &str = "5ec4e700-0000-4000-8000-000000000002";
/// A session whose title is a summary.
pub const SUMMARY: &str = "5ec4e700-0000-4000-8000-000000000003";
/// A session whose title is a prompt that lists cut inside the secret.
pub const CUT: &str = "5ec4e700-0000-4000-8000-000000000004";
/// A session that only the prompt history has.
pub const GHOST: &str = "5ec4e700-0000-4000-8000-000000000005";

/// A session with secrets that only rendering puts together.
pub const ASSEMBLED: &str = "5ec4e700-0000-4000-8000-000000000006";

/// Makes a token of the first and the other characters of a secret.
type TokenOf = fn(&str, &str) -> String;

/// The forms of a token that are put together only when they are shown.
const ASSEMBLED_FORMS: [(&str, TokenOf); 16] = [
    ("escaped sign", |first, rest| format!("ghp\\_{first}{rest}")),
    ("number of a character", |first, rest| format!("ghp&#95;{first}{rest}")),
    ("hexadecimal number of a character", |first, rest| format!("ghp&#x5f;{first}{rest}")),
    ("name of a character", |first, rest| format!("ghp&lowbar;{first}{rest}")),
    ("strong", |first, rest| format!("ghp_**{first}**{rest}")),
    ("strong prefix", |first, rest| format!("**ghp_**{first}{rest}")),
    ("emphasis", |first, rest| format!("*ghp_{first}*{rest}")),
    ("code", |first, rest| format!("ghp_`{first}`{rest}")),
    ("deleted", |first, rest| format!("ghp_~~{first}~~{rest}")),
    ("link", |first, rest| format!("ghp_[{first}](https://a.example/b){rest}")),
    ("space without width", |first, rest| format!("ghp_{first}\u{200b}{rest}")),
    ("word joiner", |first, rest| format!("ghp_{first}\u{2060}\u{feff}{rest}")),
    ("backspace", |first, rest| format!("ghp_{first}x\u{8}{rest}")),
    ("colour", |first, rest| format!("ghp_{first}\u{1b}[31m{rest}")),
    ("title of a terminal", |first, rest| format!("ghp_{first}\u{1b}]0;title\u{7}{rest}")),
    ("link of a terminal", |first, rest| format!("ghp_{first}\u{1b}]8;;https://a.example\u{7}{rest}")),
];

/// The files of a config folder, and the secrets in them.
#[derive(Debug, Default)]
pub struct SecretWorld {
    /// Paths below the config folder, and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Where each secret is, and its random characters.
    pub secrets: Vec<(&'static str, String)>,
}

impl SecretWorld {
    /// Makes the files.
    pub fn new() -> Self {
        let mut world = Self::default();
        let folder = "projects/-home-mia-tea";
        let mut lines = world.conversation().to_string().into_bytes();
        lines.extend(world.damage());
        world.add(format!("{folder}/{EVERYWHERE}.jsonl"), lines);
        let agent = world.agent().to_string();
        world.add(format!("{folder}/{EVERYWHERE}/subagents/agent-a1.jsonl"), agent);
        let meta = json!({"toolUseId": "t9", "agentType": "brewer", "description": world.text("description of an agent")});
        world.add(format!("{folder}/{EVERYWHERE}/subagents/agent-a1.meta.json"), meta.to_string());
        let title = world.text("title of a model");
        let lines =
            Transcript::session(AI_TITLE).user("b1", "Hello").record("ai-title", json!({"aiTitle": title}));
        world.add(format!("{folder}/{AI_TITLE}.jsonl"), lines.to_string());
        let summary = json!({"summary": world.text("title in a summary"), "leafUuid": "c1"});
        let lines =
            Transcript::session(SUMMARY).user("c1", "Hello").record("summary", summary).without("sessionId");
        world.add(format!("{folder}/{SUMMARY}.jsonl"), lines.to_string());
        let (token, piece) = invented(97, "ghp_", "");
        world.secrets.push(("prompt that lists cut", piece));
        let prompt = format!("{} {token} is it", "ab ".repeat(95));
        world.add(format!("{folder}/{CUT}.jsonl"), Transcript::session(CUT).user("d1", prompt).to_string());
        let history = world.history();
        world.add("history.jsonl".to_owned(), history);
        world
    }

    /// Makes a session with tokens that Markdown or a terminal puts together when they are shown, each in a prompt, in reasoning, in a
    /// reply, in an argument and in a result. The place of a secret is the form of its token.
    pub fn assembled() -> Self {
        let mut world = Self::default();
        let mut lines = Transcript::session(ASSEMBLED);
        for (number, (form, token_of)) in ASSEMBLED_FORMS.iter().enumerate() {
            let (_, secret) = invented(number, "", "");
            let (first, rest) = secret.split_at(12);
            let token = token_of(first, rest);
            let command = json!({"command": format!("echo {token}")});
            lines = lines
                .user(&format!("u{number}"), format!("Use {token} now"))
                .assistant(&format!("a{number}"), |reply| {
                    let reply = reply.id(&format!("m{number}")).thinking(&format!("so {token}"));
                    reply.text(&format!("- use {token} now")).tool(&format!("t{number}"), "Bash", command)
                })
                .result(&format!("r{number}"), &format!("t{number}"), format!("printed {token}"));
            world.secrets.push((form, secret));
        }
        world.add(format!("projects/-home-mia-tea/{ASSEMBLED}.jsonl"), lines.to_string());
        world
    }

    fn add(&mut self, path: String, content: impl Into<Vec<u8>>) {
        self.files.push((path, content.into()));
    }

    /// Returns the places whose secrets, or eight characters of them, are in a text.
    pub fn found_in(&self, text: &str) -> Vec<&'static str> {
        let found = self.secrets.iter().filter(|(_, secret)| shows(text, secret));
        found.map(|(place, _)| *place).collect()
    }

    /// Returns a text with a new secret, of one provider after the other.
    fn text(&mut self, place: &'static str) -> String {
        let number = self.secrets.len();
        let forms = [
            ("sk-ant-api03-", ""),
            ("ghp_", ""),
            ("postgres://app:", "@db.internal/prod"),
            ("xoxb-123456789012-", ""),
            ("DB_PASSWORD=", ""),
            ("glpat-", ""),
            ("npm_", ""),
            ("Authorization: Bearer ", ""),
            ("AWS_SECRET_ACCESS_KEY=", ""),
        ];
        let (before, behind) = forms[number % forms.len()];
        let (text, secret) = invented(number, before, behind);
        self.secrets.push((place, secret));
        format!("see {text} there")
    }

    /// Returns a value that only its name tells to be a secret.
    fn value(&mut self, place: &'static str) -> String {
        let (text, secret) = invented(self.secrets.len(), "", "");
        self.secrets.push((place, secret));
        text
    }

    /// Returns a conversation with all kinds of messages and records.
    fn conversation(&mut self) -> Transcript {
        let mut lines = Transcript::session(EVERYWHERE).user("u1", self.text("prompt"));
        lines = self.calls(lines);
        lines = self.inputs(lines);
        lines = self.notices(lines);
        lines = self.rewind(lines);
        self.records(lines)
    }

    fn calls(&mut self, lines: Transcript) -> Transcript {
        let (thinking, reply) = (self.text("thinking"), self.text("reply"));
        let command = json!({"command": format!("echo {}", self.text("argument"))});
        let named = json!({"api_key": self.value("argument that its name tells"), "deep": [{"more": self.text("nested argument")}]});
        let edit = json!({"file_path": "/home/mia/tea/a.rs", "old_string": self.text("old text"), "new_string": self.text("new text")});
        let write = json!({"file_path": "/home/mia/tea/b.rs", "content": self.text("written file")});
        let todos = json!({"todos": [{"content": self.text("task of a list"), "status": "pending"}]});
        let task = json!({"subject": self.text("task"), "description": self.text("description of a task")});
        let agent = json!({"description": "Brew", "prompt": self.text("prompt of an agent")});
        let result = self.text("result");
        let output = json!({"stdout": self.text("result for programs"), "stderr": "", "interrupted": false});
        let patch = json!({"filePath": "/home/mia/tea/b.rs", "originalFile": self.text("overwritten file"), "content": "new", "type": "update"});
        let blocks = json!([{"type": "text", "text": self.text("block of a result")}, {"type": "other", "note": self.text("unknown block of a result")}]);
        let query = json!({"query": self.text("argument of a server tool")});
        let search = json!([{"type": "web_search_result", "title": self.text("result of a server tool"), "url": "https://weather.internal"}]);
        lines
            .assistant("a1", |reply_| {
                let reply_ = reply_.thinking(&thinking).text(&reply);
                let reply_ = reply_.tool("t1", "Bash", command).tool("t2", "mcp__tea__call", named);
                let reply_ = reply_.tool("t3", "Edit", edit).tool("t4", "Write", write);
                let reply_ = reply_.tool("t5", "TodoWrite", todos).tool("t6", "TaskCreate", task);
                reply_.tool("t9", "Task", agent)
            })
            .result("r1", "t1", result)
            .with("toolUseResult", output)
            .result("r2", "t2", blocks)
            .result("r4", "t4", "written")
            .with("toolUseResult", patch)
            .result("r5", "t5", "done")
            .with("toolUseResult", json!({"newTodos": []}))
            .result("r6", "t6", "done")
            .with("toolUseResult", json!({"task": {"id": "1", "subject": "x"}}))
            .failure("r3", "t3", self.text("error of a tool"))
            .with("toolUseResult", self.text("error for programs"))
            .assistant("a2", |reply| {
                let reply = reply.block(json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": query}));
                reply.block(json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": search}))
            })
    }

    fn inputs(&mut self, lines: Transcript) -> Transcript {
        let queued =
            json!({"type": "queued_command", "prompt": self.text("queued prompt"), "commandMode": "prompt"});
        let file = json!({"type": "file", "filename": "/home/mia/tea/.env", "displayPath": ".env",
            "content": {"type": "text", "file": {"filePath": "/home/mia/tea/.env", "content": self.text("attached file"), "numLines": 1}}});
        let document = json!([{"type": "text", "text": "See"},
            {"type": "document", "title": self.text("title of a document"), "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}},
            {"type": "image", "source": {"type": "url", "url": self.text("address of an image")}}]);
        let selection =
            format!("<ide_selection>{}</ide_selection>\nExplain", self.text("selection in the editor"));
        let command = format!(
            "<command-name>/brew</command-name>\n<command-args>{}</command-args>",
            self.text("command")
        );
        let teammate = format!(
            "<teammate-message teammate_id=\"bob\" color=\"blue\" summary=\"{}\">\n{}\n</teammate-message>",
            self.value_in_text("summary of a teammate"),
            self.text("message of a teammate")
        );
        let task = format!(
            "<task-notification>\n<summary>{}</summary>\n</task-notification>",
            self.text("notification of a task")
        );
        lines
            .message("attachment", "q1", json!({"attachment": queued}))
            .message("attachment", "q2", json!({"attachment": file}))
            .user("i1", document)
            .user("i2", selection)
            .user("i3", command)
            .user(
                "i4",
                format!("<local-command-stdout>{}</local-command-stdout>", self.text("output of a command")),
            )
            .user("i5", format!("<bash-input>{}</bash-input>", self.text("bash mode")))
            .user(
                "i6",
                format!(
                    "<bash-stdout>{}</bash-stdout><bash-stderr></bash-stderr>",
                    self.text("output of bash mode")
                ),
            )
            .user("i7", teammate)
            .user("i8", task)
            .with("origin", json!({"kind": "task-notification"}))
            .user("i9", format!("<system-reminder>{}</system-reminder>", self.text("reminder")))
            .with("isMeta", true)
            .assistant("a3", |reply| reply.text("Well"))
    }

    /// Returns a text with a secret that has no quotes around it.
    fn value_in_text(&mut self, place: &'static str) -> String {
        let (text, secret) = invented(self.secrets.len(), "ghp_", "");
        self.secrets.push((place, secret));
        text
    }

    fn notices(&mut self, lines: Transcript) -> Transcript {
        let error = format!("API Error: {}", self.text("failed request"));
        lines
            .message("attachment", "h1", hook("hook_success", json!({"content": "", "stdout": self.text("output of a hook"), "exitCode": 0})))
            .message("attachment", "h2", hook("hook_additional_context", json!({"content": [self.text("context of a hook")]})))
            .message("attachment", "h3", hook("hook_non_blocking_error", json!({"stderr": self.text("error of a hook"), "exitCode": 1})))
            .message("attachment", "h4", hook("hook_blocking_error", json!({"blockingError": {"blockingError": self.text("refusal of a hook"), "command": "x"}})))
            .message("attachment", "h5", hook("hook_system_message", json!({"content": self.text("message of a hook")})))
            .message("system", "n1", json!({"subtype": "informational", "content": self.text("notice"), "level": "warning"}))
            .message("system", "n2", json!({"subtype": "local_command", "content": format!("<local-command-stdout>{}</local-command-stdout>", self.text("output in a notice")), "level": "info"}))
            .message("system", "n3", json!({"subtype": "api_error", "error": {"message": self.text("error of a request")}, "retryInMs": 1, "retryAttempt": 1, "maxRetries": 2, "level": "error"}))
            .assistant("e1", |reply| reply.text(&error))
            .with("isApiErrorMessage", true)
            .message("system", "n4", json!({"subtype": "compact_boundary", "content": self.text("notice of a compaction"), "compactMetadata": {"trigger": "auto", "preTokens": 9}}))
            .user("s1", self.text("summary of a compaction"))
            .with("isCompactSummary", true)
            .user("s2", "Go on")
    }

    /// Adds entries that a rewind left behind, and two lines with one uuid.
    fn rewind(&mut self, lines: Transcript) -> Transcript {
        lines
            .user("w1", self.text("left behind"))
            .after("s2")
            .user("w2", self.text("superseded line"))
            .after("s2")
            .user("w2", "Instead")
            .assistant("a4", |reply| reply.text("Done"))
    }

    fn records(&mut self, lines: Transcript) -> Transcript {
        lines
            .record("queue-operation", json!({"operation": "enqueue", "content": self.text("queue")}))
            .record("last-prompt", json!({"lastPrompt": self.text("last prompt")}))
            .record("ai-title", json!({"aiTitle": self.text("hidden title of a model")}))
            .record("tag", json!({"tag": self.value_in_text("tag")}))
            .record("unknown-record", json!({"note": {"deep": [self.text("unknown record")]}}))
            .title(&self.text("title"))
    }

    /// Returns a torn line, and one that is not UTF-8.
    fn damage(&mut self) -> Vec<u8> {
        let torn = format!(
            "{{\"type\":\"user\",\"uuid\":\"x1\",\"message\":{{\"content\":\"{}\n",
            self.text("torn line")
        );
        let mut line = Transcript::session(EVERYWHERE)
            .after("a4")
            .user("x2", format!("? {}", self.text("line that is not UTF-8")))
            .to_string()
            .into_bytes();
        let question = line.windows(2).position(|pair| pair == b"? ").expect("the prompt starts with it");
        line[question] = 0xff;
        [torn.into_bytes(), line].concat()
    }

    fn agent(&mut self) -> Transcript {
        let (prompt, reply) = (self.text("prompt in an agent"), self.text("reply of an agent"));
        Transcript::session(EVERYWHERE)
            .user("g1", prompt)
            .with("isSidechain", true)
            .with("agentId", "a1")
            .assistant("g2", |message| message.text(&reply))
            .with("isSidechain", true)
            .with("agentId", "a1")
    }

    /// Returns the prompt history: a prompt with a paste, and one of a session that is gone.
    fn history(&mut self) -> String {
        let pasted = json!({"1": {"id": 1, "type": "text", "content": self.text("pasted text")}});
        let typed = json!({"display": self.text("prompt history"), "pastedContents": pasted, "timestamp": 1_772_359_200_000_u64,
            "project": "/home/mia/tea", "sessionId": EVERYWHERE});
        let gone = json!({"display": self.text("prompt of a deleted session"), "pastedContents": {}, "timestamp": 1_772_359_300_000_u64,
            "project": "/home/mia/tea", "sessionId": GHOST});
        format!("{typed}\n{gone}\n")
    }
}

/// Returns an invented secret between two texts, and its random characters, which depend on the number only.
pub fn invented(number: usize, before: &str, behind: &str) -> (String, String) {
    const CHARACTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwyz23456789";
    // The states after the first ones differ even if the numbers are close.
    let states = std::iter::successors(Some(number as u64 + 1), |state| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    });
    let indices = states.skip(9).map(|state| (state >> 33) % CHARACTERS.len() as u64);
    let characters =
        indices.map(|index| char::from(CHARACTERS[usize::try_from(index).expect("an index is small")]));
    let secret: String = characters.take(36).collect();
    (format!("{before}{secret}{behind}"), secret)
}

/// Returns whether eight characters of a secret are in a text.
fn shows(text: &str, secret: &str) -> bool {
    let mut windows = secret.as_bytes().windows(8).filter_map(|window| std::str::from_utf8(window).ok());
    windows.any(|window| text.contains(window))
}

/// Returns the fields of an entry with the output of a hook.
fn hook(kind: &str, fields: Value) -> Value {
    let mut attachment = json!({"type": kind, "hookName": "Stop", "hookEvent": "Stop"});
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    for (key, value) in fields {
        attachment[key] = value;
    }
    json!({ "attachment": attachment })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_place_has_a_secret_of_its_own() {
        let world = SecretWorld::new();
        let places: BTreeSet<_> = world.secrets.iter().map(|(place, _)| place).collect();
        let secrets: BTreeSet<_> = world.secrets.iter().map(|(_, secret)| secret).collect();
        assert_eq!((places.len(), secrets.len()), (world.secrets.len(), world.secrets.len()));
        let all: Vec<u8> = world.files.iter().flat_map(|(_, content)| content.clone()).collect();
        assert_eq!(world.found_in(&String::from_utf8_lossy(&all)).len(), world.secrets.len());
    }
}
