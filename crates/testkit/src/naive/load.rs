//! Loading, section 1 of `docs/CHAIN.md`.

use std::collections::HashMap;

use serde_json::Value;

use super::entry::{Entry, text};

/// The id of all entries without an id, which replace each other (1.2).
pub(super) const NO_ID: &str = "(no id)";

/// A transcript as Claude Code loads it.
#[derive(Debug, Default)]
pub(super) struct File {
    /// The loaded entries in line order.
    pub(super) entries: Vec<Entry>,
    /// All lines that were loaded and are not in a sidechain, duplicates and entries that were forgotten since too.
    pub(super) main_lines: Vec<Entry>,
    pub(super) last_prompt: LastPrompt,
    /// Whether a `last-prompt` of the file has a `leafUuid`.
    pub(super) has_last_prompt: bool,
    /// The parent of each message without content.
    contentless: HashMap<String, Option<String>>,
    /// Whether preserved messages were re-linked (2.6).
    pub(super) relinked: bool,
    /// Whether the type of a message is anywhere in the file (3.7).
    pub(super) names_messages: bool,
}

/// What the last `last-prompt` says (1.4).
#[derive(Debug, Default)]
pub(super) struct LastPrompt {
    pub(super) leaf: Option<String>,
    /// Whether it is explicit, or repeats the leaf of an explicit one, and no main entry was read after it.
    pub(super) explicit: bool,
    /// The same, whatever was read after it.
    pub(super) was_explicit: bool,
    pub(super) is_rewound_to_start: bool,
}

impl File {
    /// Reads a transcript line by line. Lines that are not JSON are ignored.
    pub(super) fn load(bytes: &[u8]) -> Self {
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

    /// Returns a parent. If it is a message without content, its own parent takes its place; a circle of these gives `None`
    /// (1.2a).
    fn resolved(&self, mut parent: Option<String>) -> Option<String> {
        let mut passed = Vec::new();
        while let Some(id) = parent.clone()
            && self.entry(&id).is_none()
            && let Some(above) = self.contentless.get(&id)
        {
            if passed.contains(&id) {
                return None;
            }
            passed.push(id);
            parent.clone_from(above);
        }
        parent
    }

    /// Reads one line. `bridges` has the parent of each progress entry, which takes its place (1.3).
    fn add_line(&mut self, value: Value, bridges: &mut HashMap<String, Option<String>>) {
        let id = value["uuid"].as_str().map(str::to_owned);
        let parent = value["parentUuid"].as_str().map(str::to_owned);
        let parent = parent.and_then(|parent| bridges.get(&parent).cloned().unwrap_or(Some(parent)));
        match (text(&value["type"]), id) {
            ("progress", Some(id)) => {
                bridges.insert(id, parent);
            }
            ("user" | "assistant" | "system" | "attachment", id) => {
                let id = id.unwrap_or_else(|| NO_ID.to_owned());
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

    /// Adds an entry. Of two with the same id, the place of the first and the content of the last count (1.2).
    fn add_entry(&mut self, mut entry: Entry) {
        if !entry.is_side() {
            self.last_prompt.explicit = false;
            self.last_prompt.is_rewound_to_start = false;
            self.main_lines.push(entry.clone());
        }
        if entry.is_boundary() {
            self.last_prompt.leaf = None;
            self.last_prompt.explicit = false;
            self.last_prompt.was_explicit = false;
        }
        match self.entries.iter_mut().find(|other| other.id == entry.id) {
            Some(first) => {
                entry.order = first.order;
                *first = entry;
            }
            None => self.entries.push(entry),
        }
    }

    /// Remembers the leaf that a `last-prompt` names, or that it rewinds to before the first message (1.4).
    fn add_last_prompt(&mut self, value: &Value) {
        let leaf = value["leafUuid"].as_str().map(str::to_owned);
        let explicit = value["explicit"] == true;
        self.has_last_prompt |= value.get("leafUuid").is_some();
        let last = &mut self.last_prompt;
        if leaf.is_some() {
            let repeats = last.leaf == leaf;
            last.explicit = explicit || last.explicit && repeats;
            last.was_explicit = explicit || last.was_explicit && repeats;
            last.is_rewound_to_start = false;
            last.leaf = leaf;
        } else if explicit && value.get("leafUuid") == Some(&Value::Null) {
            *last = LastPrompt { is_rewound_to_start: true, ..LastPrompt::default() };
        }
    }

    /// Returns the entry with an id; `None` if there is none or it was forgotten (2.4).
    pub(super) fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// Returns the parent of an entry; `None` if it is not in the file.
    pub(super) fn parent(&self, entry: &Entry) -> Option<&Entry> {
        self.entry(entry.parent.as_ref()?)
    }

    /// Returns the children of an entry, in line order.
    pub(super) fn children(&self, entry: &Entry) -> Vec<&Entry> {
        self.entries.iter().filter(|child| child.parent.as_ref() == Some(&entry.id)).collect()
    }
}
