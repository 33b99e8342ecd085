//! Failures of commands: the one place where errors become messages, hints and exit codes.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use annals_api::RulesError;
use annals_engine::{Candidate, LiveWriter, PushError};
use annals_server::HttpError;
use annals_transcript::write::{self, DraftError};

use crate::output::{self, clean, pick};

/// Exit code: nothing was found, or `check` found a warning or an error.
pub(crate) const FOUND_NOTHING: u8 = 1;
/// Exit code: something failed.
pub(crate) const FAILED: u8 = 2;
/// Exit code: the user pressed Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command ends without having done its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The program that reads our output has ended; this counts as success.
    BrokenPipe,
    /// Anything else.
    Message { text: String, hints: Vec<String>, code: u8 },
}

impl Failure {
    /// There is nothing to work on.
    pub(crate) fn nothing(text: impl Display) -> Self {
        Failure::Message { text: text.to_string(), hints: vec![ROOT_HINT.to_owned()], code: FOUND_NOTHING }
    }

    /// There is no session or no prompt history in the folders that were searched.
    pub(crate) fn no_history(text: String) -> Self {
        let hint = "name the config folder of Claude Code with `--root DIR`; `annals roots` lists those that are searched";
        Failure::Message { text, hints: vec![hint.to_owned()], code: FOUND_NOTHING }
    }

    /// Nothing was found, and no hint would help.
    pub(crate) fn without_hint(text: String) -> Self {
        Failure::Message { text, hints: Vec::new(), code: FOUND_NOTHING }
    }

    /// Claude Code would not resume a session.
    pub(crate) fn not_resumable(obstacle: &str) -> Self {
        Self::without_hint(format!("Claude Code would not resume this session: {obstacle}"))
    }

    /// Claude Code has the session open already.
    pub(crate) fn open_elsewhere(writer: LiveWriter, session: &str) -> Self {
        let hint = format!(
            "continue there, or in a copy with `annals resume {session} --fork`; `--force` continues anyway, and then two \
             programs write to the session"
        );
        Self::usage(&format!("the session is open: {writer}"), &hint)
    }

    /// A session has no folder in which Claude Code would find it.
    pub(crate) fn no_folder(session: &str, transcript: &Path) -> Self {
        let hint = format!("{}; `annals show {session}` prints the session", copying_helps(transcript, None));
        Self::usage("the session records no absolute working directory of this system", &hint)
    }

    /// Claude Code would look for a session in another project than the one that has it.
    pub(crate) fn folder_elsewhere(folder: &Path, transcript: &Path) -> Self {
        let project = transcript.parent().and_then(Path::file_name).unwrap_or_default();
        let text = format!(
            "Claude Code would not find the session: it lies in the project {}, and the folder that it names has another one: {}",
            clean(&project.to_string_lossy()),
            clean(&folder.to_string_lossy())
        );
        let hint = format!(
            "{}; `--force` starts Claude Code in that folder all the same",
            copying_helps(transcript, Some(folder))
        );
        Self::usage(&text, &hint)
    }

    /// The folder of a session was deleted or moved.
    pub(crate) fn folder_gone(folder: &Path, session: &str) -> Self {
        let create =
            exact_word(folder).map(|folder| format!(", or make an empty one with `mkdir -p {folder}`"));
        let hint = format!(
            "Claude Code finds a session only from its own folder: bring the folder back{}, and try again; `annals show \
             {session}` prints the session",
            create.unwrap_or_default()
        );
        Self::usage(
            &format!("the folder of the session is gone: {}", clean(&folder.to_string_lossy())),
            &hint,
        )
    }

    /// Something else is in the place of the folder of a session.
    pub(crate) fn not_a_folder(path: &Path, session: &str) -> Self {
        let hint = format!(
            "Claude Code finds a session only from its own folder; `annals show {session}` prints the session"
        );
        let path = path.to_string_lossy();
        Self::usage(&format!("the recorded working directory is not a folder: {}", clean(&path)), &hint)
    }

    /// A command cannot be shown exactly without harm to the terminal.
    pub(crate) fn harmful_command() -> Self {
        let hint = "write it to a file or a pipe, or take `--json`, which escapes them";
        Self::usage("the command has control characters, which are not printed on a terminal", hint)
    }

