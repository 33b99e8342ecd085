//! What was done in a session: how many messages it has, which tools were used, which files were touched.
//!
//! This needs the whole transcript. It is read the first time a list filters by it, and after that only what was appended.

use std::borrow::Cow;
use std::collections::BTreeSet;

use annals_transcript::content::Block;
use annals_transcript::entry::Flag;
use annals_transcript::{Entry, Kind, tool};
use memchr::memmem;

use super::project::with_upper_drive;
use crate::fold::Fold;

/// More roots of a file are not kept.
const MOST_ROOTS: usize = 1000;

/// What was done in a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Messages of the user and the model that are not a subagent's.
    pub(super) messages: u64,
    /// Names of tools that were called.
    pub(super) tools: BTreeSet<String>,
    /// Files that calls name.
    pub(super) files: BTreeSet<String>,
    /// The uuids of messages without a parent, and those that they were copied from. Copies of a conversation begin with one, so that
    /// sessions with the same entries have one in common.
    pub(super) roots: BTreeSet<String>,
}

impl Fold for Activity {
    const NAME: &'static str = "activity";
    const VERSION: i64 = 2;

    fn add(&mut self, entry: &Entry<'_>) {
        let is_message = entry.kind().is_prompt_or_reply();
        self.messages += u64::from(is_message && !entry.has(Flag::Sidechain));
        self.add_root(entry);
        if entry.kind() != Kind::Assistant || memmem::find(entry.bytes(), b"tool_use").is_none() {
            return;
        }
        for block in entry.content().blocks() {
            let Block::ToolUse(call) = block else { continue };
            self.tools.extend(call.name().map(String::from));
            self.files.extend(tool::files(&call));
        }
    }
}

impl Activity {
    /// Notes an entry with which a conversation begins.
    fn add_root(&mut self, entry: &Entry<'_>) {
        let head = entry.head();
        let is_root = head.kind.is_message() && head.parent.is_none() && !entry.has(Flag::Sidechain);
        // A damaged file may have a root in each line.
        if !is_root || self.roots.len() >= MOST_ROOTS {
            return;
        }
        self.roots.extend(head.id.map(|id| id.decode().into_owned()));
        if memmem::find(entry.bytes(), b"forkedFrom").is_some() {
            let from = entry.body().and_then(|body| body.get("forkedFrom"));
            self.roots.extend(from.and_then(|from| from.text("messageUuid")).map(Into::into));
        }
    }

    /// Takes over what a subagent did.
    pub(super) fn include(&mut self, agent: &Activity) {
        self.tools.extend(agent.tools.iter().cloned());
        self.files.extend(agent.files.iter().cloned());
    }

    /// Returns whether a tool was called, whatever the case of its name.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.eq_ignore_ascii_case(name))
    }

    /// Returns whether a file was touched, or one in a folder. A path from the root means that place; any other the end
    /// or a part of a longer one.
    pub(super) fn has_file(&self, wanted: &str, cwd: Option<&str>) -> bool {
        let filter = FileFilter::new(wanted);
        self.files.iter().any(|file| filter.matches(file, cwd))
    }
}

/// Selects files by a path: from the root, or the end or a part of a longer one.
#[derive(Debug)]
pub struct FileFilter {
    wanted: String,
    is_from_root: bool,
}

impl FileFilter {
    /// Takes a path, of this system or another.
    pub fn new(wanted: &str) -> Self {
        let wanted = plain(wanted).into_owned();
        Self { is_from_root: is_from_root(&wanted), wanted }
    }

    /// Returns whether a file is the wanted one, or in the wanted folder. A relative path belongs to `cwd`.
    pub fn matches(&self, file: &str, cwd: Option<&str>) -> bool {
        let file = plain(file);
        match cwd {
            Some(cwd) if !is_from_root(&file) => self.is_in(&format!("{}/{file}", plain(cwd))),
            _ => self.is_in(&file),
        }
    }

