//! A naive second reading of transcripts: what the client would send on resume, one function per rule.
//!
//! It shares no code with `annals-transcript`, so that property tests can hold the two against each other. Nothing is
//! indexed and nothing is remembered: every question is asked of the whole file again. The sections are those of
//! `docs/CHAIN.md`.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::{Value, json};

/// One message of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks: `user` or `assistant`.
    pub role: &'static str,
    /// What is said, each block spelled in short: `text hello`, `call id`, `result id`, `made result id`, `thinking`.
    pub parts: Vec<String>,
}

/// Returns the messages that the client would send if it resumed the transcript; none if it would refuse to.
pub fn model(file: &[u8]) -> Option<Vec<Message>> {
    let mut file = File::load(file);
    file.keep_preserved();
    if file.is_rewound_to_start() {
        return Some(Vec::new());
    }
    let leaf = file.leaf()?;
    let last = file.last_message(leaf);
    if last.is_side() || last.time().is_none() {
        return None;
    }
    let mut path = file.walk(last);
    let trailers = file.trailers(last).into_iter().filter(|trailer| !holds(&path, trailer));
    path.extend(trailers.collect::<Vec<_>>());
    Some(request(&file.gather(&path)))
}

/// The id that stands for no entry.
const NO_ENTRY: &str = "00000000-0000-0000-0000-000000000000";
/// How long before an entry without parent the one may be that takes its parent's place.
const BRIDGE_MILLISECONDS: i64 = 5000;

/// An entry that the client loads, or one that it makes up.
#[derive(Clone, Debug)]
struct Entry {
    id: String,
    parent: Option<String>,
    /// Its place in line order.
    order: usize,
    value: Value,
}

impl Entry {
    fn kind(&self) -> &str {
        text(&self.value["type"])
    }

    fn flag(&self, key: &str) -> bool {
        self.value[key] == true
    }

    fn is_side(&self) -> bool {
        self.flag("isSidechain")
    }

    /// Returns whether it is a user or assistant entry.
    fn is_message(&self) -> bool {
        matches!(self.kind(), "user" | "assistant")
    }

    fn is_boundary(&self) -> bool {
        self.kind() == "system" && self.value["subtype"] == "compact_boundary"
    }

    /// Returns the time in milliseconds.
    fn time(&self) -> Option<i64> {
        let time: Timestamp = self.value["timestamp"].as_str()?.parse().ok()?;
        Some(time.as_millisecond())
    }

    /// Returns the time in milliseconds; an entry without time is older than all others.
    fn time_or_oldest(&self) -> i64 {
        self.time().unwrap_or(-1)
    }

