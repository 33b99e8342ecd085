//! Hits of a search, for people: grouped by session, with the match marked and the command that opens each.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;

use annals_api::SearchOutcome;
use annals_engine::TranscriptFile;
use annals_proto::{SearchField, SearchHit, SearchPlace};
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use super::command::{self, shell_word};
use super::words::MARK;
use super::{BOLD, CYAN, DIM, RED, ago, clean, count, cut, cut_start, local_time, masked};
use crate::failure::Failure;

/// The columns before a snippet: two blanks, the part of the message, and two blanks.
const LABEL: usize = 14;
const INDENT: usize = 2 + LABEL + 2;
/// The columns before time and command where the terminal is too narrow for them below the snippet.
const NARROW_INDENT: usize = 4;
/// The narrowest that a snippet is.
const NARROWEST: usize = 24;
/// A hit names at most so many of the other sessions that have it.
const SHOWN_PLACES: usize = 3;
/// Longer queries are not repeated in commands, in bytes.
const LONGEST_MARK: usize = 200;

/// Prints hits.
pub(crate) struct Printer {
    /// The width of the terminal, if there is one.
    pub(crate) columns: Option<usize>,
    /// The words that `show` is to mark.
    pub(crate) mark: Option<String>,
    /// The ids of all sessions, sorted, among which a shortened one has to be clear.
    pub(crate) session_ids: Vec<String>,
    pub(crate) is_flat: bool,
}

/// Returns how wide snippets are on a terminal.
pub(crate) fn snippet_width(columns: usize) -> usize {
    // The longest lines are hard to read.
    columns.saturating_sub(INDENT).clamp(NARROWEST, 160)
}

impl Printer {
    pub(crate) fn print(&self, out: &mut dyn Write, found: &SearchOutcome) -> Result<(), Failure> {
        let now = Timestamp::now();
        let mut files = found.files.iter();
        let hits = &found.result.hits;
        let groups = hits.chunk_by(|one, other| !self.is_flat && one.session == other.session);
        for (number, hits) in groups.enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            self.session(out, hits, now)?;
            hits.iter().zip(&mut files).try_for_each(|(hit, file)| self.hit(out, hit, file))?;
        }
        Ok(())
    }

    /// Prints what is known of a session with these hits: its title, and below it project, time and number of matches.
    fn session(&self, out: &mut dyn Write, hits: &[SearchHit], now: Timestamp) -> Result<(), Failure> {
        let Some(hit) = hits.first() else { return Ok(()) };
        let title = hit.title.as_deref().map(super::title_line);
        let title = title.unwrap_or_else(|| "(untitled)".to_owned());
        let title = clean(&title).into_owned();
        writeln!(
            out,
            "{BOLD}{}{BOLD:#}",
            self.columns.map_or(title.clone(), |columns| cut(&title, columns))
        )?;
        let time = hits.iter().filter_map(time_of).max();
        let matches = (!self.is_flat && hit.in_session > 1).then(|| super::matches(hit.in_session));
        let id = hit.session.as_deref().map(|id| self.session_name(id).unwrap_or(id).to_owned());
        let facts = [id, time.map(|time| ago(time, now)), matches];
        let facts: Vec<_> = facts.into_iter().flatten().collect();
        let facts = clean(&facts.join(" · ")).into_owned();
        let project = hit.project_path.as_deref().map(|path| clean(path).into_owned()).unwrap_or_default();
        let room = self.columns.map(|columns| columns.saturating_sub(facts.width() + 3).max(8));
        let project = room.map_or(project.clone(), |room| cut_start(&project, room));
        let line = if project.is_empty() { facts } else { format!("{project} · {facts}") };
        let line = self.columns.map_or(line.clone(), |columns| cut(&line, columns));
        writeln!(out, "{DIM}{line}{DIM:#}")?;
        Ok(())
    }

    /// Prints a hit: what it is, its snippet, and the command that opens it.
    fn hit(&self, out: &mut dyn Write, hit: &SearchHit, file: &TranscriptFile) -> Result<(), Failure> {
        let label = cut(&clean(&label(hit)), LABEL);
        let pad = " ".repeat(LABEL.saturating_sub(label.width()));
        let style = if hit.error { RED } else { CYAN };
        writeln!(out, "  {style}{label}{style:#}{pad}  {}", marked(hit))?;
        let parts = [time_of(hit).map(local_time), self.command(hit, file)];
        let line = parts.into_iter().flatten().collect::<Vec<_>>().join("  ");
        let pad = " ".repeat(self.indent_of(&line));
        writeln!(out, "{pad}{DIM}{line}{DIM:#}")?;
        if let Some(places) = self.other_places(hit) {
            let pad = " ".repeat(INDENT);
            writeln!(out, "{pad}{DIM}{places}{DIM:#}")?;
        }
        Ok(())
    }

    /// Returns the columns before a line with a command, which must not be cut: people copy it.
    fn indent_of(&self, line: &str) -> usize {
        let fits = self.columns.is_none_or(|columns| INDENT + line.width() <= columns);
        if fits { INDENT } else { NARROW_INDENT }
    }

    /// Returns where else the message of a hit stands; `None` if nowhere.
    fn other_places(&self, hit: &SearchHit) -> Option<String> {
        let names: Vec<_> =
            hit.also_in.iter().filter_map(|place| self.place_name(place)).take(SHOWN_PLACES).collect();
        if names.is_empty() {
            return None;
        }
        let is_agent = hit.also_in.iter().any(|place| place.agent_id.is_some());
        let places = count(hit.copies, if is_agent { "transcript" } else { "session" });
        let more = if hit.copies > names.len() { ", …" } else { "" };
        let line = clean(&format!("also in {places}: {}{more}", names.join(", "))).into_owned();
        Some(self.columns.map_or(line.clone(), |columns| cut(&line, columns.saturating_sub(INDENT))))
    }

    /// Returns the command that opens a hit.
    fn command(&self, hit: &SearchHit, file: &TranscriptFile) -> Option<String> {
        let name: Cow<'_, str> = match (&hit.agent_id, &hit.session) {
            (Some(agent), _) => agent.into(),
            (None, Some(session)) => {
                self.session_name(session).map_or_else(|| file.path.to_string_lossy(), Into::into)
            }
            (None, None) => return None,
        };
        let mut words = vec!["annals".to_owned(), "show".to_owned(), shell_word(&name)];
        if let Some(uuid) = &hit.uuid {
            words.extend(["--at".to_owned(), shell_word(&short_id(uuid))]);
            words.extend(self.mark.as_deref().and_then(mark_option));
        }
        Some(clean(&command::command(&words.join(" "))).into_owned())
    }

    /// Returns the name of an agent, or the beginning of the id of a session.
    fn place_name<'p>(&self, place: &'p SearchPlace) -> Option<&'p str> {
        let session = place.session.as_deref();
        place.agent_id.as_deref().or_else(|| session.map(|id| self.session_name(id).unwrap_or(id)))
    }

    /// Returns the beginning of the id of a session that means no other one; `None` if several sessions have the id.
    fn session_name<'i>(&self, id: &'i str) -> Option<&'i str> {
        let start = self.session_ids.partition_point(|known| known.as_str() < id);
        let (before, from) = self.session_ids.split_at(start);
        let after = match from {
            [this, next, ..] if this == id && next == id => return None,
            [this, after @ ..] if this == id => after,
            after => after,
        };
        let neighbours = before.last().into_iter().chain(after.first());
        let needed = neighbours.map(|other| shared_bytes(id, other) + 1).max().unwrap_or(0);
        Some(id.get(..needed.max(short_id(id).len())).unwrap_or(id))
    }
}