    /// Returns whether a plain path has the names of the wanted one: at its start if that is one from the root, anywhere otherwise.
    fn is_in(&self, file: &str) -> bool {
        let names = file.match_indices('/').map(|(slash, _)| slash + 1);
        let mut starts = std::iter::once(0).chain(names.filter(|_| !self.is_from_root));
        starts.any(|start| {
            let rest = file[start..].strip_prefix(&self.wanted);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Returns whether a path is the wanted one.
    pub(crate) fn is_path(&self, file: &str) -> bool {
        plain(file) == self.wanted
    }

    /// Returns whether a path is the wanted one, or ends with it.
    pub(crate) fn is_file(&self, file: &str) -> bool {
        let file = plain(file);
        file == self.wanted
            || (!self.is_from_root && format!("/{file}").ends_with(&format!("/{}", self.wanted)))
    }

    /// Returns the one spelling by which files are compared.
    pub(crate) fn into_key(self) -> String {
        self.wanted
    }
}

/// Returns a path as it is compared: slashes of one kind, none at the end, the letter of a drive in upper case.
pub(super) fn plain(path: &str) -> Cow<'_, str> {
    let is_plain = !path.contains('\\') && !path.ends_with('/') && path.starts_with('/');
    if is_plain {
        return Cow::Borrowed(path);
    }
    let mut path = path.replace('\\', "/");
    path.truncate(path.trim_end_matches('/').len());
    Cow::Owned(with_upper_drive(path.strip_prefix("./").unwrap_or(&path)))
}

/// Returns whether a path begins at the root of a system.
pub(crate) fn is_from_root(path: &str) -> bool {
    let path = path.replace('\\', "/");
    path.is_empty() || path.starts_with('/') || matches!(path.as_bytes(), [_, b':', b'/', ..] | [_, b':'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::{self, FileFold};

    #[test]
    fn files_are_found_by_place_by_end_and_by_folder() {
        let files = ["/srv/app/src/main.rs", r"c:\Work\App\lib.rs", "notes/todo.md", "/srv/天气/表.csv"];
        let activity =
            Activity { files: files.iter().map(ToString::to_string).collect(), ..Activity::default() };
        let cwd = Some("/srv/app");
        for (wanted, found) in [
            ("/srv/app/src/main.rs", true),
            ("/srv/app/src", true),
            ("/srv/app/src/", true),
            ("/src/main.rs", false),
            ("/srv/app/src/main", false),
            ("main.rs", true),
            ("./main.rs", true),
            ("src/main.rs", true),
            ("app/src", true),
            ("ain.rs", false),
            (r"C:\Work\App\lib.rs", true),
            ("c:/Work/App", true),
            (r"App\lib.rs", true),
            ("/srv/app/notes/todo.md", true),
            ("todo.md", true),
            ("天气", true),
            ("表.csv", true),
        ] {
            assert_eq!(activity.has_file(wanted, cwd), found, "{wanted}");
        }
        assert!(!activity.has_file("/srv/app/notes/todo.md", None));
    }

    #[test]
    fn a_conversation_begins_with_messages_that_have_no_parent() {
        let lines = [
            r#"{"type":"file-history-snapshot","messageId":"0"}"#,
            r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"content":"x"}}"#,
            r#"{"type":"assistant","uuid":"b","parentUuid":"a","message":{"content":[]}}"#,
            r#"{"type":"user","uuid":"s","parentUuid":null,"isSidechain":true,"message":{"content":"x"}}"#,
            r#"{"type":"system","subtype":"compact_boundary","uuid":"c","parentUuid":null,"logicalParentUuid":"b"}"#,
            r#"{"type":"user","uuid":"d","parentUuid":null,"forkedFrom":{"sessionId":"t","messageUuid":"e"}}"#,
        ];
        let mut activity = Activity::default();
        for line in lines {
            activity.add(&Entry::new(line.as_bytes()));
        }
        assert_eq!(activity.roots.into_iter().collect::<Vec<_>>(), ["a", "c", "d", "e"]);
    }

    #[test]
    fn reading_goes_on_where_it_ended() {
        let line = |name: &str| {
            format!(
                r#"{{"type":"assistant","uuid":"a","message":{{"content":[{{"type":"tool_use","id":"t","name":"{name}","input":{{"file_path":"/{name}"}}}}]}}}}"#
            )
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = format!("{}\n{}\n", line("Read"), line("Write"));
        let mut activity = FileFold::<Activity>::default();
        for end in [0, 7, line("Read").len() + 1, line("Read").len() + 20, text.len() - 1, text.len()] {
            std::fs::write(file.path(), &text[..end]).unwrap();
            fold::update(file.path(), &mut [&mut activity]).unwrap();
        }
        let mut at_once = FileFold::default();
        fold::update(file.path(), &mut [&mut at_once]).unwrap();
        assert_eq!(activity, at_once);
        assert_eq!(activity.state.messages, 2);
        assert_eq!(activity.state.files.into_iter().collect::<Vec<_>>(), ["/Read", "/Write"]);
    }
}