    /// Returns the blocks of its message that Claude Code takes as blocks; a string is one text block.
    fn content(&self) -> Vec<Value> {
        match &self.value["message"]["content"] {
            Value::String(text) => vec![json!({"type": "text", "text": text, "bare": true})],
            Value::Array(blocks) => blocks.iter().filter(|block| is_block(block)).cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns whether it is a message in which Claude Code finds no content. A user's empty text and an empty array are
    /// content.
    fn is_contentless(&self) -> bool {
        let content = &self.value["message"]["content"];
        let is_empty_array = content.as_array().is_some_and(Vec::is_empty);
        let is_empty_reply = self.kind() == "assistant" && content == "";
        self.is_message() && (is_empty_reply || self.content().is_empty() && !is_empty_array)
    }

    /// Returns the id that all lines of a reply share.
    fn reply(&self) -> Option<&str> {
        if self.kind() == "assistant" { self.value["message"]["id"].as_str() } else { None }
    }

    /// Returns whether two entries are lines of one reply, by its id.
    fn is_of_reply(&self, other: &Entry) -> bool {
        self.reply().is_some() && self.reply() == other.reply()
    }

    /// Returns the ids of the calls that it makes.
    fn calls(&self) -> Vec<String> {
        if self.kind() == "assistant" { calls_in(&self.content()) } else { Vec::new() }
    }

    /// Returns the ids of the calls that it answers.
    fn results(&self) -> Vec<String> {
        let content = if self.kind() == "user" { self.content() } else { Vec::new() };
        let results = content.iter().filter(|block| is_result(block));
        results.map(|block| text(&block["tool_use_id"]).to_owned()).collect()
    }

    /// Returns whether it is a user entry that holds a result.
    fn is_result(&self) -> bool {
        !self.results().is_empty()
    }

    /// Returns whether it is a result that Claude Code makes up.
    fn is_made_result(&self) -> bool {
        self.content().iter().any(|block| is_result(block) && block["made"] == true)
    }

    /// Returns whether it is a user entry that starts a turn.
    fn is_prompt(&self) -> bool {
        self.kind() == "user" && (self.flag("isMeta") || !self.is_result())
    }
}

/// Returns whether a value is an object with a type, and with text if the type says so.
fn is_block(block: &Value) -> bool {
    block["type"].is_string() && (block["type"] != "text" || block["text"].is_string())
}

fn is_text(block: &Value) -> bool {
    block["type"] == "text"
}

fn is_blank(block: &Value) -> bool {
    is_text(block) && block["wrapped"] != true && text(&block["text"]).trim().is_empty()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_call(block: &Value) -> bool {
    block["type"] == "tool_use"
}

fn is_result(block: &Value) -> bool {
    block["type"] == "tool_result"
}

fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking"
}

fn calls_in(blocks: &[Value]) -> Vec<String> {
    blocks.iter().filter(|block| is_call(block)).map(|block| text(&block["id"]).to_owned()).collect()
}

fn holds(entries: &[&Entry], wanted: &Entry) -> bool {
    entries.iter().any(|entry| entry.id == wanted.id)
}

/// What the client knows of a transcript.
#[derive(Debug, Default)]
struct File {
    /// The loaded entries in line order.
    entries: Vec<Entry>,
    /// The ids of all lines that were loaded, duplicates too.
    lines: Vec<String>,
    last_prompt: Option<LastPrompt>,
    /// The leaf that the last `last-prompt` names that names one.
    named_leaf: Option<String>,
    /// Messages without content, with what they hang on.
    contentless: HashMap<String, Option<String>>,
    /// Whether kept messages were re-linked.
    relinked: bool,
    /// Whether the type of a message stands anywhere in the file.
    names_messages: bool,
}

#[derive(Debug)]
struct LastPrompt {
    leaf: Option<String>,
    explicit: bool,
    /// Whether a main entry was read after it.
    overtaken: bool,
}

// Section 1: loading.
impl File {
    /// Reads a transcript line by line. Lines that are no JSON are passed over.
    fn load(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let names_messages =
            [r#""type":"user""#, r#""type":"assistant""#].iter().any(|name| text.contains(name));
        let mut file = Self { names_messages, ..Self::default() };
        let mut bridges = HashMap::new();
        for line in bytes.split(|&byte| byte == b'\n') {
            if let Ok(value) = serde_json::from_slice(line) {
                file.add_line(value, &mut bridges);
            }
        }
        let resolved =
            file.entries.iter().map(|entry| file.resolved(entry.parent.clone())).collect::<Vec<_>>();
        for (entry, parent) in file.entries.iter_mut().zip(resolved) {
            entry.parent = parent;
        }
        file
    }

    /// Returns a parent, or what stands in for it if it is a message without content. A circle of these leads nowhere.
    fn resolved(&self, mut parent: Option<String>) -> Option<String> {
        let mut seen = Vec::new();
        while let Some(id) = parent.clone()
            && self.entry(&id).is_none()
            && let Some(beyond) = self.contentless.get(&id)
        {
            if seen.contains(&id) {
                return None;
            }
            seen.push(id);
            parent.clone_from(beyond);
        }
        parent
    }

    /// Reads one line. `bridges` says what stands in for each progress entry: what it hangs on.
    fn add_line(&mut self, value: Value, bridges: &mut HashMap<String, Option<String>>) {
        let id = value["uuid"].as_str().map(str::to_owned);
        let parent = value["parentUuid"].as_str().map(str::to_owned);
        let parent = parent.and_then(|parent| bridges.get(&parent).cloned().unwrap_or(Some(parent)));
        match (text(&value["type"]), id) {
            ("progress", Some(id)) => {
                bridges.insert(id, parent);
            }
            ("user" | "assistant" | "system" | "attachment", id) => {
                // Entries without id replace each other.
                let id = id.unwrap_or_else(|| "(no id)".to_owned());
                let entry = Entry { id, parent, order: self.entries.len(), value };
                if entry.is_contentless() {
                    self.contentless.insert(entry.id, entry.parent);
                } else {
                    self.add_entry(entry);
                }
            }
            ("last-prompt", _) => self.add_last_prompt(&value),
            _ => {}
        }
    }

    /// Adds an entry. A duplicate takes the place of the first and the content of the last.
    fn add_entry(&mut self, mut entry: Entry) {
        if entry.is_boundary() {
            self.last_prompt = None;
        } else if let Some(last) = &mut self.last_prompt
            && !entry.is_side()
        {
            last.overtaken = true;
        }
        self.lines.push(entry.id.clone());
        match self.entries.iter_mut().find(|other| other.id == entry.id) {
            Some(first) => {
                entry.order = first.order;
                *first = entry;
            }
            None => self.entries.push(entry),
        }
    }

    fn add_last_prompt(&mut self, value: &Value) {
        let leaf = value["leafUuid"].as_str().map(str::to_owned);
        let explicit = value["explicit"] == true;
        if leaf.is_some() {
            self.named_leaf.clone_from(&leaf);
        }
        if leaf.is_some() || explicit && value.get("leafUuid") == Some(&Value::Null) {
            self.last_prompt = Some(LastPrompt { leaf, explicit, overtaken: false });
        }
    }

    /// Returns whether the last `last-prompt` rewinds to before the first message and nothing was said since.
    fn is_rewound_to_start(&self) -> bool {
        self.last_prompt.as_ref().is_some_and(|last| last.leaf.is_none() && !last.overtaken)
    }

    /// Returns the entry of an id, unless it is unknown or forgotten.
    fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// Returns what an entry hangs on, if that is in the file.
    fn parent(&self, entry: &Entry) -> Option<&Entry> {
        self.entry(entry.parent.as_ref()?)
    }

    /// Returns what hangs on an entry, in line order.
    fn children(&self, entry: &Entry) -> Vec<&Entry> {
        self.entries.iter().filter(|child| child.parent.as_ref() == Some(&entry.id)).collect()
    }
}

// Section 2: compaction.
impl File {
    /// Re-links the messages that the last boundary keeps and forgets all else before it, provided that any boundary
    /// of the file keeps something.
    fn keep_preserved(&mut self) {
        let boundaries: Vec<&Entry> = self.entries.iter().filter(|entry| entry.is_boundary()).collect();
        if !boundaries.iter().any(|boundary| names_preserved(boundary)) {
            return;
        }
        let Some(boundary) = boundaries.last() else { return };
        let Some((anchor, kept)) = self.preserved_by(boundary) else { return };
        let place = boundary.order;
        if kept.iter().any(|id| self.entry(id).is_none()) {
            return;
        }
        self.hang_behind(anchor.as_ref(), &kept);
        self.forget_before(place, &kept);
        self.relinked = !kept.is_empty();
    }

    /// Returns what the messages that a boundary keeps are hung on, and their ids; none if a run of them is broken.
    fn preserved_by(&self, boundary: &Entry) -> Option<(Option<String>, Vec<String>)> {
        let metadata = &boundary.value["compactMetadata"];
        let (messages, segment) = (&metadata["preservedMessages"], &metadata["preservedSegment"]);
        if messages.is_object() {
            let ids = messages["uuids"].as_array().cloned().unwrap_or_default();
            let ids = ids.iter().map(|id| text(id).to_owned()).collect();
            Some((anchor(messages), ids))
        } else if segment.is_object() {
            let ids = self.segment(text(&segment["headUuid"]), text(&segment["tailUuid"]))?;
            Some((anchor(segment), ids))
        } else {
            Some((None, Vec::new()))
        }
    }

    /// Returns the ids from `head` to `tail`; none if the tail does not lead to the head.
    fn segment(&self, head: &str, tail: &str) -> Option<Vec<String>> {
        let chain = self.written_chain(self.entry(tail)?);
        let length = chain.iter().position(|entry| entry.id == head)? + 1;
        Some(chain[..length].iter().rev().map(|entry| entry.id.clone()).collect())
    }

    /// Hangs the first kept message on the anchor and each on the one before; then what hangs on the anchor, but for that first
    /// one, on the last.
    fn hang_behind(&mut self, anchor: Option<&String>, kept: &[String]) {
        let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return };
        let mut before = anchor.cloned();
        for id in kept {
            if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == *id) {
                entry.parent = before;
            }
            before = Some(id.clone());
        }
        for entry in
            self.entries.iter_mut().filter(|entry| entry.id != *first && entry.parent.as_ref() == anchor)
        {
            entry.parent = Some(last.clone());
        }
    }

    /// Forgets what stands before a place and is not kept. A message that hung on it hangs on the last kept one.
    fn forget_before(&mut self, place: usize, kept: &[String]) {
        let is_left = |entry: &Entry| entry.order >= place || kept.contains(&entry.id);
        let (left, gone): (Vec<_>, Vec<_>) = self.entries.drain(..).partition(is_left);
        self.entries = left;
        let Some(last) = kept.last() else { return };
        for entry in &mut self.entries {
            let hung_on_gone = gone.iter().any(|gone| entry.parent.as_ref() == Some(&gone.id));
            if entry.is_message() && hung_on_gone {
                entry.parent = Some(last.clone());
            }
        }
    }
}

fn anchor(preserved: &Value) -> Option<String> {
    preserved["anchorUuid"].as_str().map(str::to_owned)
}

/// Returns whether a boundary says what it keeps, be it nothing.
fn names_preserved(boundary: &Entry) -> bool {
    let metadata = &boundary.value["compactMetadata"];
    metadata["preservedMessages"].is_object() || metadata["preservedSegment"].is_object()
}

// Section 3: the leaf.
impl File {
    /// Returns the chain that ends in an entry, by written parents only, the entry itself first.
    fn written_chain<'f>(&'f self, leaf: &'f Entry) -> Vec<&'f Entry> {
        let mut chain = vec![leaf];
        let mut at = leaf;
        while let Some(parent) = self.parent(at).filter(|parent| !holds(&chain, parent)) {
            chain.push(parent);
            at = parent;
        }
        chain
    }

