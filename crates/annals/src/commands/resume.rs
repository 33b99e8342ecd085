//! `annals resume`: continues a session in Claude Code.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use annals_api::has_harmful;
use annals_engine::{
    ArchiveFilter, Engine, ListOptions, ResumeFolder, Resumption, SessionRow, TranscriptFile,
};
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
        None => match selected(engine, args)? {
            Some((rows, selector)) => choose::one_of(&rows, &selector, global)?,
            None => choose::recent(engine, sessions_here()?, global)?,
        },
    };
    let resumption = engine.resumption(&file)?;
    super::repair::suggest(&file, resumption.lost_messages);
    let folder = ensure_possible(&resumption, &file, args)?;
    let call = Call::new(&resumption, folder, args)?;
    if args.print || global.json {
        return call.print(global.json);
    }
    call.run()
}

/// Returns the sessions that `--search` and `--on` select, and what was given; `None` if neither was.
#[cfg_attr(not(feature = "search"), expect(clippy::unnecessary_wraps, reason = "a search can fail"))]
fn selected(engine: &Engine, args: &Resume) -> Result<Option<(Vec<SessionRow>, String)>, Failure> {
    #[cfg(feature = "search")]
    if let Some(query) = &args.search {
        let rows = super::search::sessions_found(engine, query, args.on.as_ref())?;
        return Ok(Some((rows, query.clone())));
    }
    let Some(on) = &args.on else { return Ok(None) };
    let options = ListOptions {
        active_in: Some(on.start..on.end),
        archived: ArchiveFilter::Exclude,
        ..ListOptions::default()
    };
    Ok(Some((engine.list(&options).sessions, on.written.clone())))
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
        let resume = output::command(&format!("annals resume {}", output::clean(&session)));
        output::suggest(&format!("`{resume}` continues it in Claude Code"));
    }
}

/// Selects the sessions of the current folder.
fn sessions_here() -> Result<ListOptions, Failure> {
    let here = env::current_dir().map_err(|error| Failure::working_directory(&error))?;
    Ok(ListOptions { project: Some(here), archived: ArchiveFilter::Exclude, ..ListOptions::default() })
}

