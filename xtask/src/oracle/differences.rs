//! Where the lists of annals and of Claude Code's SDKs differ, and why annals is right.
//!
//! A difference is explained only if both answers are what its rule expects from a naive reading of the whole transcript.

use std::path::PathBuf;
use std::time::SystemTime;
use std::{fmt, fs};

use annals_transcript::Entry;
use serde_json::{Value as Json, json};

/// How many bytes of each end of a file the SDKs read.
const END: usize = 64 * 1024;

/// An SDK of Claude Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sdk {
    TypeScript,
    Python,
}

const BOTH: &[Sdk] = &[Sdk::TypeScript, Sdk::Python];

/// A known difference.
pub(crate) struct KnownDifference {
    /// What the SDK does, and why annals does not.
    pub(crate) name: &'static str,
    /// The fields that differ.
    pub(crate) fields: &'static [&'static str],
    /// The SDKs that differ.
    pub(crate) sdks: &'static [Sdk],
    /// Whether it occurs in transcripts that Claude Code itself wrote.
    pub(crate) by_claude_code: bool,
    /// Returns whether a field differs for this reason.
    pub(crate) explains: fn(&DifferingField<'_>) -> bool,
}

/// A field of a session that differs between annals and an SDK.
pub(crate) struct DifferingField<'a> {
    pub(crate) field: &'static str,
    pub(crate) transcript: &'a Transcript,
    pub(crate) ours: Json,
    pub(crate) theirs: Json,
    /// The session as annals lists it; null if it does not.
    pub(crate) listed: &'a Json,
}

/// A transcript, read whole and without annals.
pub(crate) struct Transcript {
    pub(crate) path: PathBuf,
    pub(crate) session: String,
    pub(crate) size: usize,
    /// The entries, each with its start and end; lines without an entry are left out.
    entries: Vec<(usize, usize, Json)>,
    /// Whether it is the most recently written transcript of the session, if there are several.
    pub(crate) is_newest: bool,
}

const TITLE: &[&str] = &["title", "given title"];
const PROMPT: &[&str] = &["title", "first prompt"];

