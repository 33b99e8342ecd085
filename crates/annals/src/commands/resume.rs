//! `annals resume`: continues a session in Claude Code.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use annals_engine::{ArchiveFilter, Engine, ListOptions, Resumption, TranscriptFile};
use annals_proto::ResumeCommand;

use super::choose;
use crate::args::{Global, Resume};
use crate::failure::Failure;
use crate::output;

/// The variable with the command that starts Claude Code.
const VARIABLE: &str = "ANNALS_CLAUDE";
const CONFIG: &str = "CLAUDE_CONFIG_DIR";

pub(crate) fn run(engine: &Engine, args: &Resume, global: &Global) -> Result<ExitCode, Failure> {
    let file = match &args.session {
        Some(name) => choose::session(engine, name, global)?,
        None => choose::recent(engine, sessions_here()?, global)?,
    };
    let resumption = engine.resumption(&file)?;
    let folder = ensure_possible(&resumption, args)?;
    let call = Call::new(&resumption, folder, args)?;
    if args.print || global.json {
        return call.print(global.json);
    }
    call.run()
}

/// Hints at the command that continues a session.
pub(super) fn suggest(file: &TranscriptFile, global: &Global) {
    if let Some(session) = &file.session {
        suggest_id(session, global);
    }
}

/// Hints at the command that continues the session with an id.
pub(super) fn suggest_id(session: &str, global: &Global) {
    if !global.json {
        let session: String = session.chars().take(8).collect();
        output::suggest(&format!("`annals resume {}` continues it in Claude Code", output::clean(&session)));
    }
}

/// Selects the sessions of the current folder.
fn sessions_here() -> Result<ListOptions, Failure> {
    let here = env::current_dir().map_err(|error| Failure::working_directory(&error))?;
    Ok(ListOptions { project: Some(here), archived: ArchiveFilter::Exclude, ..ListOptions::default() })
}

/// Fails if Claude Code would not continue a session, with what helps; returns the folder in which it does.
fn ensure_possible<'a>(resumption: &'a Resumption, args: &Resume) -> Result<&'a Path, Failure> {
    let session = &resumption.session;
    if let Some(obstacle) = &resumption.obstacle {
        return Err(Failure::not_resumable(&obstacle.to_string()).with_hint(format!(
            "`annals show {session}` prints what is in it, `annals check {session}` what is wrong"
        )));
    }
    if let Some(writer) = resumption.open_in.as_ref().filter(|_| !args.fork && !args.force) {
        return Err(Failure::open_elsewhere(*writer, session));
    }
    match &resumption.folder {
        None => Err(Failure::no_folder(session)),
        Some(folder) if !folder.is_dir() => Err(Failure::folder_gone(folder, session)),
        Some(folder) => Ok(folder),
    }
}

/// The command that continues a session.
struct Call<'a> {
    folder: &'a Path,
    config: Option<&'a Path>,
    words: Vec<OsString>,
}

impl<'a> Call<'a> {
    fn new(resumption: &'a Resumption, folder: &'a Path, args: &Resume) -> Result<Self, Failure> {
        let mut words = claude_code()?;
        words.extend(["--resume".into(), resumption.session.clone().into()]);
        if args.fork {
            words.push("--fork-session".into());
        }
        words.extend(args.args.iter().cloned());
        Ok(Self { folder, config: resumption.config.as_deref(), words })
    }

    /// Prints the command as a shell reads it, or as JSON.
    fn print(&self, json: bool) -> Result<ExitCode, Failure> {
        let mut out = output::stdout();
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        if json {
            let command = ResumeCommand {
                folder: self.folder.into(),
                config: self.config.map(Into::into),
                command: words,
            };
            // The arguments are the user's own.
            output::json_line_as_is(&mut out, &command)?;
        } else {
            let folder = self.folder.to_string_lossy();
            let config = self.config.map(Path::to_string_lossy);
            writeln!(out, "{}", output::clean(&shell_line(&folder, config.as_deref(), &words)))?;
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Becomes Claude Code: the terminal and its signals belong to it from now on.
    #[cfg(unix)]
    fn run(&self) -> Result<ExitCode, Failure> {
        use std::os::unix::process::CommandExt;

        let error = self.command().exec();
        Err(Failure::claude_code(&self.words[0].to_string_lossy(), &error))
    }

    /// Runs Claude Code and returns its exit code: other systems cannot replace a process.
    #[cfg(not(unix))]
    fn run(&self) -> Result<ExitCode, Failure> {
        let failed = |error| Failure::claude_code(&self.words[0].to_string_lossy(), &error);
        let status = self.command().status().map_err(failed)?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(ExitCode::from(code.unwrap_or(crate::failure::FAILED)))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(self.folder);
        if let Some(config) = self.config {
            command.env(CONFIG, config);
        }
        command
    }
}

/// Returns the command that starts Claude Code, as words: that of `ANNALS_CLAUDE`, or else `claude`.
fn claude_code() -> Result<Vec<OsString>, Failure> {
    let Some(given) = env::var_os(VARIABLE).filter(|given| !given.is_empty()) else {
        return Ok(vec!["claude".into()]);
    };
    // The path of a program may contain blanks.
    if PathBuf::from(&given).is_file() {
        return Ok(vec![given]);
    }
    let words = given.to_str().and_then(|given| shell_words::split(given).ok());
    let words = words.filter(|words| !words.is_empty()).ok_or_else(|| {
        let hint = "it is a program with its arguments, quoted as in a shell: `claude --model opus`";
        Failure::usage(&format!("cannot understand the command in `{VARIABLE}`"), hint)
    })?;
    Ok(words.into_iter().map(OsString::from).collect())
}

/// Returns a line for the shell of the system: a POSIX shell, or PowerShell on Windows.
fn shell_line(folder: &str, config: Option<&str>, words: &[String]) -> String {
    if cfg!(windows) {
        let quoted = |word: &str| format!("'{}'", word.replace('\'', "''"));
        let config = config.map(|config| format!("$env:{CONFIG} = {}; ", quoted(config))).unwrap_or_default();
        let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
        return format!("cd {}; {config}& {}", quoted(folder), words.join(" "));
    }
    let config = config.map(|config| format!("{CONFIG}={} ", shell_words::quote(config))).unwrap_or_default();
    format!("cd {} && {config}{}", shell_words::quote(folder), shell_words::join(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_printed_command_survives_a_shell() {
        let words = ["claude", "--resume", "3e11", "don't; \"stop\" $HOME"].map(str::to_owned);
        let line = shell_line("/home/mia/茶 & 水", Some("/tmp/con fig"), &words);
        assert_eq!(
            line,
            r#"cd '/home/mia/茶 & 水' && CLAUDE_CONFIG_DIR='/tmp/con fig' claude --resume 3e11 'don'\''t; "stop" $HOME'"#
        );
        assert_eq!(shell_line("/src", None, &words[..3]), "cd /src && claude --resume 3e11");
    }
}