/// Fails if Claude Code would not continue a session, with what helps; returns the folder in which it does.
fn ensure_possible<'a>(
    resumption: &'a Resumption,
    file: &TranscriptFile,
    args: &Resume,
) -> Result<&'a Path, Failure> {
    let session = &resumption.session;
    if let Some(obstacle) = &resumption.obstacle {
        return Err(Failure::not_resumable(&obstacle.to_string()).with_hint(format!(
            "`annals show {session}` prints what is in it, `annals check {session}` what is wrong"
        )));
    }
    if let Some(writer) = resumption.open_in.as_ref().filter(|_| !args.fork && !args.force) {
        return Err(Failure::open_elsewhere(*writer, session));
    }
    let folder = match &resumption.folder {
        ResumeFolder::Own(folder) => folder,
        ResumeFolder::Elsewhere(folder) if args.force => folder,
        ResumeFolder::Elsewhere(folder) => return Err(Failure::folder_elsewhere(folder, &file.path)),
        _ => return Err(Failure::no_folder(session, &file.path)),
    };
    if folder.is_dir() {
        Ok(folder)
    } else if folder.exists() {
        Err(Failure::not_a_folder(folder, session))
    } else {
        Err(Failure::folder_gone(folder, session))
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

    /// Prints the command as a shell reads it, or as JSON. It is exact, so nothing in it is masked: the folder and the arguments
    /// are the user's own.
    fn print(&self, json: bool) -> Result<ExitCode, Failure> {
        let mut out = output::stdout();
        if json {
            let command = ResumeCommand {
                folder: self.folder.into(),
                config: self.config.map(Into::into),
                command: self.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            };
            output::json_line_as_is(&mut out, &command)?;
        } else {
            let line = shell_line(self.folder, self.config, &self.words);
            if has_harmful(&line) && io::stdout().is_terminal() {
                return Err(Failure::harmful_command());
            }
            writeln!(out, "{line}")?;
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
        let status = self.command().status();
        let status =
            status.map_err(|error| Failure::claude_code(&self.words[0].to_string_lossy(), &error))?;
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
fn shell_line(folder: &Path, config: Option<&Path>, words: &[OsString]) -> String {
    let quoted = if cfg!(windows) { quoted_for_powershell } else { quoted_for_posix };
    let folder = quoted(folder.as_os_str());
    let config = config.map(|config| quoted(config.as_os_str()));
    let words = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    if cfg!(windows) {
        let config = config.map(|config| format!("$env:{CONFIG} = {config}; ")).unwrap_or_default();
        format!("Set-Location -LiteralPath {folder}; {config}& {words}")
    } else {
        let config = config.map(|config| format!("{CONFIG}={config} ")).unwrap_or_default();
        format!("cd -- {folder} && {config}{words}")
    }
}

/// Returns a word for a POSIX shell. Words that are not UTF-8, and those with characters that would harm a terminal, are spelt
/// in ASCII, as `$'…'`.
fn quoted_for_posix(word: &OsStr) -> String {
    if let Some(word) = word.to_str().filter(|word| !has_harmful(word)) {
        return shell_words::quote(word).into_owned();
    }
    format!("$'{}'", word.as_encoded_bytes().iter().copied().map(escaped).collect::<String>())
}

/// Returns a byte as `$'…'` of a POSIX shell has it.
fn escaped(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        // Three octal digits end by themselves; hexadecimal ones would go on with the next character in some shells.
        _ => format!("\\{byte:03o}"),
    }
}

/// Returns a word for PowerShell, which takes typographic quotes for plain ones.
fn quoted_for_powershell(word: &OsStr) -> String {
    let mut quoted = String::from("'");
    for character in word.to_string_lossy().chars() {
        if matches!(character, '\'' | '\u{2018}'..='\u{201b}') {
            quoted.push(character);
        }
        quoted.push(character);
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_printed_command_survives_a_shell() {
        let words = ["claude", "--resume", "3e11", "don't; \"stop\" $HOME"].map(OsString::from);
        let line = shell_line(Path::new("/home/mia/茶 & 水"), Some(Path::new("/tmp/con fig")), &words);
        assert_eq!(
            line,
            r#"cd -- '/home/mia/茶 & 水' && CLAUDE_CONFIG_DIR='/tmp/con fig' claude --resume 3e11 'don'\''t; "stop" $HOME'"#
        );
        assert_eq!(shell_line(Path::new("/src"), None, &words[..3]), "cd -- /src && claude --resume 3e11");
    }

    #[cfg(unix)]
    #[test]
    fn bash_reads_every_quoted_word_as_it_was() {
        use std::os::unix::ffi::OsStringExt;

        for word in [
            &b"two\nlines\n"[..],
            b"\x1b]0;title\x07 'quoted' \\n $(id) 7",
            "\u{202e}茶 \u{200b}1".as_bytes(),
            b"\xff\xfe1 not UTF-8",
            b"",
            b"-",
        ] {
            let word = OsString::from_vec(word.to_vec());
            let quoted = quoted_for_posix(&word);
            assert!(!has_harmful(&quoted), "{quoted}");
            let output =
                std::process::Command::new("bash").arg("-c").arg(format!("printf %s {quoted}")).output();
            let read = OsString::from_vec(output.unwrap().stdout);
            assert_eq!(read, word, "{quoted}");
        }
    }

    #[test]
    fn typographic_quotes_do_not_end_a_word_of_powershell() {
        assert_eq!(quoted_for_powershell("a'b\u{2019}c $d".as_ref()), "'a''b\u{2019}\u{2019}c $d'");
    }
}
