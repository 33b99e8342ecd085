//! Counts over the entries of a transcript.

use std::collections::{BTreeMap, HashMap, HashSet};

use annals_transcript::content::{Block, Content};
use annals_transcript::entry::view::Assistant;
use annals_transcript::json::{JsonStr, Value};
use annals_transcript::tool;
use annals_transcript::turn::Tokens;
use annals_transcript::{Entry, Kind};
use jiff::Timestamp;
use memchr::memmem;

use crate::context::ContextLevel;
use crate::fold::Fold;
use crate::insight;
use crate::usage::TokenCount;

/// Counts over the entries of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Lines of the file.
    pub lines: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Entries by `type`; entries without a type are under `(none)`.
    pub types: BTreeMap<String, u64>,
    /// Entries with a subtype, by `type:subtype`.
    pub subtypes: BTreeMap<String, u64>,
    /// Content blocks of messages by `type`; content that is a plain string has no blocks.
    pub blocks: BTreeMap<String, u64>,
    /// Versions of Claude Code, in the order of their first entries.
    pub versions: Vec<String>,
    /// Replies by model; a reply of several lines counts once.
    pub models: BTreeMap<String, u64>,
    /// The earliest time.
    pub first_at: Option<Timestamp>,
    /// The latest time.
    pub last_at: Option<Timestamp>,
    /// Calls by tool.
    pub tools: BTreeMap<String, ToolCount>,
    /// Turns of the conversation.
    pub turns: u64,
    /// Compactions.
    pub compactions: u64,
    /// Branches: parts of the conversation that were abandoned.
    pub branches: u64,
    /// Subagents whose messages are in the session's own file, as old versions of Claude Code wrote them.
    pub inline_subagents: u64,
    /// Entries whose parent is not in the file.
    pub gaps: u64,
    /// What is wrong with its lines; `Engine::check` finds more.
    pub problems: u64,
    /// The time that the turns took together.
    pub active_ms: u64,
    /// Files that calls changed.
    pub changed_files: u64,
    /// Lines that these calls added.
    pub lines_added: u64,
    /// Lines that these calls removed.
    pub lines_removed: u64,
    /// Pauses of half an hour or longer before a turn.
    pub idle_pauses: u64,
    /// How full the context is.
    pub context: ContextLevel,
    /// The tokens of all replies, of branches too, as `usage` counts those of one transcript.
    pub usage: Tokens,
    calls: BTreeMap<String, String>,
    failed_calls: HashSet<String>,
    edits: Edits,
    reply_ids: HashSet<String>,
    tokens: TokenCount,
}

/// Calls of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCount {
    /// How often it was called.
    pub calls: u64,
    /// How many of the calls failed.
    pub errors: u64,
}

/// Calls that change files, until all results are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Edits {
    /// The file that each call changes, by the id of the call.
    files: HashMap<String, String>,
    /// Lines that were added and removed, by the id of the call.
    lines: HashMap<String, (u64, u64)>,
    /// Calls that did not fail.
    done: HashSet<String>,
}

/// Not stored: `report.rs` reads the whole file and adds what the conversation tells, and `finish` counts the calls.
impl Fold for Stats {
    const NAME: &'static str = "stats";
    const VERSION: i64 = 1;

    fn add(&mut self, entry: &Entry<'_>) {
        Stats::add(self, entry);
    }
}

impl Stats {
    /// Counts an entry.
    pub fn add(&mut self, entry: &Entry<'_>) {
        self.lines = entry.last_line();
        self.bytes += entry.bytes().len() as u64;
        if entry.kind() == Kind::Noise {
            return;
        }
        let head = entry.head();
        let name = head.type_name.map_or("(none)".into(), JsonStr::decode);
        if let Some(subtype) = head.subtype {
            count(&mut self.subtypes, &format!("{name}:{}", subtype.decode()));
        }
        self.compactions += u64::from(head.is_boundary());
        count(&mut self.types, &name);
        if let Some(time) = head.time() {
            self.first_at = Some(self.first_at.map_or(time, |first| first.min(time)));
            self.last_at = Some(self.last_at.map_or(time, |last| last.max(time)));
        }
        if head.kind.joins_chain() {
            self.add_version(entry);
        }
        self.tokens.add(entry);
        if let Some(reply) = entry.view::<Assistant>() {
            self.add_reply(entry, &reply);
        }
        if head.kind.is_prompt_or_reply() {
            self.add_content(entry.content());
        }
        if head.kind == Kind::User && memmem::find(entry.bytes(), b"structuredPatch").is_some() {
            self.edits.lines.extend(insight::changed_lines_of(entry));
        }
    }

