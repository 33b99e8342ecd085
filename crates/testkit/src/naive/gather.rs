//! The rest of each reply, section 5 of `docs/CHAIN.md`.

use super::{
    entry::{Entry, holds},
    load::File,
};

/// A stretch of the path into which entries are added (5.4).
struct Stretch<'f> {
    start: usize,
    end: usize,
    /// The missing entries, each with its place in line order; places between two lines end in a half.
    missing: Vec<(f64, &'f Entry)>,
    /// Context that goes directly after context on the path.
    behind: Vec<(&'f Entry, &'f Entry)>,
}

impl File {
    /// Returns a path with the missing entries of its replies added where they belong (5.4).
    pub(super) fn gather<'f>(&'f self, path: &[&'f Entry]) -> Vec<&'f Entry> {
        let mut taken = path.to_vec();
        let mut stretches: Vec<Stretch> =
            replies_on(path).into_iter().map(|reply| self.stretch(path, reply, &mut taken)).collect();
        stretches.retain(|stretch| !stretch.missing.is_empty() || !stretch.behind.is_empty());
        let mut whole = Vec::new();
        let mut done = 0;
        for mut stretch in joined(stretches) {
            stretch.missing.sort_by(|(one, a), (other, b)| one.total_cmp(other).then(a.order.cmp(&b.order)));
            whole.extend(&path[done..=stretch.start]);
            for &entry in &path[stretch.start + 1..stretch.end] {
                let (before, later) = stretch.missing.iter().partition(|(place, _)| *place < line_of(entry));
                stretch.missing = later;
                whole.extend(Vec::<(f64, &Entry)>::into_iter(before).map(|(_, entry)| entry));
                whole.push(entry);
                let behind = stretch.behind.iter().filter(|(spot, _)| spot.id == entry.id);
                whole.extend(behind.map(|(_, entry)| *entry));
            }
            whole.extend(stretch.missing.iter().map(|(_, entry)| *entry));
            done = stretch.end;
        }
        whole.extend(&path[done..]);
        whole
    }

    /// Returns what belongs to a reply and is not on the path (5.1 to 5.3), and where it goes.
    fn stretch<'f>(&'f self, path: &[&'f Entry], reply: &str, taken: &mut Vec<&'f Entry>) -> Stretch<'f> {
        let lines: Vec<&Entry> = self.entries.iter().filter(|entry| entry.reply() == Some(reply)).collect();
        let mut missing = lines.clone();
        missing.extend(self.results_hanging_on(&lines));
        missing.retain(|entry| !holds(taken, entry));
        let elsewhere = self.results_elsewhere(&lines, path, &missing, taken);
        let behind_lines = lines.iter().map(|line| line_of(line)).fold(0.0, f64::max) + 0.5;
        let mut missing: Vec<(f64, &Entry)> =
            missing.into_iter().map(|entry| (line_of(entry), entry)).collect();
        missing.extend(elsewhere.into_iter().map(|entry| (line_of(entry).max(behind_lines), entry)));
        taken.extend(missing.iter().map(|(_, entry)| *entry));

        let mut places = (0..path.len()).filter(|&place| path[place].reply() == Some(reply));
        let start = places.clone().next().unwrap_or(0);
        let end = places.next_back().unwrap_or(0) + 1;
        let end = end + path[end..].iter().take_while(|entry| continues(entry, Some(reply))).count();
        let mut behind = Vec::new();
        if lines.iter().any(|line| !line.calls().is_empty()) {
            for source in self.sources(&lines, taken) {
                let moved =
                    missing.iter().find(|(place, entry)| entry.id == source.id && *place > line_of(entry));
                let least = moved.map_or(0.0, |(place, _)| *place);
                let found = self.dead_ends_on(source, taken);
                missing.extend(found.into_iter().map(|entry| (line_of(entry).max(least), entry)));
            }
            for &context in path[start + 1..end].iter().filter(|entry| is_context(entry)) {
                behind.extend(self.dead_ends_on(context, taken).into_iter().map(|entry| (context, entry)));
            }
        }
        Stretch { start, end, missing, behind }
    }

    /// Returns the results that are children of the lines of a reply (5.2).
    fn results_hanging_on(&self, lines: &[&Entry]) -> Vec<&Entry> {
        let hanging = lines.iter().flat_map(|line| self.children(line));
        hanging.filter(|entry| entry.is_result()).collect()
    }

