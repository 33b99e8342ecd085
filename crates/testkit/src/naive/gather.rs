//! The rest of each reply, section 5 of `docs/CHAIN.md`.

use super::{
    entry::{Entry, holds},
    load::File,
};

impl File {
    /// Returns a path with the missing entries of its replies added where they belong (5.4).
    pub(super) fn gather<'f>(&'f self, path: &[&'f Entry]) -> Vec<&'f Entry> {
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
        let mut whole = Vec::new();
        for &entry in path {
            whole.extend(placed_at(entry, &before));
            whole.push(entry);
            whole.extend(placed_at(entry, &behind));
        }
        whole
    }

    /// Returns the entries that belong to a reply and are not on the path (5.1 to 5.3).
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

    /// Returns the results that are children of the lines of a reply (5.2).
    fn results_hanging_on(&self, lines: &[&Entry]) -> Vec<&Entry> {
        let hanging = lines.iter().flat_map(|line| self.children(line));
        hanging.filter(|entry| entry.is_result()).collect()
    }

    /// Returns the first result of a call in the file, unless one is on the path or was taken already (5.2).
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

    /// Returns the dead ends below a reply with calls, below its results, and below other dead ends (5.3).
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

    /// Returns whether an entry is context and nothing but context and lines of the reply hangs below it (5.3). An entry in a
    /// circle is no dead end.
    fn is_dead_end(&self, entry: &Entry, lines: &[&Entry], above: &[&Entry]) -> bool {
        if !is_context(entry) || holds(above, entry) {
            return false;
        }
        let above = [above, &[entry]].concat();
        let leads_nowhere = |child: &&Entry| holds(lines, child) || self.is_dead_end(child, lines, &above);
        self.children(entry).iter().all(leads_nowhere)
    }
}

/// Returns whether an entry is context: a main system entry, attachment or `isMeta` user entry.
pub(super) fn is_context(entry: &Entry) -> bool {
    let is_injected = entry.kind() == "user" && !entry.is_result() && entry.flag("isMeta");
    !entry.is_side() && (matches!(entry.kind(), "system" | "attachment") || is_injected)
}

/// Returns the entries that are placed at a spot.
fn placed_at<'f>(spot: &Entry, places: &[(&Entry, &'f Entry)]) -> Vec<&'f Entry> {
    places.iter().filter(|(place, _)| place.id == spot.id).map(|(_, entry)| *entry).collect()
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

/// Returns the spots of a reply (5.4): its lines on the path, each with the results and the context directly behind it.
fn spots<'f>(path: &[&'f Entry], reply: &str) -> Vec<&'f Entry> {
    let mut spots = Vec::new();
    for (place, line) in path.iter().enumerate().filter(|(_, entry)| entry.reply() == Some(reply)) {
        spots.push(*line);
        spots.extend(path[place + 1..].iter().take_while(|entry| entry.is_result() || is_context(entry)));
    }
    spots
}