    /// Returns whether a message stands on the written chain of an entry.
    fn is_spoken(&self, entry: &Entry) -> bool {
        self.written_chain(entry).iter().any(|entry| entry.is_message())
    }

    /// Returns the entry that the conversation ends with.
    fn leaf(&self) -> Option<&Entry> {
        let by_last_line = self.choice_by_last_line();
        if let Some(last) = &self.last_prompt
            && let Some(named) = last.leaf.as_ref().filter(|leaf| *leaf != NO_ENTRY)
            && let Some(leaf) = self.entry(named)
            && self.is_spoken(leaf)
            && self.overrules(last, leaf, by_last_line)
        {
            return Some(leaf);
        }
        by_last_line.or_else(|| match &self.last_messages()[..] {
            [] => self.entries.last().filter(|_| self.names_messages),
            messages => first_newest(messages.iter().copied().filter(|message| !message.is_side())),
        })
    }

    /// Returns the leaf as the last line says.
    fn choice_by_last_line(&self) -> Option<&Entry> {
        match (self.relinked, &self.tips()[..]) {
            (true, [only]) => Some(*only),
            (true, _) => self.last_main_line().filter(|last| self.is_spoken(last)),
            (false, _) => self.last_main_line().and_then(|last| self.choice_at_last_line(last)),
        }
    }

    /// Returns the entries without any child.
    fn tips(&self) -> Vec<&Entry> {
        self.entries.iter().filter(|entry| self.children(entry).is_empty()).collect()
    }

    /// Returns the entry of the last line that is not a subagent's.
    fn last_main_line(&self) -> Option<&Entry> {
        let mut entries = self.lines.iter().rev().filter_map(|id| self.entry(id));
        entries.find(|entry| !entry.is_side())
    }

    /// Returns the last line if a `last-prompt` names a leaf or the line is the newest of all; else the newest entry below
    /// it, or itself if there is none.
    fn choice_at_last_line<'f>(&'f self, last: &'f Entry) -> Option<&'f Entry> {
        let is_spoken = self.is_spoken(last);
        let newest = first_newest(self.entries.iter().filter(|entry| !entry.is_side()));
        let is_newest = newest.is_some_and(|newest| newest.id == last.id);
        if is_spoken && self.named_leaf.is_some() {
            let only = self.only_last_message().filter(|_| !self.is_named_leaf_usable());
            return Some(only.unwrap_or(last));
        }
        if is_spoken && is_newest {
            return Some(last);
        }
        let is_below = |entry: &&Entry| entry.id != last.id && holds(&self.written_chain(entry), last);
        let below = self.entries.iter().filter(is_below);
        let below = last_newest(below.filter(|entry| !entry.is_side() && self.is_spoken(entry)));
        below.or(is_spoken.then_some(last))
    }

    /// Returns whether the last named leaf is unknown or has a message on its chain.
    fn is_named_leaf_usable(&self) -> bool {
        let leaf = self.named_leaf.as_ref().and_then(|leaf| self.entry(leaf));
        leaf.is_none_or(|leaf| self.is_spoken(leaf))
    }

