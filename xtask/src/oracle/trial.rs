//! The environment of one scenario: a home with a config folder and a project, annals, and Claude Code.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value as Json, json};
use testkit::command::Home;

use super::claude_code::ClaudeCode;
use super::mutate::compare::{Messages, Verdict, blocks, compare};
use crate::Outcome;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A home in which annals and Claude Code work on the same sessions.
pub(crate) struct Trial<'a> {
    claude_code: &'a ClaudeCode,
    annals: &'a Path,
    home: Home,
}

impl<'a> Trial<'a> {
    pub(crate) fn new(claude_code: &'a ClaudeCode, annals: &'a Path) -> Result<Self> {
        let trial = Self { claude_code, annals, home: Home::new() };
        fs::create_dir(trial.root())?;
        fs::create_dir(trial.project())?;
        Ok(trial)
    }

    pub(crate) fn claude_code(&self) -> &ClaudeCode {
        self.claude_code
    }

    /// Returns Claude Code's config folder.
    pub(crate) fn root(&self) -> PathBuf {
        self.home.path().join(".claude")
    }

    /// Returns the working directory that sessions are about.
    pub(crate) fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    /// Returns where a session's transcript lies.
    pub(crate) fn transcript(&self, session: &str) -> Result<PathBuf> {
        transcript_in(&self.root(), session)
    }

    /// Returns the entries of a session's transcript.
    pub(crate) fn entries(&self, session: &str) -> Result<Vec<Json>> {
        self.entries_from(session, 0)
    }

    /// Returns those that begin at an offset or behind it.
    pub(crate) fn entries_from(&self, session: &str, offset: u64) -> Result<Vec<Json>> {
        let text = fs::read_to_string(self.transcript(session)?)?;
        let text = &text[usize::try_from(offset)?..];
        Ok(text.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?)
    }
}

/// A session that Claude Code has open, prompt by prompt.
pub(crate) struct Talk {
    claude_code: Child,
    prompts: ChildStdin,
    replies: Lines<BufReader<ChildStdout>>,
}

impl Talk {
    /// Sends a prompt and waits for the answer. Returns the session.
    pub(crate) fn say(&mut self, prompt: &str) -> Result<String> {
        let prompt = json!({"type": "user", "message": {"role": "user", "content": prompt}});
        writeln!(self.prompts, "{prompt}")?;
        for line in self.replies.by_ref() {
            let reply: Json = serde_json::from_str(&line?)?;
            if reply["type"] == "result" {
                return Ok(text(&reply["session_id"]));
            }
        }
        Err("Claude Code ended before it answered".into())
    }

    /// Ends the session.
    pub(crate) fn end(mut self) -> Outcome {
        drop(self.prompts);
        let status = self.claude_code.wait()?;
        if status.success() { Ok(()) } else { Err(format!("Claude Code: {status}").into()) }
    }
}

/// What annals does.
impl Trial<'_> {
    /// Runs annals and returns the lines of JSON that it prints.
    pub(crate) fn annals(&self, args: &[&str]) -> Result<Vec<Json>> {
        self.annals_reading(args, &[])
    }

    /// Starts annals; the lines of JSON go to a file, and an interrupt ends it even if this program ignores those.
    pub(crate) fn annals_prints_to(&self, args: &[&str], file: fs::File) -> Result<Child> {
        let mut command = self.home.command("env");
        command.arg("--default-signal=INT").arg(self.annals);
        command.arg("--root").arg(self.root()).arg("--json").args(args);
        Ok(command.stdin(Stdio::null()).stdout(file).spawn()?)
    }

    /// Returns a command that runs annals and has it print JSON.
    pub(crate) fn annals_command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(&self.annals.to_string_lossy());
        command.arg("--root").arg(self.root()).arg("--json").args(args);
        command
    }

    fn annals_reading(&self, args: &[&str], drafts: &[Json]) -> Result<Vec<Json>> {
        let mut command = self.annals_command(args);
        let lines: Vec<_> = drafts.iter().map(ToString::to_string).collect();
        let output = output_for(&mut command, &lines.join("\n"))?;
        Ok(output.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?)
    }

    /// Records a new session and returns its id.
    pub(crate) fn record(&self, drafts: &[Json]) -> Result<String> {
        let recorded = self.annals_reading(&["record", "--project", "project"], drafts)?;
        Ok(text(&recorded[0]["session"]))
    }

    /// Records to an existing session; returns the result for the drafts.
    pub(crate) fn record_to(&self, session: &str, drafts: &[Json]) -> Result<Json> {
        self.record_with(session, &[], drafts)
    }

    /// Does the same with further options.
    pub(crate) fn record_with(&self, session: &str, options: &[&str], drafts: &[Json]) -> Result<Json> {
        let args = [&["record", "--project", "project", "--session", session], options].concat();
        self.annals_reading(&args, drafts)?.into_iter().next_back().ok_or_else(|| "nothing recorded".into())
    }

    /// Forks a session and returns the id of the copy.
    pub(crate) fn fork(&self, session: &str, options: &[&str]) -> Result<String> {
        let forked = self.annals(&[&["fork", session], options].concat())?;
        Ok(text(&forked[0]["session"]))
    }
}