/// Returns how many bytes two texts have in common at their beginning.
fn shared_bytes(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

/// Returns the option with which `show` marks the words of a query; `None` if the query does not fit on a command line.
fn mark_option(query: &str) -> Option<String> {
    if query.len() > LONGEST_MARK || query.contains(char::is_control) {
        return None;
    }
    // A word with a hyphen before it would look like an option.
    let gap = if query.starts_with('-') { '=' } else { ' ' };
    Some(format!("--mark{gap}{}", shell_word(query)))
}

fn time_of(hit: &SearchHit) -> Option<Timestamp> {
    hit.timestamp.as_deref()?.parse().ok()
}

/// Returns what a hit is, in a word or two.
fn label(hit: &SearchHit) -> String {
    let field = match hit.field {
        SearchField::Notification => "notice",
        field => field.word(),
    };
    match (&hit.tool, &hit.agent_id) {
        // A long name is cut, so that the part can still be read.
        (Some(tool), _) => format!("{} {field}", cut(&clean(tool), LABEL.saturating_sub(field.width() + 1))),
        (None, Some(_)) => format!("agent {field}"),
        (None, None) => field.to_owned(),
    }
}

/// Returns the snippet of a hit with its matches marked. It was masked as part of a whole text.
fn marked(hit: &SearchHit) -> String {
    let snippet: Vec<char> = hit.snippet.chars().collect();
    // Masking the snippet once more changes nothing, unless a cut made a secret of what was none.
    if masked(&hit.snippet) != hit.snippet {
        return clean(&hit.snippet).into_owned();
    }
    let mut line = String::new();
    let mut at = 0;
    for &(start, end) in &hit.matches {
        line.push_str(&piece(&snippet, at, start));
        let _ = write!(line, "{MARK}{}{MARK:#}", piece(&snippet, start, end));
        at = end;
    }
    line + &piece(&snippet, at, snippet.len())
}

/// Returns some characters of a snippet, made safe for a terminal.
fn piece(snippet: &[char], from: usize, to: usize) -> String {
    let (from, to) = (from.min(snippet.len()), to.min(snippet.len()));
    let text: String = snippet[from..to.max(from)].iter().collect();
    super::clean::clean_piece(&text).into_owned()
}

/// Returns the beginning of an id that commands take: all of it if it is not one that Claude Code made.
fn short_id(id: &str) -> String {
    let is_uuid = id.len() == 36 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if is_uuid { id.chars().take(8).collect() } else { id.to_owned() }
}

/// Returns `1 match`, `2 matches`.
pub(crate) fn matches(matches: usize) -> String {
    if matches == 1 {
        "1 match".to_owned()
    } else {
        format!("{}es", count(matches, "match").trim_end_matches('s'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_counted() {
        assert_eq!([0, 1, 2, 12_000].map(matches), ["0 matches", "1 match", "2 matches", "12,000 matches"]);
    }

    #[test]
    fn ids_are_shortened_only_if_they_are_uuids() {
        assert_eq!(short_id("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55"), "3e11a6b4");
        assert_eq!(short_id("u1"), "u1");
    }
}