pub(crate) const KNOWN: &[KnownDifference] = &[
    KnownDifference {
        name: "the last prompt stands for a title; the first says what a session is about, and stays",
        fields: &["title"],
        sdks: BOTH,
        by_claude_code: true,
        explains: |seen| {
            let last = seen.transcript.last("last-prompt", "lastPrompt");
            last.is_some() && seen.theirs.as_str() == last && seen.is_called_by_its_prompt()
        },
    },
    KnownDifference {
        name: "a summary of another session stands for a title; its leaf is not in this one",
        fields: &["title"],
        sdks: BOTH,
        by_claude_code: true,
        explains: |seen| {
            let summaries: Vec<_> = seen.transcript.of("summary").collect();
            let is_own = |summary: &&&Json| {
                seen.transcript
                    .entries()
                    .any(|entry| !entry["uuid"].is_null() && entry["uuid"] == summary["leafUuid"])
            };
            let own = summaries.iter().rfind(is_own).map(|summary| summary["summary"].clone());
            let last = summaries.last().filter(|summary| !is_own(summary));
            last.is_some_and(|last| last["summary"] == seen.theirs)
                && own.map_or(seen.is_called_by_its_prompt(), |own| own == seen.ours)
        },
    },
    KnownDifference {
        name: "a title is not seen that stands in neither 64 KiB at the ends",
        fields: TITLE,
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            let given = seen.transcript.in_the_middle("custom-title", "customTitle");
            let made = seen.transcript.in_the_middle("ai-title", "aiTitle");
            seen.has_no_title_of_theirs() && given.or(made).is_some_and(|title| seen.ours == title)
        },
    },
    KnownDifference {
        name: "a tag is not seen that stands before the last 64 KiB",
        fields: &["tag"],
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            let tag = seen.transcript.in_the_middle("tag", "tag");
            seen.theirs.is_null() && tag.is_some_and(|tag| seen.ours == tag)
        },
    },
    KnownDifference {
        name: "a title is not seen that stands in a file of its own, where Claude Code keeps it",
        fields: TITLE,
        sdks: &[Sdk::Python],
        by_claude_code: false,
        explains: |seen| {
            let beside = fs::read(seen.transcript.path.with_extension("").join("custom-title.json"));
            let beside: Option<Json> = beside.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            seen.has_no_title_of_theirs() && beside.is_some_and(|title| title["customTitle"] == seen.ours)
        },
    },
    KnownDifference {
        name: "the name of the agent does not count; a user gave it to the session",
        fields: TITLE,
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            let made = seen.transcript.last("ai-title", "aiTitle");
            seen.ours.as_str() == seen.transcript.last("agent-name", "agentName")
                && seen.transcript.of("custom-title").next().is_none()
                && (seen.theirs.as_str() == made || seen.has_no_title_of_theirs())
        },
    },
    KnownDifference {
        name: "a key deep in a call counts as if it were one of the entry",
        fields: TITLE,
        sdks: &[Sdk::Python],
        by_claude_code: false,
        explains: |seen| {
            let is_one =
                seen.transcript.of("custom-title").any(|record| record["customTitle"] == seen.theirs);
            let ours_is_right = seen.field == "given title" && seen.ours.is_null()
                || seen.field == "title" && seen.is_called_by_its_prompt();
            !is_one && seen.transcript.has_deep("customTitle", &seen.theirs) && ours_is_right
        },
    },
    KnownDifference {
        name: "a branch deep in a call counts as if it were one of the entry",
        fields: &["branch"],
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            seen.transcript.has_deep("gitBranch", &seen.theirs)
                && seen.ours.as_str() == seen.transcript.texts("gitBranch").last()
        },
    },
    KnownDifference {
        name: "prompts are put on one line and cut after 200 characters; how much is shown is for who shows it",
        fields: PROMPT,
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            let (ours, theirs) =
                (seen.ours.as_str().unwrap_or_default(), seen.theirs.as_str().unwrap_or_default());
            let ours = ours.replace('\n', " ");
            let cut = theirs.strip_suffix('…');
            ours == theirs || cut.is_some_and(|cut| cut.chars().count() >= 100 && ours.starts_with(cut))
        },
    },
    KnownDifference {
        name: "a slash command stands for the first prompt where there is none; its name says nothing of the session, which annals calls by its first reply",
        fields: PROMPT,
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            let named = format!("<command-name>{}</command-name>", seen.theirs.as_str().unwrap_or_default());
            let mut texts = seen.transcript.user_texts();
            let is_reply = seen.field == "title" && seen.listed["titleSource"] == "reply";
            (seen.ours.is_null() || is_reply) && texts.all(|text| text.contains(&named))
        },
    },
    KnownDifference {
        name: "a shell command of bash mode stands for the first prompt",
        fields: PROMPT,
        sdks: &[Sdk::TypeScript],
        by_claude_code: false,
        explains: |seen| {
            let command = seen.theirs.as_str().and_then(|theirs| theirs.strip_prefix("! "));
            let wrapped = command.map(|command| format!("<bash-input>{command}</bash-input>"));
            wrapped == seen.transcript.user_texts().next() && seen.is_first_without_tags()
        },
    },
    KnownDifference {
        name: "what Claude Code wraps in tags stands for the first prompt, tags and all",
        fields: PROMPT,
        sdks: &[Sdk::Python],
        by_claude_code: false,
        explains: |seen| {
            let first = seen.transcript.user_texts().next().map(|text| text.replace('\n', " "));
            let ours = seen.ours.as_str().unwrap_or_default();
            let is_behind = first.as_ref().is_some_and(|first| first.ends_with(&format!("> {ours}")));
            seen.theirs.as_str().is_some_and(|theirs| theirs.starts_with('<'))
                && seen.theirs.as_str() == first.as_deref()
                && (is_behind || seen.is_first_without_tags())
        },
    },
    KnownDifference {
        name: "what an old version of Claude Code carried over from another session stands for the first prompt",
        fields: PROMPT,
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            let mut texts = seen.transcript.user_texts();
            texts.next().is_some_and(|first| {
                first.starts_with("This session is being continued") && seen.theirs == first
            }) && texts.next().is_some_and(|second| seen.ours == second)
        },
    },
    KnownDifference {
        name: "the time in a snapshot counts as the beginning; a snapshot is not said, and may be of later",
        fields: &["created"],
        sdks: BOTH,
        by_claude_code: true,
        explains: |seen| {
            let mut snapshots = seen.transcript.of("file-history-snapshot");
            snapshots.any(|entry| entry["snapshot"]["timestamp"] == seen.theirs)
                && seen.ours.as_str() == seen.transcript.texts("timestamp").min()
        },
    },
    KnownDifference {
        name: "the first line's time counts as the beginning; hooks and copied messages stand below with earlier ones",
        fields: &["created"],
        sdks: BOTH,
        by_claude_code: true,
        explains: |seen| {
            seen.theirs.as_str() == seen.transcript.texts("timestamp").next()
                && seen.ours.as_str() == seen.transcript.texts("timestamp").min()
        },
    },
    KnownDifference {
        name: "the file's time counts as the session's; copying and restoring change it",
        fields: &["updated"],
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            let written = seen.transcript.modified().zip(seen.theirs.as_str().and_then(moment));
            written
                .is_some_and(|(file, said)| file.duration_since(said).is_ok_and(|rest| rest.as_millis() == 0))
                && seen.ours.as_str() == seen.transcript.last_time()
        },
    },
    KnownDifference {
        name: "the folder that a session was moved to does not count",
        fields: &["cwd"],
        sdks: &[Sdk::Python],
        by_claude_code: false,
        explains: |seen| {
            seen.ours.as_str() == seen.transcript.last("relocated", "relocatedCwd")
                && seen.theirs.as_str() == seen.transcript.texts("cwd").next()
        },
    },
    KnownDifference {
        name: "a branch of earlier counts where the last entry is on none",
        fields: &["branch"],
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            seen.ours.is_null()
                && seen.transcript.texts("gitBranch").last() == Some("")
                && seen.transcript.texts("gitBranch").any(|branch| seen.theirs == branch)
        },
    },
    KnownDifference {
        name: "files without a message are listed if they hold a title or a prompt; there is nothing to resume",
        fields: &["listed"],
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| seen.ours == false && !seen.transcript.has_conversation(),
    },
    KnownDifference {
        name: "a session is left out if its first line is a subagent's; a conversation follows",
        fields: &["listed"],
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            let first = seen.transcript.entries().next();
            seen.has_our_conversation() && first.is_some_and(|first| first["isSidechain"] == true)
        },
    },
    KnownDifference {
        name: "a session is left out if its first prompt is not within 64 KiB",
        fields: &["listed"],
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            let prompt = seen.listed["firstPrompt"].as_str().unwrap_or_default();
            let mut near = seen.transcript.entries.iter().filter(|(_, end, _)| *end < END);
            let is_prompt = |entry: &Json| user_texts(entry).iter().any(|text| text.starts_with(prompt));
            seen.has_our_conversation()
                && !prompt.is_empty()
                && !near.any(|(.., entry)| is_prompt(entry))
                && seen.transcript.entries().any(is_prompt)
        },
    },
    KnownDifference {
        name: "a session is left out if nobody said a word; there are messages, and they can be resumed",
        fields: &["listed"],
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            let mut said = seen.transcript.user_texts();
            seen.has_our_conversation()
                && seen.listed["firstPrompt"].is_null()
                && said.all(|text| text.starts_with("[Request interrupted by user"))
        },
    },
    KnownDifference {
        name: "a session is left out if all that was said was queued",
        fields: &["listed"],
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| {
            let mut queued = seen.transcript.of("attachment").map(|entry| &entry["attachment"]["prompt"]);
            let mut said = seen.transcript.user_texts();
            seen.has_our_conversation()
                && said.next().is_none()
                && queued.any(|prompt| *prompt == seen.listed["firstPrompt"])
        },
    },
    KnownDifference {
        name: "a session is left out if its prompt begins with a tag; a person wrote the rest of it",
        fields: &["listed"],
        sdks: &[Sdk::TypeScript],
        by_claude_code: false,
        explains: |seen| {
            let said = seen.transcript.user_texts().next().unwrap_or_default();
            let ours = seen.listed["firstPrompt"].as_str().unwrap_or_default();
            seen.has_our_conversation() && said.starts_with('<') && !ours.is_empty() && said.ends_with(ours)
        },
    },
    KnownDifference {
        name: "of two files of a session only the newer is listed; each may hold what the other lacks",
        fields: &["listed"],
        sdks: BOTH,
        by_claude_code: false,
        explains: |seen| seen.has_our_conversation() && !seen.transcript.is_newest,
    },
];