    /// Returns the message that no other message follows, if there is only one.
    fn only_last_message(&self) -> Option<&Entry> {
        match self.last_messages()[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the messages that no message follows, directly or behind other entries.
    fn last_messages(&self) -> Vec<&Entry> {
        let message_above = |entry: &Entry| {
            let mut passed: Vec<&Entry> = Vec::new();
            let mut above = self.parent(entry);
            while let Some(at) = above.filter(|at| !at.is_message() && !holds(&passed, at)) {
                passed.push(at);
                above = self.parent(at);
            }
            above.filter(|at| at.is_message()).map(|at| at.id.clone())
        };
        let messages = || self.entries.iter().filter(|entry| entry.is_message());
        let followed: Vec<String> = messages().filter_map(message_above).collect();
        messages().filter(|entry| !followed.contains(&entry.id)).collect()
    }

    /// Decides whether the leaf that a `last-prompt` names counts in place of the choice.
    fn overrules(&self, last: &LastPrompt, leaf: &Entry, choice: Option<&Entry>) -> bool {
        let Some(choice) = choice else { return true };
        let final_word = last.explicit && !last.overtaken;
        if final_word {
            return true;
        }
        let is_last_of_tip = self.tips().iter().any(|tip| self.last_message(tip).id == leaf.id);
        if self.relinked && !(leaf.is_message() && is_last_of_tip) {
            return false;
        }
        let mut chain = self.written_chain(choice);
        chain.reverse();
        !(holds(&chain, leaf) || !last.explicit && self.is_beside_calls(&chain, leaf))
    }

    /// Returns whether an entry is a call that a reply on a chain made beside or before its last line there, a result that hangs
    /// on such a call, or context below such a result.
    fn is_beside_calls(&self, chain: &[&Entry], entry: &Entry) -> bool {
        let is_call = |entry: &Entry| {
            let is_line = |line: &&&Entry| line.reply().is_some() && line.reply() == entry.reply();
            let last = chain.iter().rfind(is_line);
            !entry.calls().is_empty() && last.is_some_and(|last| last.id != entry.id)
        };
        let is_answer = |entry: &Entry| entry.is_result() && self.parent(entry).is_some_and(is_call);
        let mut above = self.written_chain(entry).into_iter().skip_while(|entry| is_context(entry));
        is_call(entry) || above.next().is_some_and(is_answer)
    }

    /// Returns the nearest message on the written chain of the leaf; the leaf itself if there is none.
    fn last_message<'f>(&'f self, leaf: &'f Entry) -> &'f Entry {
        self.written_chain(leaf).into_iter().find(|entry| entry.is_message()).unwrap_or(leaf)
    }

    /// Returns the entries that hang below the last message and are none themselves, reached through such entries only,
    /// by time.
    fn trailers<'f>(&'f self, last: &'f Entry) -> Vec<&'f Entry> {
        let mut reached = vec![last];
        let mut next = 0;
        while next < reached.len() {
            for child in self.children(reached[next]) {
                if !child.is_message() && !holds(&reached, child) {
                    reached.push(child);
                }
            }
            next += 1;
        }
        let mut trailers = reached.split_off(1);
        trailers.sort_by_key(|entry| entry.time_or_oldest());
        trailers
    }
}

/// Returns the entry with the greatest time; of several, the last.
fn last_newest<'f>(entries: impl Iterator<Item = &'f Entry>) -> Option<&'f Entry> {
    entries.max_by_key(|entry| entry.time_or_oldest())
}

/// Returns the entry with the greatest time; of several, the first.
fn first_newest<'f>(entries: impl Iterator<Item = &'f Entry>) -> Option<&'f Entry> {
    entries.min_by_key(|entry| -entry.time_or_oldest())
}

// Section 4: walking.
impl File {
    /// Returns the chain that ends in an entry, root first. A parent that is not there or was walked already is
    /// bridged.
    fn walk<'f>(&'f self, last: &'f Entry) -> Vec<&'f Entry> {
        let mut path = Vec::new();
        let mut at = Some(last);
        while let Some(entry) = at {
            path.push(entry);
            at = match self.parent(entry) {
                Some(parent) if !holds(&path, parent) => Some(parent),
                _ if entry.parent.is_some() => self.bridge(entry, &path),
                _ => None,
            };
        }
        path.reverse();
        path
    }

    /// Returns the newest entry that is not walked yet and not newer than the given one, if it is close enough; of
    /// several, the first line. A subagent's entry is bridged to a subagent's.
    fn bridge(&self, entry: &Entry, walked: &[&Entry]) -> Option<&Entry> {
        let time = entry.time()?;
        let mut best: Option<(i64, &Entry)> = None;
        for other in &self.entries {
            let Some(before) = other.time() else { continue };
            let is_candidate = other.is_side() == entry.is_side() && !holds(walked, other) && before <= time;
            if is_candidate && best.is_none_or(|(best, _)| before > best) {
                best = Some((before, other));
            }
        }
        best.filter(|(before, _)| time - before <= BRIDGE_MILLISECONDS).map(|(_, other)| other)
    }
}

// Section 5: the rest of each reply.
impl File {
    /// Returns a path with what belongs to its replies put in its place.
    fn gather<'f>(&'f self, path: &[&'f Entry]) -> Vec<&'f Entry> {
        let mut before: Vec<(&Entry, &Entry)> = Vec::new();
        let mut behind: Vec<(&Entry, &Entry)> = Vec::new();
        for reply in replies_on(path) {
            let spots = spots(path, reply);
            let mut missing = self.missing(path, reply);
            missing.sort_by_key(|entry| entry.order);
            for entry in missing {
                match spots.iter().skip(1).find(|spot| spot.order > entry.order) {
                    Some(spot) => before.push((spot, entry)),
                    None => behind.extend(spots.last().map(|spot| (*spot, entry))),
                }
            }
        }
        let placed_at = |places: &[(&Entry, &'f Entry)], spot: &Entry| -> Vec<&'f Entry> {
            places.iter().filter(|(place, _)| place.id == spot.id).map(|(_, entry)| *entry).collect()
        };
        let mut whole = Vec::new();
        for &entry in path {
            whole.extend(placed_at(&before, entry));
            whole.push(entry);
            whole.extend(placed_at(&behind, entry));
        }
        whole
    }

    /// Returns what belongs to a reply and is not on the path.
    fn missing<'f>(&'f self, path: &[&'f Entry], reply: &str) -> Vec<&'f Entry> {
        let lines: Vec<&Entry> = self.entries.iter().filter(|entry| entry.reply() == Some(reply)).collect();
        let mut missing = lines.clone();
        missing.extend(self.results_hanging_on(&lines));
        missing.extend(self.dead_ends_below(&lines));
        missing.retain(|entry| !holds(path, entry));
        for line in lines {
            for call in line.calls() {
                missing.extend(self.result_elsewhere(line, &call, path, &missing));
            }
        }
        missing
    }

    fn results_hanging_on(&self, lines: &[&Entry]) -> Vec<&Entry> {
        let hanging = lines.iter().flat_map(|line| self.children(line));
        hanging.filter(|entry| entry.is_result()).collect()
    }

    /// Returns the first result of a call anywhere, if it has none on the path or among what is taken already.
    fn result_elsewhere(
        &self,
        line: &Entry,
        call: &String,
        path: &[&Entry],
        taken: &[&Entry],
    ) -> Option<&Entry> {
        let answers = || self.entries.iter().filter(|entry| entry.results().contains(call));
        if answers().any(|answer| holds(path, answer) || holds(taken, answer)) {
            return None;
        }
        answers().find(|answer| answer.is_side() == line.is_side())
    }

    /// Returns the dead ends that hang on a reply with calls, on a result that hangs on it, or on other dead ends.
    fn dead_ends_below<'f>(&'f self, lines: &[&'f Entry]) -> Vec<&'f Entry> {
        if lines.iter().all(|line| line.calls().is_empty()) {
            return Vec::new();
        }
        let mut reached = lines.to_vec();
        reached.extend(self.results_hanging_on(lines));
        let mut found = Vec::new();
        while let Some(entry) = reached.pop() {
            let children = self.children(entry);
            let dead: Vec<&Entry> =
                children.into_iter().filter(|child| self.is_dead_end(child, lines, &[])).collect();
            reached.extend(&dead);
            found.extend(dead);
        }
        found
    }

    /// Returns whether an entry is a main one of context or injected text, and all that hangs below it too, but for lines of
    /// the reply. What hangs on itself in a circle is not.
    fn is_dead_end(&self, entry: &Entry, lines: &[&Entry], above: &[&Entry]) -> bool {
        if !is_context(entry) || holds(above, entry) {
            return false;
        }
        let above = [above, &[entry]].concat();
        let leads_nowhere = |child: &&Entry| holds(lines, child) || self.is_dead_end(child, lines, &above);
        self.children(entry).iter().all(leads_nowhere)
    }
}

/// Returns whether an entry of the main line is context or injected text.
fn is_context(entry: &Entry) -> bool {
    let is_injected = entry.kind() == "user" && !entry.is_result() && entry.flag("isMeta");
    !entry.is_side() && (matches!(entry.kind(), "system" | "attachment") || is_injected)
}

/// Returns the ids of the replies on a path, in its order, each once.
fn replies_on<'f>(path: &[&'f Entry]) -> Vec<&'f str> {
    let mut replies = Vec::new();
    for reply in path.iter().filter_map(|entry| entry.reply()) {
        if !replies.contains(&reply) {
            replies.push(reply);
        }
    }
    replies
}

/// Returns the lines of a reply on a path, each with the results and the context that stand directly behind it.
fn spots<'f>(path: &[&'f Entry], reply: &str) -> Vec<&'f Entry> {
    let mut spots = Vec::new();
    for (place, line) in path.iter().enumerate().filter(|(_, entry)| entry.reply() == Some(reply)) {
        spots.push(*line);
        spots.extend(path[place + 1..].iter().take_while(|entry| entry.is_result() || is_context(entry)));
    }
    spots
}