    /// Returns results of calls that no result was found for, which have another parent (5.2).
    fn results_elsewhere<'f>(
        &'f self,
        lines: &[&'f Entry],
        path: &[&'f Entry],
        missing: &[&'f Entry],
        taken: &[&'f Entry],
    ) -> Vec<&'f Entry> {
        let mut answered: Vec<String> =
            path.iter().chain(missing).flat_map(|entry| entry.results()).collect();
        let mut found = Vec::new();
        for entry in self.entries.iter().filter(|entry| !holds(taken, entry) && !holds(missing, entry)) {
            let callers = self.callers_elsewhere(entry);
            let answers_open_call = entry.results().iter().any(|call| {
                !answered.contains(call) && self.caller(call).is_some_and(|caller| holds(lines, caller))
            });
            if callers.iter().any(|caller| holds(lines, caller)) && answers_open_call {
                answered.extend(entry.results());
                found.push(entry);
            }
        }
        found
    }

    /// Returns the lines that make the calls of a result and on which it does not hang; none if all of its calls are made by
    /// its parent.
    fn callers_elsewhere(&self, result: &Entry) -> Vec<&Entry> {
        let parent = self.parent(result);
        let calls = parent.map(Entry::calls).unwrap_or_default();
        if result.results().iter().all(|call| calls.contains(call)) {
            return Vec::new();
        }
        let mut callers: Vec<&Entry> = result.results().iter().filter_map(|call| self.caller(call)).collect();
        callers.retain(|line| {
            parent.is_none_or(|parent| parent.id != line.id) && line.is_side() == result.is_side()
        });
        callers
    }

    /// Returns the last line that makes a call, unless several replies make it.
    fn caller(&self, call: &String) -> Option<&Entry> {
        let lines = self.entries.iter().filter(|entry| entry.reply().is_some());
        let callers: Vec<&Entry> = lines.filter(|entry| entry.calls().contains(call)).collect();
        let last = callers.last().copied()?;
        callers.iter().all(|line| line.is_of_reply(last)).then_some(last)
    }

    /// Returns the lines of a reply and its results that were taken.
    fn sources<'f>(&'f self, lines: &[&'f Entry], taken: &[&'f Entry]) -> Vec<&'f Entry> {
        let mut sources = lines.to_vec();
        let results = self.results_hanging_on(lines);
        sources.extend(results.into_iter().filter(|result| holds(taken, result)));
        sources.extend(self.entries.iter().filter(|entry| {
            holds(taken, entry) && self.callers_elsewhere(entry).iter().any(|line| holds(lines, line))
        }));
        sources
    }

    /// Returns the context that is a child of an entry in runs that lead to nothing else (5.3).
    fn dead_ends_on<'f>(&'f self, source: &'f Entry, taken: &mut Vec<&'f Entry>) -> Vec<&'f Entry> {
        let mut found = Vec::new();
        for child in self.children(source) {
            let run = self.dead_end(child, source, taken);
            taken.extend(&run);
            found.extend(run);
        }
        found
    }

    /// Returns an entry and its descendants, one after the other; nothing if that forks or has anything but context.
    fn dead_end<'f>(&'f self, top: &'f Entry, source: &Entry, taken: &[&'f Entry]) -> Vec<&'f Entry> {
        let mut run = vec![top];
        loop {
            let last = run[run.len() - 1];
            if holds(taken, last) || last.is_side() != source.is_side() || !is_context(last) {
                return Vec::new();
            }
            let below: Vec<&Entry> =
                self.children(last).into_iter().filter(|child| !holds(taken, child)).collect();
            match below[..] {
                [] => return run,
                [only] => run.push(only),
                _ => return Vec::new(),
            }
        }
    }
}

/// Returns the place of an entry in line order.
fn line_of(entry: &Entry) -> f64 {
    f64::from(u32::try_from(entry.order).unwrap_or(u32::MAX))
}

/// Joins stretches that overlap.
fn joined(mut stretches: Vec<Stretch>) -> Vec<Stretch> {
    stretches.sort_by_key(|stretch| stretch.start);
    let mut joined: Vec<Stretch> = Vec::new();
    for stretch in stretches {
        match joined.last_mut() {
            Some(last) if stretch.start < last.end => {
                last.end = last.end.max(stretch.end);
                last.missing.extend(stretch.missing);
                last.behind.extend(stretch.behind);
            }
            _ => joined.push(stretch),
        }
    }
    joined
}

/// Returns whether an entry is context: a system entry other than a boundary, an attachment, or an `isMeta` user entry.
pub(super) fn is_context(entry: &Entry) -> bool {
    match entry.kind() {
        "attachment" => true,
        "system" => !entry.is_boundary(),
        _ => entry.kind() == "user" && entry.flag("isMeta") && !entry.is_result(),
    }
}

/// Returns whether an entry continues a reply: a line of it, a result, or context.
pub(super) fn continues(entry: &Entry, reply: Option<&str>) -> bool {
    match entry.kind() {
        "assistant" => reply.is_some() && entry.reply() == reply,
        "user" => entry.flag("isMeta") || entry.is_result(),
        _ => is_context(entry),
    }
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
