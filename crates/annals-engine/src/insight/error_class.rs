//! Classes of failed calls: by what is recorded about the call first, by what its result says second.

use annals_transcript::tool::State;

/// Raised whenever a call would get another class.
pub const ERROR_CLASSES_VERSION: u32 = 2;

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// A person or a rule did not allow the call.
    Rejected,
    /// A person interrupted it, or it was cancelled with another call.
    Interrupted,
    /// The command took too long.
    Timeout,
    /// A file was to be changed that had not been read.
    NotRead,
    /// A file was changed after it was read.
    ChangedSinceRead,
    /// A file or a result is too large.
    TooLarge,
    /// The text to be replaced is in the file several times.
    AmbiguousEdit,
    /// The new text is the old one.
    NoChange,
    /// The text to be replaced is not in the file.
    TextNotFound,
    /// A cell is not in the notebook.
    CellNotFound,
    /// A file or folder does not exist.
    FileNotFound,
    /// The system or a rule does not permit it.
    Permission,
    /// A command or tool does not exist, or is the wrong one for this kind of file.
    UnknownCommand,
    /// An address is in use.
    PortInUse,
    /// The arguments or a source text are not valid.
    Syntax,
    /// The API failed: it was overloaded, limited, or refused the request.
    Api,
    /// An MCP server or a page could not be reached.
    Connection,
    /// A program failed with a trace of its stack or a panic.
    Crash,
    /// Something else.
    Other,
}

impl ErrorClass {
    /// Returns its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Interrupted => "interrupted",
            Self::Timeout => "timeout",
            Self::NotRead => "not_read",
            Self::ChangedSinceRead => "changed_since_read",
            Self::TooLarge => "too_large",
            Self::AmbiguousEdit => "ambiguous_edit",
            Self::NoChange => "no_change",
            Self::TextNotFound => "text_not_found",
            Self::CellNotFound => "cell_not_found",
            Self::FileNotFound => "file_not_found",
            Self::Permission => "permission",
            Self::UnknownCommand => "unknown_command",
            Self::PortInUse => "port_in_use",
            Self::Syntax => "syntax",
            Self::Api => "api",
            Self::Connection => "connection",
            Self::Crash => "crash",
            Self::Other => "other",
        }
    }

    /// Returns the class of a call with this state and this text as its result; `None` if it did not fail.
    pub(crate) fn of(state: State, text: &str) -> Option<Self> {
        match state {
            State::Ok | State::Pending => None,
            State::Denied => Some(Self::Rejected),
            State::Interrupted | State::Cancelled => Some(Self::Interrupted),
            State::Error => Some(Self::of_text(text)),
        }
    }

    /// Returns the class of the text of a failed result.
    fn of_text(text: &str) -> Self {
        let text = text.to_lowercase();
        let found = SIGNS.iter().find(|(_, alternatives)| {
            alternatives.iter().any(|signs| signs.iter().all(|sign| text.contains(sign)))
        });
        match found {
            Some((class, _)) => *class,
            None if has_stack(&text) => Self::Crash,
            None => Self::Other,
        }
    }
}

/// Returns whether a text has three stack frames in a row, as JavaScript, Java, C# and Python print them. One such line may be prose.
fn has_stack(text: &str) -> bool {
    let lines: Vec<_> = text.lines().map(is_stack_frame).collect();
    lines.windows(3).any(|three| three.iter().all(|is_frame| *is_frame))
}

fn is_stack_frame(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("at ") && line.contains([':', '('])
        || line.starts_with("file \"") && line.contains(", line ")
}