    /// There is no session of the current folder.
    pub(crate) fn no_session_here() -> Self {
        let hint =
            "`annals list` shows those of all folders; `annals resume SESSION` continues one from anywhere";
        Failure::Message {
            text: "no session of this folder".to_owned(),
            hints: vec![hint.to_owned()],
            code: FOUND_NOTHING,
        }
    }

    /// No session is selected by a query or a day.
    pub(crate) fn nothing_selected(selector: &str) -> Self {
        let hint = "`annals list` shows all sessions, `annals search` finds words in them";
        Self::without_hint(format!("no session for `{}`", clean(selector))).with_hint(hint.to_owned())
    }

    /// Claude Code cannot be started.
    pub(crate) fn claude_code(program: &str, error: &io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "there is no such program".to_owned(),
            _ => error.to_string(),
        };
        let hint = "install Claude Code, or name the command that starts it in `ANNALS_CLAUDE`";
        Self::usage(&format!("cannot run `{}`: {why}", clean(program)), hint)
    }

    /// The user was offered sessions and chose none.
    pub(crate) fn not_chosen() -> Self {
        Failure::Message { text: "no session was chosen".to_owned(), hints: Vec::new(), code: FAILED }
    }

    /// The user pressed Ctrl-C when asked.
    pub(crate) fn interrupted() -> Self {
        Failure::Message { text: "no session was chosen".to_owned(), hints: Vec::new(), code: INTERRUPTED }
    }

    /// A file or folder cannot be written.
    pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Self {
        let text = format!("cannot write {}: {error}", path.display());
        Failure::Message { text, hints: Vec::new(), code: FAILED }
    }

    /// The arguments are wrong, with a hint how to correct them.
    pub(crate) fn usage(text: &str, hint: &str) -> Self {
        Failure::Message { text: text.to_owned(), hints: vec![hint.to_owned()], code: FAILED }
    }

    /// The user was asked and said no.
    pub(crate) fn declined() -> Self {
        Failure::Message { text: "nothing was changed".to_owned(), hints: Vec::new(), code: FAILED }
    }

    /// Returns the failure with one more hint, which comes first.
    pub(crate) fn with_hint(mut self, hint: String) -> Self {
        if let Failure::Message { hints, .. } = &mut self {
            hints.insert(0, hint);
        }
        self
    }

    /// The arguments cannot be parsed.
    pub(crate) fn arguments(error: &clap::Error) -> Self {
        Self::usage(&error.kind().to_string(), "`annals --help` lists the arguments")
    }

    /// A draft was refused.
    pub(crate) fn draft(line: usize, error: &DraftError) -> Self {
        let hint = "nothing of its batch was written; `--keep-going` skips drafts that are refused";
        Self::usage(&format!("line {line}: {error}"), hint)
    }

    /// A batch could not be recorded.
    pub(crate) fn record(error: write::Error) -> Self {
        annals_engine::Error::from(error).into()
    }

    /// There is no working directory for `--here`.
    pub(crate) fn working_directory(error: &io::Error) -> Self {
        let hint = "it may have been removed: go to another one, or name a project with `--project PATH`";
        Self::usage(&format!("cannot determine the working directory: {error}"), hint)
    }

    /// A log could not be read.
    pub(crate) fn source(from: &str, error: &io::Error) -> Self {
        Failure::Message { text: format!("cannot read {from}: {error}"), hints: Vec::new(), code: FAILED }
    }

    /// A server refuses to send a log.
    pub(crate) fn unauthorized(from: &str) -> Self {
        let text = format!("cannot read {from}: the server does not accept the token, or requires one (401)");
        Self::usage(&text, TOKEN_HINT)
    }

    /// Standard input could not be read.
    pub(crate) fn input(error: &io::Error) -> Self {
        Failure::Message { text: format!("cannot read the input: {error}"), hints: Vec::new(), code: FAILED }
    }

    /// The server could not be started.
    pub(crate) fn server(error: &io::Error) -> Self {
        Failure::Message { text: format!("cannot serve: {error}"), hints: Vec::new(), code: FAILED }
    }

    /// The user's rules for secrets are wrong, so nothing is printed that they might mask.
    pub(crate) fn secret_rules(error: &RulesError) -> Self {
        let hint =
            "correct or remove that file (docs/SECRETS.md has its form); `--reveal` prints without masking";
        Self::usage(&error.to_string(), hint)
    }

    /// A token file could not be read.
    pub(crate) fn token_file(path: &Path, error: impl Display) -> Self {
        let text = format!("cannot read the token in `{}`: {error}", path.display());
        Failure::Message { text, hints: Vec::new(), code: FAILED }
    }

    /// A token in the environment cannot be used.
    pub(crate) fn token_variable(name: &str, error: impl Display) -> Self {
        Failure::Message { text: format!("cannot use `{name}`: {error}"), hints: Vec::new(), code: FAILED }
    }

    /// Entries could not be pushed; `again` is the command that sends them, and `secrets` says what the command lacks.
    pub(crate) fn push(error: &PushError, pending: usize, again: &str, secrets: Option<String>) -> Self {
        let first = match error {
            PushError::NoUsableId => return Self::without_hint(format!("cannot push: {error}")),
            PushError::Unauthorized => TOKEN_HINT.to_owned(),
            PushError::UnknownHead { .. } => {
                "push to another address, or remove the log on the server".to_owned()
            }
            PushError::Rewritten { .. } => format!(
                "`{again}` continues behind the last entry that the server has, if the transcript still has it"
            ),
            _ => format!("`{again}` sends what is pending"),
        };
        let pending = match pending {
            // What the server lacks is not known.
            _ if matches!(error, PushError::Rewritten { .. } | PushError::UnknownHead { .. }) => {
                "all entries are on disk".to_owned()
            }
            0 => "all entries are on disk".to_owned(),
            pending => format!("all entries are on disk; pending: {}", output::entries(pending)),
        };
        let secrets = secrets.filter(|_| first.contains(again));
        let hints = [Some(pending), Some(first), secrets].into_iter().flatten().collect();
        Failure::Message { text: format!("cannot push: {error}"), hints, code: FAILED }
    }

    /// The server cannot listen on its address.
    pub(crate) fn listening(error: &HttpError, bind: &str, port: u16) -> Self {
        let (why, hint) = match error {
            HttpError::NoToken => {
                return Self::usage(
                    &error.to_string(),
                    "choose one, keep it secret, and give it with `--token-file` or in `ANNALS_TOKEN`",
                );
            }
            HttpError::BadToken => {
                return Self::usage(&error.to_string(), "leave it out, and annals generates one");
            }
            HttpError::NoAddress => {
                return Self::usage(
                    &format!("cannot serve on `{bind}`: {error}"),
                    "`--bind` takes an address or a name, and no port",
                );
            }
            HttpError::Io(error) => match error.kind() {
                io::ErrorKind::AddrInUse => {
                    ("another program listens there", "without `--port`, annals chooses a free one")
                }
                io::ErrorKind::PermissionDenied => (
                    "the system does not allow it",
                    "ports below 1024 are often reserved; without `--port`, annals chooses a free one",
                ),
                io::ErrorKind::AddrNotAvailable => (
                    "this machine does not have that address",
                    "`127.0.0.1` is for this machine alone, `0.0.0.0` for all machines that can reach this one",
                ),
                _ => return Self::server(error),
            },
        };
        Self::usage(&format!("cannot serve on `{bind}`, port {port}: {why}"), hint)
    }

    /// Prints the message and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Failure::BrokenPipe => ExitCode::SUCCESS,
            Failure::Message { text, hints, code } => {
                output::complain(&text);
                for hint in hints {
                    output::hint(&hint);
                }
                ExitCode::from(code)
            }
        }
    }
}