    /// Returns the time from the earliest to the latest time.
    pub fn duration_ms(&self) -> Option<u64> {
        let (first, last) = self.first_at.zip(self.last_at)?;
        u64::try_from(last.as_millisecond() - first.as_millisecond()).ok()
    }

    /// Counts calls, failed calls and tokens. Call it once, after all entries were added: a result may come before its call.
    pub fn finish(&mut self) {
        for (id, name) in std::mem::take(&mut self.calls) {
            let tool = self.tools.entry(name).or_default();
            tool.calls += 1;
            tool.errors += u64::from(self.failed_calls.remove(&id));
        }
        if !self.failed_calls.is_empty() {
            // These are failed results of calls that are not in the file.
            self.tools.entry("(none)".to_owned()).or_default().errors += self.failed_calls.len() as u64;
            self.failed_calls.clear();
        }
        let Edits { files, lines, done } = std::mem::take(&mut self.edits);
        let done: Vec<_> = files.iter().filter(|(id, _)| done.contains(*id)).collect();
        self.changed_files += done.iter().map(|(_, path)| path).collect::<HashSet<_>>().len() as u64;
        for (added, removed) in done.iter().filter_map(|(id, _)| lines.get(*id)) {
            self.lines_added += added;
            self.lines_removed += removed;
        }
        self.usage.add(std::mem::take(&mut self.tokens).total());
        self.reply_ids.clear();
    }

    /// Adds the counts of another transcript.
    pub fn merge(&mut self, other: &Stats) {
        self.lines += other.lines;
        self.bytes += other.bytes;
        self.turns += other.turns;
        self.compactions += other.compactions;
        self.branches += other.branches;
        self.inline_subagents += other.inline_subagents;
        self.gaps += other.gaps;
        self.problems += other.problems;
        self.active_ms += other.active_ms;
        self.changed_files += other.changed_files;
        self.lines_added += other.lines_added;
        self.lines_removed += other.lines_removed;
        self.idle_pauses += other.idle_pauses;
        self.usage.add(other.usage);
        for (mine, theirs) in [
            (&mut self.types, &other.types),
            (&mut self.subtypes, &other.subtypes),
            (&mut self.blocks, &other.blocks),
            (&mut self.models, &other.models),
        ] {
            for (name, number) in theirs {
                *mine.entry(name.clone()).or_default() += number;
            }
        }
        for (name, theirs) in &other.tools {
            let tool = self.tools.entry(name.clone()).or_default();
            tool.calls += theirs.calls;
            tool.errors += theirs.errors;
        }
        for version in &other.versions {
            if !self.versions.contains(version) {
                self.versions.push(version.clone());
            }
        }
        self.first_at = [self.first_at, other.first_at].into_iter().flatten().min();
        self.last_at = self.last_at.max(other.last_at);
    }

    fn add_version(&mut self, entry: &Entry<'_>) {
        let Some(version) = entry.head().version.map(JsonStr::decode) else { return };
        if self.versions.last().is_none_or(|last| *last != version)
            && !self.versions.iter().any(|seen| *seen == version)
        {
            self.versions.push(version.into_owned());
        }
    }

    fn add_reply(&mut self, entry: &Entry<'_>, reply: &Assistant<'_>) {
        let fields = reply.message_fields();
        let id = entry.head().message_id.map(|id| annals_usage::original_message(&id.decode()).to_owned());
        let is_new = id.is_none_or(|id| self.reply_ids.insert(id));
        if let Some(model) = fields.model.filter(|_| is_new) {
            count(&mut self.models, &model);
        }
    }