// Section 6: the request.

/// Returns the messages that are made of the gathered entries.
fn request(gathered: &[&Entry]) -> Vec<Message> {
    let entries: Vec<Entry> = gathered.iter().filter_map(|entry| as_sent(entry)).collect();
    let entries = without_empty_replies(&entries);
    let entries = with_results_behind_calls(&entries);
    let entries = without_unanswered_calls(&entries);
    let entries = with_interrupted_calls_answered(entries);
    let entries = without_empty_replies(&entries);
    let entries = with_last_prompt_answered(entries);
    let entries = behind_last_boundary(entries);
    let entries: Vec<Entry> = entries.into_iter().filter(|entry| !is_unsent(entry)).collect();
    let mut drafts = merged(with_attachments_moved_up(entries));
    for draft in drafts.iter_mut().filter(|draft| draft.role == "assistant") {
        // Only a reply of one line keeps blank text.
        let is_one_line = draft.entries.len() == 1;
        draft.blocks.retain(|block| is_one_line || !is_blank(block));
        sort_blocks(draft);
    }
    paired(drafts).iter().map(spelled).collect()
}

/// Returns an entry as it goes into the request, if it does: context with what is sent of it as message, a local command
/// with its text.
fn as_sent(entry: &Entry) -> Option<Entry> {
    let with = |content: Value| {
        let mut entry = entry.clone();
        entry.value["message"] = json!({"content": content});
        Some(entry)
    };
    match entry.kind() {
        "attachment" => with(sent_of_attachment(&entry.value)),
        "assistant" => with(sent_of_reply(entry)),
        "user" => Some(entry.clone()),
        "system" if entry.is_boundary() => Some(entry.clone()),
        "system" if entry.value["subtype"] == "local_command" && !entry.flag("isDisplayOnly") => {
            match &entry.value["content"] {
                Value::String(text) if !text.is_empty() => with(json!(text)),
                _ => with(json!([made_text("(no content)")])),
            }
        }
        _ => None,
    }
    .map(|sent| Entry { value: with_reply_of(sent.value, entry), ..sent })
}

/// Gives a message the id and the model that stood in it.
fn with_reply_of(mut value: Value, entry: &Entry) -> Value {
    for key in ["id", "model"] {
        if let Some(found) = entry.value["message"].get(key) {
            value["message"][key] = found.clone();
        }
    }
    value
}

/// Returns what is sent of context: the text of a person's queued prompt, as it was rendered or in one piece, and the images
/// of any prompt that was not rendered.
fn sent_of_attachment(entry: &Value) -> Value {
    let attachment = &entry["attachment"];
    let is_queued = attachment["type"] == "queued_command";
    let is_human = is_queued
        && attachment["humanTurn"] == true
        && attachment["commandMode"] == "prompt"
        && attachment["origin"]["kind"] == "human";
    let blocks = blocks_of(if is_queued { &attachment["prompt"] } else { &Value::Null });
    if let Some(rendered) = rendered(&entry["rendered"]) {
        return rendered.into_iter().filter(|_| is_human).collect();
    }
    if is_human {
        let texts: Vec<&str> =
            blocks.iter().filter(|block| is_text(block)).map(|block| text(&block["text"])).collect();
        let wrapped = json!({"type": "text", "text": texts.join("\n"), "wrapped": true});
        return std::iter::once(wrapped)
            .chain(blocks.iter().filter(|block| !is_text(block)).cloned())
            .collect();
    }
    blocks.into_iter().filter(|block| block["type"] == "image").collect()
}

/// Returns the text blocks that context was rendered to, if all are as Claude Code writes them.
fn rendered(pieces: &Value) -> Option<Vec<Value>> {
    let mut blocks = Vec::new();
    for piece in pieces.as_array().filter(|pieces| !pieces.is_empty())? {
        let content = piece.as_object().filter(|piece| piece.len() == 1)?.get("content")?;
        let is_good = |block: &Value| {
            let members = block.as_object().map_or(0, serde_json::Map::len);
            block["type"] == "text" && members == 2 && !text(&block["text"]).is_empty()
        };
        let is_rendered = match content {
            Value::Array(texts) => !texts.is_empty() && texts.iter().all(is_good),
            content => !text(content).is_empty(),
        };
        if !is_rendered {
            return None;
        }
        blocks.extend(blocks_of(content));
    }
    Some(blocks)
}

