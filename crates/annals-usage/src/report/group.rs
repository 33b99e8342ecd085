//! Which row a response belongs to.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::{By, ReportOptions, ReportRow};
use crate::calendar::{Calendar, Period};
use crate::ledger::{Ledger, Response};
use crate::names::NameId;
use crate::reply::NO_TIME;
use crate::window::{Window, window_of, windows};

/// What a group is made of: a start, or the number of a session, project, name or window. `None` is what is not known.
type Of = Option<i64>;

/// Puts responses into groups, which are numbered in the order in which they come.
#[derive(Clone)]
pub(super) struct Grouper<'a> {
    ledger: &'a Ledger,
    by: By,
    calendar: Calendar,
    windows: Vec<Window>,
    /// The number of the project of each session.
    projects: Vec<Of>,
    project_names: Vec<&'a str>,
    groups: Vec<Of>,
    numbers: HashMap<Of, u32, FixedState>,
    last: Option<(Of, u32)>,
}

impl<'a> Grouper<'a> {
    pub(super) fn new(ledger: &'a Ledger, options: &ReportOptions) -> Self {
        let period = match options.by {
            By::Week => Period::Week,
            By::Month => Period::Month,
            _ => Period::Day,
        };
        let (projects, project_names) = projects(ledger);
        Self {
            ledger,
            by: options.by,
            calendar: Calendar::new(options.zone.clone(), period, options.weeks),
            windows: if options.by == By::Block { all_windows(ledger, options) } else { Vec::new() },
            projects,
            project_names,
            groups: Vec::new(),
            numbers: HashMap::default(),
            last: None,
        }
    }

    /// Returns the group of a response.
    pub(super) fn group(&mut self, response: &Response) -> u32 {
        let of = self.of(response);
        self.number(of)
    }

    /// Returns the numbers that the groups of another grouper have here.
    pub(super) fn numbers_of(&mut self, other: &Self) -> Vec<u32> {
        other.groups.iter().map(|of| self.number(*of)).collect()
    }

    fn number(&mut self, of: Of) -> u32 {
        if let Some((_, group)) = self.last.filter(|(last, _)| *last == of) {
            return group;
        }
        let next = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        let group = *self.numbers.entry(of).or_insert(next);
        if group == next {
            self.groups.push(of);
        }
        self.last = Some((of, group));
        group
    }

    fn of(&mut self, response: &Response) -> Of {
        let count = &response.count;
        match self.by {
            By::Day | By::Week | By::Month | By::Block if count.time == NO_TIME => None,
            By::Day | By::Week | By::Month => self.calendar.start_of(count.time),
            By::Session => Some(i64::from(response.session)),
            By::Project => self.projects[response.session as usize],
            By::Branch => known_name(count.branch),
            By::Model => known_name(count.model),
            By::Block => window_of(&self.windows, count.time).and_then(|window| i64::try_from(window).ok()),
        }
    }

    /// Returns an empty row for each group.
    pub(super) fn rows(&self) -> Vec<ReportRow> {
        self.groups.iter().map(|of| self.row(*of)).collect()
    }

    /// Returns whether a group has this key. A key of a session may be the beginning of its id.
    pub(super) fn is(&self, group: u32, key: &str) -> bool {
        let found = self.row(self.groups[group as usize]).key;
        found == key || self.by == By::Session && key.len() >= 4 && found.starts_with(key)
    }

    fn row(&self, of: Of) -> ReportRow {
        let Some(of) = of else { return ReportRow::default() };
        let index = usize::try_from(of).unwrap_or(0);
        match self.by {
            By::Day | By::Week | By::Month => {
                ReportRow { key: self.calendar.name_of(of), start: Some(of), ..ReportRow::default() }
            }
            By::Session => {
                let session = &self.ledger.sessions[index];
                ReportRow {
                    key: session.id.clone(),
                    project: session.project.clone(),
                    ..ReportRow::default()
                }
            }
            By::Project => ReportRow { key: self.project_names[index].to_owned(), ..ReportRow::default() },
            By::Branch | By::Model => {
                let name = u32::try_from(of).map_or("", |id| self.ledger.names.text(id));
                ReportRow { key: name.to_owned(), ..ReportRow::default() }
            }
            By::Block => {
                let window = self.windows[index];
                let key = jiff::Timestamp::from_millisecond(window.start)
                    .map_or_else(|_| String::new(), |start| start.to_string());
                ReportRow { key, start: Some(window.start), window: Some(window), ..ReportRow::default() }
            }
        }
    }
}

fn known_name(name: NameId) -> Of {
    (name != 0).then_some(i64::from(name))
}

/// Returns the number of the project of each session, and the names of projects.
fn projects(ledger: &Ledger) -> (Vec<Of>, Vec<&str>) {
    let mut numbers: HashMap<&str, i64> = HashMap::new();
    let mut names = Vec::new();
    let mut projects = Vec::with_capacity(ledger.sessions.len());
    for session in &ledger.sessions {
        let Some(project) = session.project.as_deref() else {
            projects.push(None);
            continue;
        };
        let next = i64::try_from(names.len()).unwrap_or(i64::MAX);
        let number = *numbers.entry(project).or_insert(next);
        if number == next {
            names.push(project);
        }
        projects.push(Some(number));
    }
    (projects, names)
}

/// Returns the windows of all responses, whichever of them the report is about: a window belongs to an account.
fn all_windows(ledger: &Ledger, options: &ReportOptions) -> Vec<Window> {
    let times = ledger.responses().map(|response| response.count.time);
    let mut times: Vec<_> = times.filter(|time| *time != NO_TIME).collect();
    times.sort_unstable();
    let mut ends = options.window_ends.clone();
    ends.extend(ledger.sessions.iter().flat_map(|session| &session.resets));
    windows(&times, &ends)
}
