//! Claude Code, installed in a scratch folder, and the mock of the model's API that it talks to.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The model that Claude Code uses here. It leaves out reasoning of replies of other models.
pub(crate) const MODEL: &str = "claude-opus-5-5";

/// An installed Claude Code. The mock is stopped when this is dropped.
pub(crate) struct ClaudeCode {
    /// The folder of its scripts.
    folder: PathBuf,
    scratch: PathBuf,
    port: u16,
    mock: String,
}

impl ClaudeCode {
    /// Installs Claude Code, unless it is installed, and starts the mock. The error says why that failed.
    pub(crate) fn set_up(folder: &Path, scratch: &Path) -> Result<Self> {
        let setup = folder.join("setup.sh");
        if !setup.is_file() {
            return Err(format!("there is no {}", setup.display()).into());
        }
        fs::create_dir_all(scratch)?;
        let (folder, scratch) = (folder.canonicalize()?, scratch.canonicalize()?);
        // Earlier runs left their requests, and a process id that another process may have by now.
        let _ = fs::remove_dir_all(scratch.join("logs"));
        let _ = fs::remove_file(scratch.join("mock.pid"));
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let output = Command::new("bash")
            .arg(setup)
            .env("ORACLE", &scratch)
            .env("ORC_PORT", port.to_string())
            // Without a network, this fails soon.
            .envs([("npm_config_fetch_retries", "1"), ("npm_config_fetch_retry_mintimeout", "1000")])
            .env("PIP_RETRIES", "1")
            .output()
            .map_err(|error| format!("bash: {error}"))?;
        if !output.status.success() {
            // The next run would take an incomplete installation for a complete one.
            let _ = fs::remove_dir_all(scratch.join("npm"));
            let _ = fs::remove_dir_all(scratch.join("venv"));
            let said = String::from_utf8_lossy(&output.stderr);
            let error = said.lines().find(|line| line.to_lowercase().contains("error"));
            let reason = error.or(said.lines().last()).unwrap_or_default();
            return Err(format!("setup.sh failed: {reason}").into());
        }
        let mock = fs::read_to_string(scratch.join("mock.pid"))?.trim().to_owned();
        let claude_code = Self { folder, scratch, port, mock };
        claude_code.version().map_err(|error| format!("Claude Code does not run: {error}"))?;
        Ok(claude_code)
    }

    /// Returns Claude Code's version: `2.1.325`.
    pub(crate) fn version(&self) -> Result<String> {
        let home = self.scratch.join("home");
        let said = self.run(&home, &home, &["--version"])?;
        Ok(said.split_whitespace().next().unwrap_or_default().to_owned())
    }

    /// Returns the folder of its scripts.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder in which it is installed.
    pub(crate) fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Lets a tool run Claude Code by itself.
    pub(crate) fn lend(&self, tool: &mut Command) {
        tool.env("ORACLE", &self.scratch).env("ORC_PORT", self.port.to_string());
        tool.env("ORC_CLIENT", self.folder.join("client.sh"));
    }

    /// Returns a command that runs Claude Code with a home, in a folder; it ends after five minutes at the latest.
    pub(crate) fn command(&self, home: &Path, folder: &Path, args: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.arg("300").arg(self.folder.join("client.sh")).args(["--model", MODEL]).args(args);
        command.env("ORACLE", &self.scratch).env("ORC_PORT", self.port.to_string());
        command.env("ORC_HOME", home).env("ORC_CWD", folder).stdin(std::process::Stdio::null());
        command
    }

    /// Runs Claude Code and returns what it printed.
    pub(crate) fn run(&self, home: &Path, folder: &Path, args: &[&str]) -> Result<String> {
        let output = self.command(home, folder, args).output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(format!("{}: {}{}", output.status, text(&output.stdout), text(&output.stderr)).into())
    }

    /// Adds a script that the mock follows: the turns of the model. The mock reads the scripts for each request.
    pub(crate) fn add_script(&self, name: &str, turns: Json) -> Result<()> {
        let path = self.scratch.join("scripts.json");
        let mut scripts: Json = serde_json::from_slice(&fs::read(&path)?)?;
        scripts[name] = turns;
        let new = path.with_extension("new");
        fs::write(&new, scripts.to_string())?;
        Ok(fs::rename(new, path)?)
    }

    /// Returns a position in the mock's index: requests that come later stand behind it.
    pub(crate) fn index_length(&self) -> u64 {
        fs::metadata(self.index_file()).map_or(0, |index| index.len())
    }

    /// Returns the requests of a session's main loop behind a position: their lines in the index of the mock.
    pub(crate) fn requests(&self, session: &str, since: u64) -> Vec<Json> {
        let is_turn = |request: &Json| {
            request["tools"].as_u64() > Some(0)
                && request["path"].as_str().is_some_and(|path| path.starts_with("/v1/messages?"))
        };
        self.all_requests(session, since).into_iter().filter(is_turn).collect()
    }

    /// Deletes the bodies of a session's requests, which fill the disk where there are thousands of sessions.
    pub(crate) fn forget_requests(&self, session: &str, since: u64) {
        for request in self.all_requests(session, since) {
            if let Ok(body) = self.body_file(&request) {
                // A body that is already gone needs no deletion.
                let _ = fs::remove_file(body);
            }
        }
    }

    /// Returns the messages of a request.
    pub(crate) fn messages(&self, request: &Json) -> Result<Vec<Json>> {
        let mut body: Json = serde_json::from_slice(&fs::read(self.body_file(request)?)?)?;
        Ok(serde_json::from_value(body["messages"].take())?)
    }

    /// Returns the folder of the npm packages that are installed.
    pub(crate) fn packages(&self) -> PathBuf {
        self.scratch.join("npm/node_modules")
    }

    /// Returns the Python that has Claude Code's SDK.
    pub(crate) fn python(&self) -> PathBuf {
        self.scratch.join("venv/bin/python")
    }

    fn logs(&self) -> PathBuf {
        self.scratch.join("logs")
    }

    fn index_file(&self) -> PathBuf {
        self.logs().join("index.jsonl")
    }

    fn body_file(&self, request: &Json) -> Result<PathBuf> {
        let number = request["n"].as_u64().ok_or("a request without number")?;
        Ok(self.logs().join(format!("{number:04}.json")))
    }

    /// Returns the lines of the mock's index about a session; a line that is being written is ignored.
    fn all_requests(&self, session: &str, since: u64) -> Vec<Json> {
        let mut index = Vec::new();
        let read = File::open(self.index_file()).and_then(|mut file| {
            file.seek(SeekFrom::Start(since))?;
            file.read_to_end(&mut index)
        });
        // Without an index there was no request yet.
        if read.is_err() {
            return Vec::new();
        }
        let lines = index.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        lines.filter(|request: &Json| request["session"] == session).collect()
    }
}

impl Drop for ClaudeCode {
    fn drop(&mut self) {
        // If it is gone already, so much the better.
        let _ = Command::new("kill").arg(&self.mock).status();
    }
}