/// Returns the blocks of a content that stands outside of a message.
fn blocks_of(content: &Value) -> Vec<Value> {
    let value = json!({"message": {"content": content}});
    Entry { id: String::new(), parent: None, order: 0, value }.content()
}

/// Returns what is sent of a reply: beside reasoning and nothing else, blank text is dropped.
fn sent_of_reply(entry: &Entry) -> Value {
    let content = entry.content();
    let is_hollow =
        content.iter().any(is_thinking) && content.iter().all(|block| is_thinking(block) || is_blank(block));
    content.into_iter().filter(|block| !is_hollow || is_thinking(block)).collect()
}

/// Drops replies of blank text only, and reasoning and placeholders that nothing of the same reply goes with.
fn without_empty_replies(entries: &[Entry]) -> Vec<Entry> {
    let is_placeholder = |block: &Value| is_text(block) && text(&block["text"]).trim() == "(no content)";
    let is_hollow_block = |block: &Value| is_thinking(block) || is_blank(block) || is_placeholder(block);
    let is_hollow = |entry: &Entry| {
        let content = entry.content();
        entry.kind() == "assistant" && !content.is_empty() && content.iter().all(is_hollow_block)
    };
    let has_more = |other: &Entry| other.content().iter().any(|block| !is_hollow_block(block));
    let is_alone = |entry: &Entry| !entries.iter().any(|other| other.is_of_reply(entry) && has_more(other));
    let is_empty = |entry: &Entry| is_blank_reply(entry) || is_hollow(entry) && is_alone(entry);
    entries.iter().filter(|entry| !is_empty(entry)).cloned().collect()
}

fn is_blank_reply(entry: &Entry) -> bool {
    let content = entry.content();
    entry.kind() == "assistant" && !content.is_empty() && content.iter().all(is_blank)
}

/// Moves each result that stands before its call behind the last line of the call's reply; several keep their order.
fn with_results_behind_calls(entries: &[Entry]) -> Vec<Entry> {
    let mut list = entries.to_vec();
    let mut moved: Vec<&str> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.is_result()) {
        let place = list.iter().position(|other| other.id == entry.id).expect("nothing was taken away");
        let Some(last_line) = last_line_of_later_call(entries, &list, place) else { continue };
        let mut target = last_line + 1;
        while list.get(target).is_some_and(|other| moved.contains(&other.id.as_str())) {
            target += 1;
        }
        list.insert(target, entry.clone());
        list.remove(place);
        moved.push(&entry.id);
    }
    list
}

/// Returns where the reply ends that makes a call which the result at `place` answers too early; none if there is no
/// such call or something that interrupts a turn stands between. Which lines are one message is decided before any result
/// moves, in `entries`.
fn last_line_of_later_call(entries: &[Entry], list: &[Entry], place: usize) -> Option<usize> {
    let called_before: Vec<String> = list[..place].iter().flat_map(Entry::calls).collect();
    let results: Vec<String> =
        list[place].results().into_iter().filter(|call| !called_before.contains(call)).collect();
    let goes_on = |entry: &Entry| matches!(entry.kind(), "assistant" | "attachment") || entry.is_result();
    let makes_call = |entry: &Entry| entry.calls().iter().any(|call| results.contains(call));
    let call = place + 1 + list[place + 1..].iter().position(makes_call)?;
    // The call is sent with the first line of its reply.
    let place_in_entries = |entry: &Entry| entries.iter().position(|other| other.id == entry.id);
    let (result_at, call_at) = (place_in_entries(&list[place])?, place_in_entries(&list[call])?);
    if messages_of(entries).iter().any(|message| message.contains(&call_at) && message[0] < result_at) {
        return None;
    }
    let last_line = list.iter().rposition(|entry| entry.is_of_reply(&list[call])).unwrap_or(call);
    let reaches_call = list[place + 1..call].iter().all(|entry| goes_on(entry) || entry.is_boundary());
    let reaches_end = list[call..last_line].iter().all(goes_on);
    (reaches_call && reaches_end).then_some(last_line)
}

/// Drops entries all of whose calls have no result, except in the last reply, and except in the last turn if that
/// stands in its tool loop.
fn without_unanswered_calls(entries: &[Entry]) -> Vec<Entry> {
    let start = entries.iter().rposition(Entry::is_prompt).map_or(0, |prompt| prompt + 1);
    let turn = &entries[start..];
    let last_reply = last_reply(entries);
    let in_last_reply: Vec<bool> = (start..entries.len()).map(|place| last_reply.contains(&place)).collect();
    let is_running = is_in_tool_loop(turn, &in_last_reply);
    let is_unanswered = |entry: &Entry| {
        let calls = entry.calls();
        !calls.is_empty() && !calls.iter().any(|call| is_answered(entries, call))
    };
    let is_dropped = |place: usize, entry: &Entry| {
        let in_turn = place >= start;
        let is_spared = in_turn && (is_running || last_reply.contains(&place));
        is_unanswered(entry) && !is_spared
    };
    let kept = entries.iter().enumerate().filter(|(place, entry)| !is_dropped(*place, entry));
    kept.map(|(_, entry)| entry.clone()).collect()
}

/// Returns whether any entry holds a result of a call.
fn is_answered(entries: &[Entry], call: &String) -> bool {
    entries.iter().any(|entry| entry.results().contains(call))
}

/// Returns the places of the entries that each message of the request would be made of.
fn messages_of(entries: &[Entry]) -> Vec<Vec<usize>> {
    drafts_of(entries).into_iter().map(|draft| draft.entries).collect()
}

/// Returns the places of the entries that the last reply of the request would be made of.
fn last_reply(entries: &[Entry]) -> Vec<usize> {
    let mut replies = drafts_of(entries).into_iter().filter(|draft| draft.role == "assistant");
    replies.next_back().map(|last| last.entries).unwrap_or_default()
}

/// Merges entries as for the request, with their places as orders.
fn drafts_of(entries: &[Entry]) -> Vec<Draft> {
    let mut numbered: Vec<Entry> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        if entry.kind() != "attachment" && !entry.is_boundary() {
            let mut entry = entry.clone();
            entry.order = place;
            numbered.push(entry);
        }
    }
    merged(numbered)
}