const ROOT_HINT: &str =
    "name the config folder of Claude Code with `--root DIR`, or a transcript by its path";

const TOKEN_HINT: &str = "give a token with `--token-file`, or in `ANNALS_REMOTE_TOKEN`";

/// The most candidates that are listed if a name is ambiguous.
const MAX_CANDIDATES: usize = 10;

/// Returns a line for each of the first candidates. Those with the same id differ in their paths only.
fn lines_of(candidates: &[Candidate]) -> Vec<String> {
    candidates.iter().take(MAX_CANDIDATES).map(|candidate| line_of(candidate, candidates)).collect()
}

fn line_of(candidate: &Candidate, all: &[Candidate]) -> String {
    let copies = all.iter().filter(|other| other.session == candidate.session).count();
    if candidate.agent.is_none() && copies > 1 {
        return format!("{}  {}", clean(&candidate.session), clean(&candidate.path.to_string_lossy()));
    }
    pick::candidate_line(candidate, output::hint_columns())
}

impl From<annals_engine::Error> for Failure {
    fn from(error: annals_engine::Error) -> Self {
        let nothing = error.is_not_found()
            || error.is_no_agent()
            || error.is_not_in_trash()
            || error.is_no_entry()
            || error.is_no_version()
            || !error.changed_files().is_empty();
        let code = if nothing { FOUND_NOTHING } else { FAILED };
        let candidates = error.candidates();
        let mut hints = lines_of(candidates);
        if !error.nearest().is_empty() {
            hints.push("is it one of these?".into());
            hints.extend(lines_of(error.nearest()));
        }
        if candidates.len() > MAX_CANDIDATES {
            hints.push(format!("… and {} more", candidates.len() - MAX_CANDIDATES));
        }
        if !candidates.is_empty() {
            hints.push("give more of the id or the title, or the path of the transcript".into());
        }
        if error.is_not_found() && error.nearest().is_empty() {
            hints.push(
                "name a session by its id or the first 4 or more characters of it, its title, `latest`, or the path of its \
                 transcript; commands that only read also take a part of the title or words of the first prompt. \
                 `annals restore` lists deleted sessions, `annals agents SESSION` the ids of agents"
                    .into(),
            );
        }
        if error.is_agent() {
            hints.push(
                "`show`, `tail`, `turns`, `tools`, `stats`, `check`, `insight` and `export` take an agent; other commands take its session"
                    .into(),
            );
        }
        if error.is_not_in_trash() {
            hints.push("`annals restore` lists the trash".into());
        }
        if error.is_half_purged() {
            hints.push(
                "`annals restore` lists the entries; `annals delete SESSION --purge --entry ID` removes one"
                    .into(),
            );
        }
        if error.is_path_taken() {
            hints.push("move it away, or `annals delete` it, and try again".into());
        }
        if error.is_no_entry() {
            hints.push(
                "`annals show SESSION --ids` prints the uuids of messages, `--json` those of all entries"
                    .into(),
            );
        }
        hints.extend(error.changed_files().iter().take(MAX_CANDIDATES).map(|path| clean(path).into_owned()));
        if !error.changed_files().is_empty() {
            hints.push("give more of the path".into());
        }
        if error.is_no_version() {
            hints.push("`annals files SESSION` lists the files with their versions".into());
        }
        if error.is_live() {
            hints.push("`--force` continues anyway; lines that are written meanwhile may be lost".into());
        }
        if error.writer().is_some_and(write::Error::is_empty_log) {
            hints.push("nothing was changed; with `--allow-empty` the session becomes empty, and an existing one goes to the trash".into());
        }
        if error.writer().is_some_and(write::Error::is_too_large) {
            hints.push("`--limit MIB` allows a larger one".into());
        }
        if error.is_no_projects() {
            hints.push(
                "a config folder of Claude Code is the one that contains `projects`; `stats`, `check` and `tools` take any other as a path"
                    .into(),
            );
        }
        Failure::Message { text: error.to_string(), hints, code }
    }
}