/// What Claude Code does.
impl Trial<'_> {
    /// Continues a session with Claude Code.
    pub(crate) fn continue_session(&self, session: &str, prompt: &str) -> Outcome {
        self.claude_code.run(self.home.path(), &self.project(), &["-p", prompt, "--resume", session])?;
        Ok(())
    }

    /// Has `annals resume` continue a session with Claude Code, from a folder.
    pub(crate) fn resume_by_annals(&self, from: &Path, args: &[&str], prompt: &str) -> Outcome {
        // Claude Code stays in the folder that annals goes to.
        let claude_code = self.claude_code.command(self.home.path(), Path::new("."), &[]);
        let words = [claude_code.get_program()].into_iter().chain(claude_code.get_args());
        let words: Vec<_> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
        let mut command = self.home.command(&self.annals.to_string_lossy());
        command.envs(claude_code.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("ANNALS_CLAUDE", words.join(" ")).current_dir(from);
        command.arg("--root").arg(self.root()).arg("resume").args(args).args(["--", "-p", prompt]);
        output_for(&mut command, "")?;
        Ok(())
    }

    /// Does the same without waiting for the end, so that annals can work meanwhile.
    pub(crate) fn start_continuing(&self, session: &str, prompt: &str) -> Result<Child> {
        let args = ["-p", prompt, "--resume", session, "--dangerously-skip-permissions"];
        let mut command = self.claude_code.command(self.home.path(), &self.project(), &args);
        Ok(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
    }

    /// Begins a session with Claude Code that stays open, see [`Talk`].
    pub(crate) fn open_session(&self) -> Result<Talk> {
        let args = ["-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"];
        let mut command = self.claude_code.command(self.home.path(), &self.project(), &args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut claude_code = command.spawn()?;
        let prompts = claude_code.stdin.take().ok_or("no input")?;
        let replies = BufReader::new(claude_code.stdout.take().ok_or("no output")?).lines();
        Ok(Talk { claude_code, prompts, replies })
    }

    /// Begins a session with Claude Code, which may use its tools; returns the id.
    pub(crate) fn begin_session(&self, prompt: &str) -> Result<String> {
        let args = ["-p", prompt, "--dangerously-skip-permissions", "--output-format", "json"];
        let said = self.claude_code.run(self.home.path(), &self.project(), &args)?;
        Ok(text(&serde_json::from_str::<Json>(&said)?["session_id"]))
    }

    /// Lets Claude Code resume a copy of a session. Returns what it sends; fails if annals predicts something else.
    pub(crate) fn resume(&self, session: &str) -> Result<Sent> {
        let home = tempfile::tempdir()?;
        let (root, project) = (home.path().join(".claude"), home.path().join("project"));
        fs::create_dir(&project)?;
        output_for(Command::new("cp").arg("-R").arg(self.root()).arg(&root), "")?;
        let since = self.claude_code.index_length();
        self.claude_code.run(home.path(), &project, &["-p", PROBE, "--resume", session])?;
        let requests = self.claude_code.requests(session, since);
        let request = requests.first().ok_or("Claude Code resumed, but sent nothing")?;
        let sent = self.claude_code.messages(request)?;
        let shown = self.annals(&["show", session, "--view", "model"])?;
        let verdict = compare(&[], &Messages::of_claude_code(&sent), &Messages::of_annals(&shown));
        if let Verdict::Different(difference) = verdict {
            return Err(difference.shown.into());
        }
        if !fs::read(transcript_in(&root, session)?)?.starts_with(&fs::read(self.transcript(session)?)?) {
            return Err("Claude Code changed what was there".into());
        }
        Ok(Sent::by_claude_code(&sent))
    }
}

/// What Claude Code's SDKs see.
impl Trial<'_> {
    /// Returns the subagents of a session with the types of their messages.
    pub(crate) fn subagents_by_typescript(&self, session: &str) -> Result<Json> {
        self.typescript("subagents", session)
    }

    /// Returns the sessions of the project by id, as the TypeScript SDK lists them.
    pub(crate) fn listed_by_typescript(&self) -> Result<Json> {
        self.typescript("sessions", "")
    }

    /// Returns the same from the Python SDK.
    pub(crate) fn listed_by_python(&self) -> Result<Json> {
        let mut python = self.home.command(&self.claude_code.python().to_string_lossy());
        python.arg("-").arg(self.project()).env("CLAUDE_CONFIG_DIR", self.root());
        Ok(serde_json::from_str(&output_for(&mut python, include_str!("sessions.py"))?)?)
    }

    /// Returns the sessions of all projects, in the order in which the TypeScript SDK lists them.
    pub(crate) fn list_by_typescript(&self) -> Result<Vec<Json>> {
        let mut node = self.home.command("node");
        node.args(["--input-type=module", "-"]).arg(self.claude_code.packages());
        node.env("CLAUDE_CONFIG_DIR", self.root());
        Ok(serde_json::from_str(&output_for(&mut node, include_str!("list.mjs"))?)?)
    }

    /// Returns the same from the Python SDK.
    pub(crate) fn list_by_python(&self) -> Result<Vec<Json>> {
        let mut python = self.home.command(&self.claude_code.python().to_string_lossy());
        python.arg("-").env("CLAUDE_CONFIG_DIR", self.root());
        Ok(serde_json::from_str(&output_for(&mut python, include_str!("list.py"))?)?)
    }

    fn typescript(&self, what: &str, session: &str) -> Result<Json> {
        let mut node = self.home.command("node");
        node.args(["--input-type=module", "-"]).arg(self.claude_code.packages()).arg(self.project());
        node.args([what, session]).env("CLAUDE_CONFIG_DIR", self.root());
        Ok(serde_json::from_str(&output_for(&mut node, include_str!("sessions.mjs"))?)?)
    }
}

/// The prompt with which Claude Code resumes; no transcript contains it.
pub(crate) const PROBE: &str = "ZZPROBE SCRIPT:qa";

/// Messages that reach the model: for each its role and its parts.
#[derive(Debug)]
pub(crate) struct Sent(Vec<String>);

impl Sent {
    /// Reads a request: without what Claude Code adds to every request, and without the probe.
    fn by_claude_code(messages: &[Json]) -> Self {
        let is_said = |part: &Json| {
            let text = part["text"].as_str().unwrap_or_default();
            !text.starts_with("<system-reminder>") && text != PROBE
        };
        let spelled = messages.iter().filter(|message| message["role"] != "system").filter_map(|message| {
            let parts: Vec<_> = blocks(&message["content"]).into_iter().filter(is_said).collect();
            (!parts.is_empty()).then(|| spell(&message["role"], &parts))
        });
        let mut spelled: Vec<String> = spelled.collect();
        // The probe was joined to the last text by a line break.
        if let Some(last) = spelled.last_mut().filter(|last| last.ends_with('\n')) {
            last.pop();
        }
        Self(spelled)
    }

    /// Fails unless these are the messages. The beginning of each is enough, and line breaks that join texts do not matter.
    pub(crate) fn is(&self, expected: &[&str]) -> Outcome {
        for index in 0..self.0.len().max(expected.len()) {
            let (sent, meant) = (self.0.get(index), expected.get(index));
            let begins = |(sent, meant): (&String, &&str)| sent.replace("\n | ", " | ").starts_with(meant);
            if !sent.zip(meant).is_some_and(begins) {
                let sent: String = sent.map_or("(nothing)", String::as_str).chars().take(300).collect();
                let meant = meant.unwrap_or(&"(nothing)");
                return Err(format!(
                    "message {}\n    Claude Code  {sent}\n    expected     {meant}",
                    index + 1
                )
                .into());
            }
        }
        Ok(())
    }

    /// Fails unless these are the last messages.
    pub(crate) fn ends_with(&self, expected: &[&str]) -> Outcome {
        let skipped = self.0.len().saturating_sub(expected.len());
        Sent(self.0[skipped..].to_vec()).is(expected)
    }
}

/// Spells a message: `assistant: Let me see | call toolu_1 Bash {…}`.
fn spell(role: &Json, parts: &[Json]) -> String {
    let spelled = parts.iter().map(|part| match &*text(&part["type"]) {
        "text" => text(&part["text"]),
        "thinking" => format!("thinking {}", text(&part["thinking"])),
        "tool_use" => format!("call {} {} {}", text(&part["id"]), text(&part["name"]), part["input"]),
        "tool_result" => {
            let said: String = blocks(&part["content"]).iter().map(|part| text(&part["text"])).collect();
            format!("result {} {said}", text(&part["tool_use_id"]))
        }
        other => other.to_owned(),
    });
    format!("{}: {}", text(role), spelled.collect::<Vec<_>>().join(" | "))
}

/// Returns the text of a value; an empty one if it is no string.
pub(crate) fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Runs a program on an input and returns what it printed.
pub(crate) fn output_for(command: &mut Command, input: &str) -> Result<String> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    let input = input.to_owned();
    // A program that fails at once reads nothing; what it says tells more.
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output()?;
    drop(writer.join());
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

fn transcript_in(root: &Path, session: &str) -> Result<PathBuf> {
    let projects = fs::read_dir(root.join("projects"))?;
    let mut paths = projects.flatten().map(|project| project.path().join(format!("{session}.jsonl")));
    paths.find(|path| path.is_file()).ok_or_else(|| format!("there is no transcript of {session}").into())
}
