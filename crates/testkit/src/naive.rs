//! A second, naive implementation of `docs/CHAIN.md`: what Claude Code would send if it resumed a transcript.
//!
//! It shares no code with `annals-transcript`, so that property tests can compare the two. It builds no index and caches
//! nothing: every question is answered by a search through the whole file. The modules implement sections 1 to 6 of
//! `docs/CHAIN.md`: `load`, `preserve`, `leaf`, `walk`, `gather`, `request`.

mod entry;
mod gather;
mod leaf;
mod load;
mod preserve;
mod request;
mod walk;

use self::load::File;

/// One message of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks: `user` or `assistant`.
    pub role: &'static str,
    /// What is said, each block in a short spelling: `text hello`, `call id`, `result id`, `made result id`, `thinking`.
    pub parts: Vec<String>,
}

/// Returns the messages that Claude Code would send if it resumed the transcript; `None` if it would refuse to.
pub fn model(file: &[u8]) -> Option<Vec<Message>> {
    let mut file = File::load(file);
    file.keep_preserved();
    if file.last_prompt.is_rewound_to_start {
        return Some(Vec::new());
    }
    let leaf = file.leaf()?;
    let last = file.last_message(leaf);
    if last.is_side() || last.time().is_none() {
        return None;
    }
    let mut path = file.gather(&file.walk(last));
    path.extend(file.trailers(last, &path));
    Some(request::messages(&path))
}