/// Returns whether a turn stands in its tool loop: it holds a result or context, and either a result is the last thing
/// or the last reply has a call and the last run of assistant entries nothing but calls.
fn is_in_tool_loop(turn: &[Entry], in_last_reply: &[bool]) -> bool {
    let came_back = |entry: &Entry| entry.is_result() || entry.kind() == "attachment";
    if !turn.iter().any(came_back) {
        return false;
    }
    let end = turn.iter().rposition(|entry| entry.kind() != "attachment").map_or(0, |last| last + 1);
    let start = turn[..end].iter().rposition(came_back).map_or(0, |last| last + 1);
    let talks = |entry: &Entry| entry.kind() == "assistant" && entry.calls().is_empty();
    let mut lines = turn.iter().zip(in_last_reply).filter(|(_, is_last)| **is_last);
    let calls_last = lines.any(|(entry, _)| !entry.calls().is_empty());
    turn.last().is_some_and(Entry::is_result) || calls_last && !turn[start..end].iter().any(talks)
}

/// Adds a made-up result for every call of the last reply that has none.
fn with_interrupted_calls_answered(mut entries: Vec<Entry>) -> Vec<Entry> {
    let calls: Vec<String> =
        last_reply(&entries).into_iter().flat_map(|place| entries[place].calls()).collect();
    let open = calls.iter().filter(|call| !is_answered(&entries, call));
    let results: Vec<Entry> = open.map(|call| made_entry("user", &made_result(call))).collect();
    entries.extend(results);
    entries
}

/// Puts a made-up reply behind the last message if that is the user's and asks for one: not behind a compact summary if
/// the list ends with context, and not behind local commands that a caveat stands before.
fn with_last_prompt_answered(mut entries: Vec<Entry>) -> Vec<Entry> {
    let ends_with_context = entries.last().is_some_and(|entry| entry.kind() == "attachment");
    let asks = match entries.iter().rfind(|entry| entry.is_message()) {
        Some(last) => {
            last.kind() == "user"
                && !(last.flag("isCompactSummary") && ends_with_context)
                && !ends_in_local_commands(&entries)
        }
        None => entries.iter().any(|entry| entry.kind() == "attachment"),
    };
    if asks {
        let end = entries.iter().rposition(|entry| entry.kind() != "system").map_or(0, |last| last + 1);
        entries.insert(end, made_entry("assistant", &made_text("No response requested.")));
    }
    entries
}

fn ends_in_local_commands(entries: &[Entry]) -> bool {
    for entry in entries.iter().rev().filter(|entry| entry.is_message()) {
        let content = entry.content();
        let said = match &content[..] {
            [block] if entry.kind() == "user" => text(&block["text"]).to_owned(),
            _ => String::new(),
        };
        if entry.flag("isMeta") && said.starts_with("<local-command-caveat>") {
            return true;
        }
        let tags = ["<command-name>", "<local-command-stdout>", "<local-command-stderr>"];
        if !tags.iter().any(|tag| said.starts_with(tag)) {
            return false;
        }
    }
    false
}

/// Returns what stands behind the last compaction.
fn behind_last_boundary(mut entries: Vec<Entry>) -> Vec<Entry> {
    let start = entries.iter().rposition(Entry::is_boundary).map_or(0, |last| last + 1);
    entries.split_off(start)
}

/// Returns whether an entry that counted until here is not sent: an error that Claude Code made up, a virtual message, a
/// message of the user without blocks.
fn is_unsent(entry: &Entry) -> bool {
    let is_error = entry.flag("isApiErrorMessage") && entry.value["message"]["model"] == "<synthetic>";
    let is_empty = entry.kind() == "user" && entry.content().is_empty();
    entry.kind() == "assistant" && is_error || is_empty || entry.is_message() && entry.flag("isVirtual")
}

/// Moves what is sent of context up to the reply or the result that it follows, and drops the rest of it.
fn with_attachments_moved_up(entries: Vec<Entry>) -> Vec<Entry> {
    let mut moved: Vec<Entry> = Vec::new();
    // A queued prompt of the user begins with text; of other context only images are sent.
    let is_prompt =
        |entry: &Entry| entry.kind() == "attachment" && entry.content().first().is_some_and(is_text);
    for entry in entries {
        if entry.kind() != "attachment" {
            moved.push(entry);
        } else if !entry.content().is_empty() {
            let stays = |other: &Entry| {
                other.kind() == "assistant"
                    || other.is_result()
                    || other.is_made_result()
                    || other.kind() == "attachment" && (is_prompt(&entry) || !is_prompt(other))
            };
            let place = moved.iter().rposition(stays).map_or(0, |last| last + 1);
            moved.insert(place, entry);
        }
    }
    moved
}

/// A message of the request that is not finished.
struct Draft {
    role: &'static str,
    reply: ReplyKey,
    blocks: Vec<Value>,
    /// The orders of the entries that it is made of.
    entries: Vec<usize>,
    /// Whether more than context stands in it.
    has_prompt: bool,
}

/// What the lines of one reply share.
#[derive(PartialEq)]
enum ReplyKey {
    Id(String),
    /// All lines without id that have a request are one reply.
    Nameless,
    /// A line without both is a reply of its own.
    Alone,
}

impl ReplyKey {
    fn of(entry: &Entry) -> Self {
        match entry.reply() {
            Some(id) => ReplyKey::Id(id.to_owned()),
            None if entry.value["requestId"].is_string() => ReplyKey::Nameless,
            None => ReplyKey::Alone,
        }
    }
}

/// Merges user entries that follow each other, and the lines of each reply.
fn merged(entries: Vec<Entry>) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for entry in entries {
        let role = if entry.kind() == "assistant" { "assistant" } else { "user" };
        let reply = ReplyKey::of(&entry);
        let target = match role {
            "assistant" => draft_of_reply(&mut drafts, &reply),
            _ => drafts.last_mut().filter(|last| last.role == "user"),
        };
        match target {
            Some(draft) => {
                let next = entry.content();
                if role == "user" {
                    join(&mut draft.blocks, &next);
                }
                draft.blocks.extend(next);
                draft.entries.push(entry.order);
                draft.has_prompt |= entry.kind() != "attachment";
                if role == "user" {
                    sort_blocks(draft);
                }
            }
            None => drafts.push(Draft {
                role,
                reply,
                blocks: entry.content(),
                entries: vec![entry.order],
                has_prompt: entry.kind() != "attachment",
            }),
        }
    }
    drafts
}

/// Puts a newline behind the last text if text follows it.
fn join(blocks: &mut [Value], next: &[Value]) {
    if let Some(last) = blocks.last_mut().filter(|last| is_text(last) && next.first().is_some_and(is_text))
        && last["wrapped"] != true
        && last["made"] != true
    {
        last["text"] = format!("{}\n", last["text"].as_str().unwrap_or_default()).into();
    }
}