impl fmt::Display for DifferingField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |value: &Json| value.to_string().chars().take(100).collect::<String>();
        let (session, field) = (&self.transcript.session, self.field);
        write!(f, "{session}, {field}: annals {}, the SDK {}", short(&self.ours), short(&self.theirs))
    }
}

impl DifferingField<'_> {
    /// Returns whether annals names the session by its first prompt, as no title is given.
    fn is_called_by_its_prompt(&self) -> bool {
        let is_title = |kind: &str| matches!(kind, "custom-title" | "ai-title" | "agent-name");
        let mut kinds = self.transcript.entries().filter_map(|entry| entry["type"].as_str());
        !kinds.any(is_title)
            && self.ours == self.listed["firstPrompt"]
            && self.listed["titleSource"] == "prompt"
    }

    /// Returns whether the SDK knows of no title, and shows a prompt.
    fn has_no_title_of_theirs(&self) -> bool {
        self.theirs.is_null() || self.field == "title" && self.theirs == self.listed["firstPrompt"]
    }

    /// Returns whether what annals takes for the first prompt is the first text without tags around it.
    fn is_first_without_tags(&self) -> bool {
        let mut texts = self.transcript.user_texts().filter(|text| !text.starts_with('<'));
        texts.next().is_some_and(|text| self.ours == text)
    }

    /// Returns whether annals lists a conversation that the SDK leaves out.
    fn has_our_conversation(&self) -> bool {
        self.ours == true && self.transcript.has_conversation()
    }
}