    fn add_content(&mut self, content: Content<'_>) {
        if !content.value().is_some_and(Value::is_array) {
            return;
        }
        for block in content.blocks() {
            count(&mut self.blocks, &block.type_name().unwrap_or("(none)".into()));
            match block {
                Block::ToolUse(call) | Block::ServerToolUse(call) => {
                    if let Some((id, file)) = call.id().zip(tool::changed_file(&call)) {
                        self.edits.files.insert(id.into_owned(), file);
                    }
                    let name = call.name().unwrap_or("(none)".into()).into_owned();
                    match call.id() {
                        Some(id) => _ = self.calls.insert(id.into_owned(), name),
                        None => self.tools.entry(name).or_default().calls += 1,
                    }
                }
                Block::ToolResult(result) if result.is_error() => {
                    self.failed_calls.extend(result.tool_use_id().map(std::borrow::Cow::into_owned));
                }
                Block::ToolResult(result) => {
                    let edit = result.tool_use_id().filter(|id| self.edits.files.contains_key(&**id));
                    self.edits.done.extend(edit.map(std::borrow::Cow::into_owned));
                }
                Block::ServerToolResult(result) if tool::server_call_failed(&result) => {
                    self.failed_calls.extend(result.tool_use_id().map(std::borrow::Cow::into_owned));
                }
                _ => {}
            }
        }
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(number) => *number += 1,
        None => _ = counts.insert(name.to_owned(), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(lines: &[&str]) -> Stats {
        let mut stats = Stats::default();
        for line in lines {
            stats.add(&Entry::new(line.as_bytes()));
        }
        stats.finish();
        stats
    }

    #[test]
    fn calls_are_paired_with_results_wherever_they_stand() {
        let result = |id, error| {
            format!(
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","is_error":{error}}}]}}}}"#
            )
        };
        let call = |id, name| {
            format!(
                r#"{{"type":"assistant","message":{{"id":"m","model":"x","content":[{{"type":"tool_use","id":"{id}","name":"{name}"}}]}}}}"#
            )
        };
        let orphan = stats(&[&result("9", true)]);
        assert_eq!(orphan.tools["(none)"], ToolCount { calls: 0, errors: 1 });
        let found = stats(&[
            &result("1", true),
            &call("1", "Bash"),
            &call("2", "Bash"),
            &call("3", "Read"),
            &result("2", false),
        ]);
        assert_eq!(found.tools["Bash"], ToolCount { calls: 2, errors: 1 });
        assert_eq!(found.tools["Read"], ToolCount { calls: 1, errors: 0 });
        assert_eq!(found.models, BTreeMap::from([("x".to_owned(), 1)]));
        assert_eq!(found.blocks, BTreeMap::from([("tool_result".to_owned(), 2), ("tool_use".to_owned(), 3)]));
    }

    #[test]
    fn a_reply_that_a_repair_copied_counts_once() {
        let reply = |id: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"id":"{id}","model":"x","content":[],"usage":{{"output_tokens":7}}}}}}"#
            )
        };
        let found = stats(&[&reply("m1"), &reply("m1_copy"), &reply("m2")]);
        assert_eq!((found.models["x"], found.usage.output), (2, 14));
    }

    #[test]
    fn calls_of_tools_on_the_server_are_counted_with_their_errors() {
        let found = stats(&[
            r#"{"type":"assistant","message":{"content":[{"type":"server_tool_use","id":"s1","name":"web_search"},{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"server_tool_use","id":"s2","name":"web_search"},{"type":"web_search_tool_result","tool_use_id":"s2","content":{"type":"web_search_tool_result_error"}}]}}"#,
        ]);
        assert_eq!(found.tools["web_search"], ToolCount { calls: 2, errors: 1 });
    }

    #[test]
    fn edits_that_did_not_fail_count_with_their_files_and_lines() {
        let call = |id: &str, name: &str, file: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{{"file_path":"{file}"}}}}]}}}}"#
            )
        };
        let result = |id: &str, is_error: bool, output: &str| {
            format!(
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","is_error":{is_error},"content":"x"}}]}},"toolUseResult":{output}}}"#
            )
        };
        let patch = r#"{"structuredPatch":[{"lines":[" a","-b","+c","+d"]}]}"#;
        let found = stats(&[
            &call("1", "Edit", "/a"),
            &result("1", false, patch),
            // A repair appends lines once more.
            &call("1", "Edit", "/a"),
            &result("1", false, patch),
            &call("2", "MultiEdit", "/a"),
            &result("2", false, patch),
            &call("3", "Write", "/天气"),
            &result("3", false, r#"{"type":"create","content":"x\ny\n","structuredPatch":[]}"#),
            &call("4", "Edit", "/failed"),
            &result("4", true, patch),
            &call("5", "Edit", "/never answered"),
            &call("6", "Read", "/read"),
            &result("6", false, "{}"),
        ]);
        assert_eq!((found.changed_files, found.lines_added, found.lines_removed), (2, 6, 2));
        let mut all = found.clone();
        all.merge(&found);
        assert_eq!((all.changed_files, all.lines_added, all.lines_removed), (4, 12, 4));
    }

    #[test]
    fn types_subtypes_versions_and_times_are_counted() {
        let found = stats(&[
            r#"{"type":"system","subtype":"compact_boundary","version":"2.1.0","timestamp":"2026-01-02T00:00:00Z"}"#,
            r#"{"type":"user","version":"2.0.0","timestamp":"2026-01-01T00:00:00Z","message":{"content":"plain"}}"#,
            r#"{"type":"user","version":"2.1.0"}"#,
            r#"{"type":"unheard-of"}"#,
            "{}",
            "noise",
        ]);
        let types: Vec<_> = found.types.iter().map(|(name, number)| (name.as_str(), *number)).collect();
        assert_eq!(types, [("(none)", 1), ("system", 1), ("unheard-of", 1), ("user", 2)]);
        assert_eq!(found.subtypes, BTreeMap::from([("system:compact_boundary".to_owned(), 1)]));
        assert_eq!((found.versions, found.compactions), (vec!["2.1.0".to_owned(), "2.0.0".to_owned()], 1));
        assert_eq!(found.first_at.unwrap().to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(found.last_at.unwrap().to_string(), "2026-01-02T00:00:00Z");
        assert_eq!(found.blocks, BTreeMap::new());
    }

    #[test]
    fn tokens_count_once_per_reply_with_its_largest_numbers() {
        let reply = |id: &str, output: u64| {
            format!(
                r#"{{"type":"assistant","message":{{{id}"usage":{{"input_tokens":1,"output_tokens":{output},"cache_creation_input_tokens":2,"cache_read_input_tokens":3}}}}}}"#
            )
        };
        let (one, two) = (r#""id":"m1","#, r#""id":"m2","#);
        let found = stats(&[
            &reply(one, 5),
            &reply(two, 7),
            &reply(one, 9),
            &reply("", 11).replacen('{', r#"{"uuid":"u1","#, 1),
            &reply("", 13).replacen('{', r#"{"uuid":"u2","#, 1),
            r#"{"type":"assistant","message":{"id":"m3"}}"#,
        ]);
        let usage = found.usage;
        assert_eq!(
            (usage.input, usage.output, usage.cache_creation, usage.cache_read),
            (4, 9 + 7 + 11 + 13, 8, 12)
        );
        let mut all = found.clone();
        all.merge(&found);
        assert_eq!(all.usage.output, 80);
    }

    #[test]
    fn the_duration_is_that_between_the_earliest_and_the_latest_time() {
        let found = stats(&[
            r#"{"type":"user","timestamp":"2026-01-01T00:01:00.500Z"}"#,
            r#"{"type":"user","timestamp":"2026-01-01T00:00:00Z"}"#,
            r#"{"type":"user"}"#,
        ]);
        assert_eq!(found.duration_ms(), Some(60_500));
        assert_eq!(stats(&[r#"{"type":"user"}"#]).duration_ms(), None);
    }

    #[test]
    fn merging_adds_up() {
        let one = stats(&[r#"{"type":"user","timestamp":"2026-01-01T00:00:00Z"}"#]);
        let two = stats(&[r#"{"type":"user","version":"2"}"#, r#"{"type":"mode"}"#]);
        let mut all = one.clone();
        all.merge(&two);
        assert_eq!((all.types["user"], all.types["mode"]), (2, 1));
        assert_eq!((all.first_at, all.versions), (one.first_at, vec!["2".to_owned()]));
    }
}