/// Returns the message that further lines of a reply join: looked for backwards, over other replies and over user
/// messages that hold results.
fn draft_of_reply<'d>(drafts: &'d mut [Draft], reply: &ReplyKey) -> Option<&'d mut Draft> {
    for draft in drafts.iter_mut().rev() {
        let is_same = draft.role == "assistant" && draft.reply == *reply && *reply != ReplyKey::Alone;
        if is_same {
            return Some(draft);
        }
        if draft.role == "user" && draft.has_prompt && !draft.blocks.iter().any(is_result) {
            return None;
        }
    }
    None
}

/// Puts calls behind all else in a reply, and results before all else in a user message.
fn sort_blocks(draft: &mut Draft) {
    if draft.role == "user" {
        draft.blocks.sort_by_key(|block| !is_result(block));
    } else if !alternates(&draft.blocks) {
        draft.blocks.sort_by_key(is_call);
    }
}

/// Returns whether a run of calls stands directly between reasoning.
fn alternates(blocks: &[Value]) -> bool {
    let kinds = blocks.iter().map(|block| match () {
        () if is_call(block) => 'c',
        () if is_thinking(block) => 't',
        () => '-',
    });
    let mut kinds: String = kinds.collect();
    while kinds.contains("cc") {
        kinds = kinds.replace("cc", "c");
    }
    kinds.contains("tct")
}

/// Makes every call stand directly before its result and every result directly behind its call.
fn paired(drafts: Vec<Draft>) -> Vec<Draft> {
    let mut out: Vec<Draft> = Vec::new();
    let mut called: Vec<String> = Vec::new();
    for draft in drafts {
        let is_behind_reply = out.last().is_some_and(|last| last.role == "assistant");
        let open = if is_behind_reply { open_calls(&out) } else { Vec::new() };
        if draft.role == "user" {
            let count = draft.blocks.len();
            let blocks = answering(&open, draft.blocks);
            let is_orphan = out.is_empty() && blocks.len() < count;
            let blocks = or_placeholder(without_blank_text(blocks), is_orphan);
            out.push(Draft { blocks, ..draft });
        } else {
            out.extend(missing_results(&open));
            let blocks = first_calls(&mut called, draft.blocks);
            out.push(Draft { blocks, ..draft });
        }
    }
    let open = open_calls(&out);
    out.extend(missing_results(&open));
    out
}

/// Returns the blocks of a reply without calls that were made before; text stands for what is empty.
fn first_calls(called: &mut Vec<String>, blocks: Vec<Value>) -> Vec<Value> {
    let blocks: Vec<Value> =
        blocks.into_iter().filter(|block| !is_text(block) || block["text"] != "").collect();
    if blocks.is_empty() {
        return vec![made_text("(no content)")];
    }
    let mut kept = Vec::new();
    for block in blocks {
        let id = text(&block["id"]).to_owned();
        if is_call(&block) && called.contains(&id) {
            continue;
        }
        if is_call(&block) {
            called.push(id);
        }
        kept.push(block);
    }
    if kept.is_empty() { vec![made_text("[Tool use interrupted]")] } else { kept }
}

/// Returns the calls of the last message, if it is a reply.
fn open_calls(drafts: &[Draft]) -> Vec<String> {
    let last = drafts.last().filter(|last| last.role == "assistant");
    last.map(|last| calls_in(&last.blocks)).unwrap_or_default()
}

/// Returns a user message of made-up results; none if no call is open.
fn missing_results(open: &[String]) -> Option<Draft> {
    let blocks: Vec<Value> = open.iter().map(|call| made_result(call)).collect();
    let draft = Draft { role: "user", reply: ReplyKey::Alone, blocks, entries: Vec::new(), has_prompt: true };
    (!open.is_empty()).then_some(draft)
}

/// Keeps the first result of each open call, drops all others, and makes up those that are missing.
fn answering(open: &[String], blocks: Vec<Value>) -> Vec<Value> {
    let mut answered: Vec<String> = Vec::new();
    let mut kept = Vec::new();
    for block in blocks {
        if is_result(&block) {
            let call = text(&block["tool_use_id"]).to_owned();
            if !open.contains(&call) || answered.contains(&call) {
                continue;
            }
            answered.push(call);
        }
        kept.push(block);
    }
    let missing = open.iter().filter(|call| !answered.contains(call));
    missing.map(|call| made_result(call)).chain(kept).collect()
}

/// Returns the blocks of a user message without blank text, unless a bare string is all there is.
fn without_blank_text(blocks: Vec<Value>) -> Vec<Value> {
    if blocks.len() == 1 && blocks[0]["bare"] == true {
        return blocks;
    }
    blocks.into_iter().filter(|block| !is_blank(block)).collect()
}

/// Returns the blocks, or text that stands for them if there are none.
fn or_placeholder(blocks: Vec<Value>, is_orphan: bool) -> Vec<Value> {
    if !blocks.is_empty() {
        return blocks;
    }
    let orphaned = "[Orphaned tool result removed due to conversation resume]";
    vec![made_text(if is_orphan { orphaned } else { "(no content)" })]
}

/// Returns an entry that the client makes up around one block.
fn made_entry(kind: &str, block: &Value) -> Entry {
    let value = json!({"type": kind, "message": {"content": [block]}});
    Entry { id: String::new(), parent: None, order: usize::MAX, value }
}

/// Returns a result block that the client makes up.
fn made_result(call: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": call, "made": true})
}

/// Returns a text block that the client makes up.
fn made_text(text: &str) -> Value {
    json!({"type": "text", "text": text, "made": true})
}

/// Returns a finished message with its blocks spelled in short.
fn spelled(draft: &Draft) -> Message {
    Message { role: draft.role, parts: draft.blocks.iter().map(spelled_block).collect() }
}

fn spelled_block(block: &Value) -> String {
    let is_made = block["made"] == true;
    match text(&block["type"]) {
        "text" if is_made => format!("made {}", text(&block["text"]).chars().take(20).collect::<String>()),
        "text" if block["wrapped"] == true => format!("wrapped {}", text(&block["text"])),
        "text" => format!("text {}", text(&block["text"])),
        "tool_use" => format!("call {}", text(&block["id"])),
        "tool_result" if is_made => format!("made result {}", text(&block["tool_use_id"])),
        "tool_result" => format!("result {}", text(&block["tool_use_id"])),
        other => other.to_owned(),
    }
}