impl From<io::Error> for Failure {
    /// Errors of reading come from the engine with their path, so this one is of writing to standard output.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::BrokenPipe;
        }
        Failure::Message {
            text: format!("cannot write the output: {error}"),
            hints: Vec::new(),
            code: FAILED,
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}

/// Says how a session comes to a folder in which Claude Code resumes it.
fn copying_helps(transcript: &Path, folder: Option<&Path>) -> String {
    let transcript = exact_word(transcript).unwrap_or_else(|| "TRANSCRIPT".to_owned());
    let folder = folder.and_then(exact_word).unwrap_or_else(|| "DIR".to_owned());
    format!(
        "`annals hydrate {transcript} --project {folder}` copies it to the project of that folder, where Claude Code resumes the copy"
    )
}

/// Returns a path as a word for a shell; `None` if it cannot be printed as it is.
fn exact_word(path: &Path) -> Option<String> {
    let path = path.to_str().filter(|path| clean(path) == *path)?;
    Some(shell_words::quote(path).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_not_allowed_gets_a_hint() {
        let refused = HttpError::Io(io::ErrorKind::PermissionDenied.into());
        let Failure::Message { text, hints, code } = Failure::listening(&refused, "127.0.0.1", 80) else {
            panic!("there is a message");
        };
        assert_eq!(text, "cannot serve on `127.0.0.1`, port 80: the system does not allow it");
        assert!(hints[0].contains("below 1024") && code == FAILED, "{hints:?}");
    }
}