/// What the classes are recognised by, in lower case: the texts of one of the alternatives. The first class that matches counts, so those that
/// Claude Code itself words come before those of any program.
const SIGNS: &[(ErrorClass, &[&[&str]])] = &[
    (ErrorClass::NotRead, &[&["has not been read yet"], &["must be read first"], &["read it first before"]]),
    (ErrorClass::ChangedSinceRead, &[&["modified since read"], &["unexpectedly modified"]]),
    (
        ErrorClass::TooLarge,
        &[&["exceeds maximum allowed"], &["exceeds the maximum allowed"], &["too large to"]],
    ),
    (ErrorClass::AmbiguousEdit, &[&["matches of the string to replace", "replace_all"]]),
    (ErrorClass::NoChange, &[&["old_string and new_string are exactly the same"], &["no changes to make"]]),
    (ErrorClass::TextNotFound, &[&["string to replace not found"]]),
    (ErrorClass::CellNotFound, &[&["cell with id", "not found"], &["cell not found in notebook"]]),
    (ErrorClass::Timeout, &[&["command timed out"], &["timed out after"], &["operation timed out"]]),
    (
        ErrorClass::Api,
        &[
            &["api error"],
            &["overloaded_error"],
            &["rate_limit_error"],
            &["prompt is too long"],
            &["usage limit reached"],
        ],
    ),
    (ErrorClass::PortInUse, &[&["address already in use"], &["eaddrinuse"]]),
    (
        ErrorClass::UnknownCommand,
        &[
            &["command not found"],
            &["exit code 127"],
            &["no such tool available"],
            &["is not recognized as"],
            &["unknown tool"],
            &["file is a jupyter notebook"],
        ],
    ),
    (
        ErrorClass::Syntax,
        &[&["inputvalidationerror"], &["syntaxerror"], &["syntax error"], &["jq: error"], &["parse error"]],
    ),
    (
        ErrorClass::FileNotFound,
        &[
            &["no such file"],
            &["file does not exist"],
            &["directory does not exist"],
            &["path does not exist"],
            &["enoent"],
            &["cannot find module"],
            &["modulenotfounderror"],
            &["cannot find the path"],
        ],
    ),
    (
        ErrorClass::Permission,
        &[&["permission denied"], &["eacces"], &["operation not permitted"], &["was blocked. for security"]],
    ),
    (
        ErrorClass::Connection,
        &[
            &["mcp", "not connected"],
            &["failed to fetch"],
            &["unable to fetch"],
            &["unable to verify if domain"],
            &["econnrefused"],
            &["connection refused"],
            &["could not resolve host"],
        ],
    ),
    (
        ErrorClass::Crash,
        &[
            &["traceback (most recent call last)"],
            &["panicked at"],
            &["goroutine ", "[running]"],
            &["segmentation fault"],
            &["fatal error:"],
            &["unhandled exception"],
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_class_that_a_person_would_give_them() {
        let texts = [
            ("File has not been read yet. Read it first before writing to it.", ErrorClass::NotRead),
            (
                "File has been modified since read, either by the user or by a linter.",
                ErrorClass::ChangedSinceRead,
            ),
            (
                "Found 3 matches of the string to replace, but replace_all is false.",
                ErrorClass::AmbiguousEdit,
            ),
            ("String to replace not found in file.\nString: x", ErrorClass::TextNotFound),
            ("Command timed out after 2m 0s", ErrorClass::Timeout),
            ("bash: line 1: frob: command not found", ErrorClass::UnknownCommand),
            ("cat: 天气.txt: No such file or directory", ErrorClass::FileNotFound),
            (
                "Traceback (most recent call last):\n  ModuleNotFoundError: No module named 'x'",
                ErrorClass::FileNotFound,
            ),
            ("Traceback (most recent call last):\n  ZeroDivisionError", ErrorClass::Crash),
            ("thread 'main' panicked at src/main.rs:1:1", ErrorClass::Crash),
            ("<tool_use_error>InputValidationError: Edit failed</tool_use_error>", ErrorClass::Syntax),
            ("Error: listen EADDRINUSE: address already in use :::3000", ErrorClass::PortInUse),
            ("frobnicator\n  at a (x.js:1)\n  at b (x.js:2)\n  at c (x.js:3)", ErrorClass::Crash),
            ("one line\n  at noon: tea\nanother", ErrorClass::Other),
            ("Cell with ID \"c1\" not found in notebook.", ErrorClass::CellNotFound),
            ("Exit code 127", ErrorClass::UnknownCommand),
            ("Exit code 1", ErrorClass::Other),
            ("", ErrorClass::Other),
        ];
        for (text, class) in texts {
            assert_eq!(ErrorClass::of(State::Error, text), Some(class), "{text}");
        }
    }

    #[test]
    fn what_is_recorded_about_a_call_comes_before_its_text() {
        let text = "Command timed out after 2m";
        let classes = [State::Denied, State::Interrupted, State::Cancelled, State::Error, State::Ok]
            .map(|state| ErrorClass::of(state, text).map_or("", ErrorClass::name));
        assert_eq!(classes, ["rejected", "interrupted", "interrupted", "timeout", ""]);
    }

    #[test]
    fn every_sign_is_in_lower_case_and_leads_to_its_class() {
        for (class, alternatives) in SIGNS {
            for signs in *alternatives {
                let text = signs.join(" ");
                assert_eq!(text, text.to_lowercase());
                assert_eq!(ErrorClass::of(State::Error, &text), Some(*class), "{text}");
            }
        }
    }
}
