//! Messages that Claude Code writes in place of a tool's output when the call was denied, interrupted or cancelled.
//!
//! Since 2.1.205 most entries say so in a field (`toolDenialKind`). Older ones only have the message.

use super::State;

/// A message in place of a tool's output.
#[derive(Debug)]
struct Message {
    /// How the text of the result begins.
    begins: &'static str,
    /// What follows the beginning.
    rest: Rest,
    /// How the call ended.
    state: State,
    /// A version of Claude Code that wrote it. Tests and `docs/FORMAT.md` use it; a message counts whatever the version of
    /// its entry is.
    #[cfg_attr(not(test), expect(dead_code, reason = "it says where the message comes from"))]
    version: &'static str,
}

/// What follows the beginning of a message.
#[derive(Debug)]
enum Rest {
    /// Anything: advice to the model, or the words of the user.
    Anything,
    /// Nothing but a full stop. The beginning is so short that a tool could write it too.
    Nothing,
    /// A text that contains this phrase.
    With(&'static str),
    /// The name of a tool and this phrase; the arguments of the call may be between them.
    ToolAnd(&'static str),
}

/// All messages that are known. They count in a result with `is_error`, and only at its beginning: files and commands may quote
/// them.
const MESSAGES: &[Message] = &[
    Message {
        begins: "The user doesn't want to proceed with this tool use",
        rest: Rest::Anything,
        state: State::Denied,
        version: "1.0.17",
    },
    Message {
        begins: "The user doesn't want to take this action right now",
        rest: Rest::Anything,
        state: State::Denied,
        version: "2.0.42",
    },
    Message {
        begins: "Claude requested permissions to ",
        rest: Rest::Anything,
        state: State::Denied,
        version: "1.0.98",
    },
    Message {
        begins: "Permission to use ",
        rest: Rest::ToolAnd(" has been denied"),
        state: State::Denied,
        version: "2.1.4",
    },
    Message {
        begins: "User chose to stay in plan mode",
        rest: Rest::Anything,
        state: State::Denied,
        version: "2.1.11",
    },
    Message {
        begins: "User rejected tool use",
        rest: Rest::Anything,
        state: State::Denied,
        version: "2.1.101",
    },
    Message {
        begins: "Permission for this action was denied by the Claude Code auto mode classifier",
        rest: Rest::Anything,
        state: State::Denied,
        version: "2.1.150",
    },
    Message {
        begins: "[Request interrupted by user",
        rest: Rest::Anything,
        state: State::Interrupted,
        version: "2.1.12",
    },
    Message {
        begins: "Interrupted by user",
        rest: Rest::Nothing,
        state: State::Interrupted,
        version: "2.1.45",
    },
    Message {
        begins: "[Tool call interrupted",
        rest: Rest::Anything,
        state: State::Interrupted,
        version: "2.1.325",
    },
    Message {
        begins: "Sibling tool call errored",
        rest: Rest::Nothing,
        state: State::Cancelled,
        version: "2.1.29",
    },
    Message {
        begins: "Cancelled: parallel tool call ",
        rest: Rest::With(" errored"),
        state: State::Cancelled,
        version: "2.1.156",
    },
];

impl Message {
    fn is(&self, text: &str) -> bool {
        let Some(rest) = text.strip_prefix(self.begins) else { return false };
        match self.rest {
            Rest::Anything => true,
            Rest::Nothing => matches!(rest.trim_end(), "" | "."),
            Rest::With(phrase) => rest.contains(phrase),
            Rest::ToolAnd(phrase) => {
                let behind = rest.trim_start_matches(|character: char| !character.is_whitespace());
                behind.len() < rest.len()
                    && (behind.starts_with(phrase) || behind.starts_with(" with ") && behind.contains(phrase))
            }
        }
    }
}

/// Returns how a call ended whose result reports an error with this text; `None` if the text is the tool's own.
pub(super) fn state_of(text: &str) -> Option<State> {
    let text = without_wrappers(text);
    MESSAGES.iter().find(|message| message.is(text)).map(|message| message.state)
}

/// Removes what Claude Code puts around the messages of errors.
fn without_wrappers(text: &str) -> &str {
    let text = text.trim_start();
    let text = text.strip_prefix("<tool_use_error>").unwrap_or(text);
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    text.strip_suffix("</tool_use_error>").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    impl Message {
        /// Returns a text that is this message.
        fn example(&self) -> String {
            match self.rest {
                Rest::Anything | Rest::Nothing => self.begins.to_owned(),
                Rest::With(phrase) => format!("{}{phrase}", self.begins),
                Rest::ToolAnd(phrase) => format!("{}Bash{phrase}", self.begins),
            }
        }
    }

    #[test]
    fn a_message_is_recognised_at_the_beginning_only() {
        for message in MESSAGES {
            let text = message.example();
            for wrapped in [
                text.clone(),
                format!("Error: {text}"),
                format!("<tool_use_error>{text}</tool_use_error>"),
                format!("<tool_use_error>Error: {text}</tool_use_error>"),
            ] {
                assert_eq!(state_of(&wrapped), Some(message.state), "{wrapped}");
            }
            for quoted in [format!("Exit code 1\n{text}"), format!("notes.md: {text}"), format!("\"{text}\"")]
            {
                assert_eq!(state_of(&quoted), None, "{quoted}");
            }
        }
    }

    #[test]
    fn more_text_follows_only_where_claude_code_writes_some() {
        for (text, state) in [
            (
                "The user doesn't want to proceed with this tool use. The tool use was rejected.",
                Some(State::Denied),
            ),
            ("Permission to use Bash with command ls\n-a has been denied.", Some(State::Denied)),
            ("Permission to use mcp__tea__brew has been denied.", Some(State::Denied)),
            ("Permission to use the kettle", None),
            ("Permission to use port 80:\nmany lines\naccess has been denied", None),
            ("Permission to use port 80 has been denied", None),
            (
                "Claude requested permissions to read from /tea, but you haven't granted it yet.",
                Some(State::Denied),
            ),
            ("Claude requested permissions page returned 403", None),
            ("Permission for this action was denied\nls: cannot open", None),
            ("Interrupted by user.", Some(State::Interrupted)),
            ("Interrupted by user signal 2, 14 tests ran", None),
            ("Sibling tool call errored\n", Some(State::Cancelled)),
            ("Sibling tool call errored in 3 of 9 runs", None),
            ("Cancelled: parallel tool call Bash(make tea) errored", Some(State::Cancelled)),
            ("Cancelled: parallel tool call", None),
            ("", None),
        ] {
            assert_eq!(state_of(text), state, "{text}");
        }
    }

    #[test]
    fn the_corpus_shows_every_message_with_its_version() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
        for message in MESSAGES {
            let case = corpus.join(format!("item-{}-calls/session.jsonl", message.state.name()));
            let lines = std::fs::read_to_string(&case).unwrap();
            let version = format!("\"version\":\"{}\"", message.version);
            let is_shown = |line: &str| line.contains(message.begins) && line.contains(&version);
            assert!(lines.lines().any(is_shown), "{message:?} is not in {}", case.display());
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_before_a_message_lets_it_count(before in "[a-z0-9$/#(]{1,12}[ :\n]{1,2}", message in 0..MESSAGES.len()) {
            proptest::prop_assert_eq!(state_of(&format!("{before}{}", MESSAGES[message].example())), None);
        }

        #[test]
        fn a_text_without_a_message_is_the_tools_own(
            text in "(Error: |<tool_use_error>|</tool_use_error>|Permission to use |.|\n){0,20}",
        ) {
            let has_message = MESSAGES.iter().any(|message| text.contains(message.begins));
            proptest::prop_assert!(has_message || state_of(&text).is_none());
        }
    }
}