impl Transcript {
    pub(crate) fn read(path: PathBuf) -> std::io::Result<Self> {
        let session = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path)?;
        let (mut entries, mut end) = (Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            let start = end;
            end += line.len();
            entries.extend(serde_json::from_str(line).ok().map(|entry| (start, end, entry)));
        }
        Ok(Self { path, session, size: text.len(), entries, is_newest: true })
    }

    /// Returns the latest time of an entry; all are spelled alike.
    pub(crate) fn last_time(&self) -> Option<&str> {
        self.texts("timestamp").max()
    }

    /// Returns when the file was written.
    pub(crate) fn modified(&self) -> Option<SystemTime> {
        fs::metadata(&self.path).and_then(|metadata| metadata.modified()).ok()
    }

    fn entries(&self) -> impl Iterator<Item = &Json> {
        self.entries.iter().map(|(.., entry)| entry)
    }

    /// Returns the entries of a type.
    fn of(&self, kind: &str) -> impl Iterator<Item = &Json> {
        self.entries().filter(move |entry| entry["type"] == kind)
    }

    /// Returns what the last record of a type holds.
    fn last(&self, kind: &str, key: &str) -> Option<&str> {
        self.of(kind).filter_map(|record| record[key].as_str()).last()
    }

    /// Returns what the last record of a type holds, if it stands at neither end.
    fn in_the_middle(&self, kind: &str, key: &str) -> Option<&str> {
        let (start, end, record) = self.entries.iter().rfind(|(.., entry)| entry["type"] == kind)?;
        if *start < END || *end > self.size.saturating_sub(END) { None } else { record[key].as_str() }
    }

    /// Returns the texts that entries have under a key.
    fn texts(&self, key: &str) -> impl Iterator<Item = &str> {
        self.entries().filter_map(move |entry| entry[key].as_str())
    }

    /// Returns the texts of the user's messages in the main conversation.
    fn user_texts(&self) -> impl Iterator<Item = String> {
        self.entries().flat_map(user_texts)
    }

    fn has_conversation(&self) -> bool {
        let is_message = |entry: &Json| matches!(entry["type"].as_str(), Some("user" | "assistant"));
        self.entries().any(|entry| is_message(entry) && entry["isSidechain"] != true)
    }

    /// Returns whether a key holds a value somewhere inside of a message.
    fn has_deep(&self, key: &str, value: &Json) -> bool {
        fn has(json: &Json, key: &str, value: &Json) -> bool {
            match json {
                Json::Object(members) => {
                    members.get(key) == Some(value) || members.values().any(|member| has(member, key, value))
                }
                Json::Array(elements) => elements.iter().any(|element| has(element, key, value)),
                _ => false,
            }
        }
        self.entries().any(|entry| has(&entry["message"], key, value))
    }
}

/// Returns the timestamp of a time in either spelling.
pub(crate) fn moment(time: &str) -> Option<SystemTime> {
    let entry = json!({"type": "user", "timestamp": time}).to_string();
    Entry::new(entry.as_bytes()).head().time().map(SystemTime::from)
}

/// Returns the texts of an entry, if it is a user's: not a subagent's, and not added by Claude Code.
fn user_texts(entry: &Json) -> Vec<String> {
    let is_other = entry["type"] != "user" || entry["isSidechain"] == true || entry["isMeta"] == true;
    match &entry["message"]["content"] {
        _ if is_other => Vec::new(),
        Json::String(text) => vec![text.clone()],
        Json::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}
