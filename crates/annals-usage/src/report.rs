//! Reports: responses added up by day, session, model and so on.

mod cells;
mod group;

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};

use foldhash::fast::FixedState;
use jiff::tz::TimeZone;

use crate::calendar::Weeks;
use crate::ledger::{Ledger, Response};
use crate::money::Money;
use crate::names::NameId;
use crate::price::{Price, Prices, us_geography};
use crate::reply::NO_TIME;
use crate::window::{BurnRate, Window};

use cells::PricedReply;
pub use cells::{Cells, Cost, CostKind, Tokens};
use group::Grouper;

/// What a row of a report stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum By {
    /// A day.
    #[default]
    Day,
    /// A week.
    Week,
    /// A month.
    Month,
    /// A session with its subagents.
    Session,
    /// The working directory that sessions began in.
    Project,
    /// The branch that was checked out.
    Branch,
    /// A model.
    Model,
    /// A five-hour window.
    Block,
}

/// Where costs come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CostMode {
    /// The recorded cost if there is one, else tokens times prices.
    #[default]
    Auto,
    /// Tokens by their prices.
    Calculate,
    /// Only recorded costs.
    Recorded,
}

/// What a report is about.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// What rows are grouped by.
    pub by: By,
    /// The time zone of days, weeks and months.
    pub zone: TimeZone,
    /// The first day of weeks.
    pub weeks: Weeks,
    /// Only responses at this time, in milliseconds since 1970, or later.
    pub since: Option<i64>,
    /// Only responses before this time.
    pub until: Option<i64>,
    /// Only responses of these sessions.
    pub sessions: Option<HashSet<String>>,
    /// Only responses on this branch.
    pub branch: Option<String>,
    /// Only responses that no transcript on disk has any more.
    pub kept_only: bool,
    /// Where costs come from.
    pub cost_mode: CostMode,
    /// The ends of five-hour windows that are known.
    pub window_ends: Vec<i64>,
    /// Whether status lines recorded how much of a plan is used: costs are then what the API would charge, and not what is paid.
    pub has_plan: bool,
    /// The present, in milliseconds since 1970.
    pub now: i64,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            by: By::Day,
            zone: TimeZone::UTC,
            weeks: Weeks::default(),
            since: None,
            until: None,
            sessions: None,
            branch: None,
            kept_only: false,
            cost_mode: CostMode::Auto,
            window_ends: Vec::new(),
            has_plan: false,
            now: 0,
        }
    }
}

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The rows: in the order of time, or the most expensive first.
    pub rows: Vec<ReportRow>,
    /// Everything.
    pub total: ReportRow,
}

/// A row of a report.
#[derive(Clone, Debug, Default)]
pub struct ReportRow {
    /// What it stands for; empty for the total and for what is not known, such as the branch of old lines.
    pub key: String,
    /// When its period begins.
    pub start: Option<i64>,
    /// The sum of its responses.
    pub cells: Cells,
    /// The part of subagents in it.
    pub agents: Cells,
    /// The sum for each model, the most expensive first.
    pub models: Vec<ModelRow>,
    /// The models whose price is not known, or not for all of their tokens.
    pub unpriced: Vec<String>,
    /// The directory of a session.
    pub project: Option<String>,
    /// How many sessions there are responses of.
    pub sessions: u64,
    /// What Claude Code itself counted.
    pub client: Option<ClientTotal>,
    /// The five-hour window.
    pub window: Option<Window>,
    /// How fast the window is used, if it is the present one.
    pub burn_rate: Option<BurnRate>,
}

/// The sum for one model.
#[derive(Clone, Debug)]
pub struct ModelRow {
    /// The model.
    pub name: String,
    /// The sum of its responses.
    pub cells: Cells,
}

/// What Claude Code itself counted for sessions, beside what their transcripts have. The two are never added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientTotal {
    /// How many sessions have such a count that can be trusted.
    pub sessions: u64,
    /// What they cost by it.
    pub cost: Money,
    /// What the transcripts of the same sessions cost.
    pub transcript: Money,
}

impl ClientTotal {
    /// Returns what no line of a transcript accounts for: titles, summaries, aborted requests.
    pub fn unattributed(&self) -> Money {
        self.cost - self.transcript
    }

    /// Returns how much of the cost the transcripts account for, in percent.
    pub fn coverage(&self) -> Option<f64> {
        (self.cost > Money::default()).then(|| self.transcript.dollars() / self.cost.dollars() * 100.0)
    }
}

impl Report {
    /// Adds responses up.
    pub fn new(ledger: &Ledger, prices: &Prices, options: &ReportOptions) -> Self {
        let (grouper, sums) = add_up(ledger, prices, options);
        let mut rows = sums.rows(ledger, &grouper);
        let mut total = total(&rows);
        total.sessions =
            sums.sessions.iter().map(|(_, session)| *session).collect::<HashSet<_>>().len() as u64;
        // What Claude Code counted cannot be split.
        if options.since.is_none() && options.until.is_none() && options.branch.is_none() {
            add_client(ledger, &sums, &mut rows, &mut total, options.by);
        }
        for row in &mut rows {
            row.burn_rate = row.window.and_then(|window| burn_rate(row, &window, options.now));
        }
        sort(&mut rows, options.by);
        Self { rows, total }
    }

    /// Returns all responses that a report is about, each with its cost.
    pub fn costs(
        ledger: &Ledger,
        prices: &Prices,
        options: &ReportOptions,
    ) -> Vec<(Response, Option<Money>)> {
        let mut found = Vec::new();
        visit(ledger, prices, options, |response, priced| found.push((*response, priced.cost())));
        found
    }

    /// Returns the responses of the row with a key, in the order of time, each with its cost.
    pub fn why(
        ledger: &Ledger,
        prices: &Prices,
        options: &ReportOptions,
        key: &str,
    ) -> Vec<(Response, Option<Money>)> {
        let mut grouper = Grouper::new(ledger, options);
        let mut found = Vec::new();
        visit(ledger, prices, options, |response, priced| {
            let group = grouper.group(response);
            if grouper.is(group, key) {
                found.push((*response, priced.cost()));
            }
        });
        found.sort_by_key(|(Response { count, file, .. }, _)| (count.time, *file, count.line, count.message));
        found
    }
}

/// To start a thread takes as much time as to add up so many responses.
const FEW: usize = 4_000;

/// Adds up the responses that a report is about, by their groups.
fn add_up<'a>(ledger: &'a Ledger, prices: &Prices, options: &ReportOptions) -> (Grouper<'a>, Sums) {
    let mut grouper = Grouper::new(ledger, options);
    if ledger.len() < FEW {
        let sums = add_up_some(ledger, prices, options, &mut grouper, ledger.responses());
        return (grouper, sums);
    }
    let mut other_grouper = grouper.clone();
    let (mut sums, other) = std::thread::scope(|scope| {
        let other =
            scope.spawn(|| add_up_some(ledger, prices, options, &mut other_grouper, ledger.half(false)));
        let sums = add_up_some(ledger, prices, options, &mut grouper, ledger.half(true));
        (sums, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    sums.merge(other, &grouper.numbers_of(&other_grouper));
    (grouper, sums)
}

fn add_up_some(
    ledger: &Ledger,
    prices: &Prices,
    options: &ReportOptions,
    grouper: &mut Grouper<'_>,
    responses: impl Iterator<Item = Response>,
) -> Sums {
    let mut sums = Sums::default();
    visit_some(ledger, prices, options, responses, |response, priced| {
        let group = grouper.group(response);
        sums.add(group, response, priced);
    });
    sums
}

/// Visits the responses that a report is about, each with its cost.
fn visit(
    ledger: &Ledger,
    prices: &Prices,
    options: &ReportOptions,
    visit: impl FnMut(&Response, &PricedReply),
) {
    visit_some(ledger, prices, options, ledger.responses(), visit);
}

fn visit_some(
    ledger: &Ledger,
    prices: &Prices,
    options: &ReportOptions,
    responses: impl Iterator<Item = Response>,
    mut visit: impl FnMut(&Response, &PricedReply),
) {
    let mut prices = prices.of_names(&ledger.names);
    let us = us_geography(&ledger.names);
    let selection = Selection::new(ledger, options);
    responses.filter(|response| selection.has(response)).for_each(|response| {
        let price = prices.of(response.count.model);
        visit(&response, &priced(&response, price, us, options.cost_mode));
    });
}

/// Which responses a report is about.
struct Selection<'a> {
    options: &'a ReportOptions,
    has_times: bool,
    /// For each session, whether it is wanted.
    sessions: Option<Vec<bool>>,
    /// The number of the name of the branch; one that no name has, if it is not known.
    branch: Option<NameId>,
}

impl<'a> Selection<'a> {
    fn new(ledger: &Ledger, options: &'a ReportOptions) -> Self {
        let sessions = options
            .sessions
            .as_ref()
            .map(|wanted| ledger.sessions.iter().map(|session| wanted.contains(&session.id)).collect());
        Self {
            options,
            has_times: options.since.is_some() || options.until.is_some(),
            sessions,
            branch: options.branch.as_ref().map(|name| ledger.names.find(name).unwrap_or(NameId::MAX)),
        }
    }

    fn has(&self, response: &Response) -> bool {
        (!self.has_times || self.has_time(response.count.time))
            && (!self.options.kept_only || response.is_kept)
            && self.branch.is_none_or(|branch| branch == response.count.branch)
            && self.sessions.as_ref().is_none_or(|wanted| wanted[response.session as usize])
    }

    /// Returns whether a time is one that is asked for.
    fn has_time(&self, time: i64) -> bool {
        let ReportOptions { since, until, .. } = self.options;
        time != NO_TIME && since.is_none_or(|since| since <= time) && until.is_none_or(|until| time < until)
    }
}

fn priced(response: &Response, price: Option<&Price<'_>>, us: Option<NameId>, mode: CostMode) -> PricedReply {
    let count = &response.count;
    match (mode, count.recorded) {
        (CostMode::Auto | CostMode::Recorded, Some(cost)) => PricedReply::Recorded(cost),
        (CostMode::Recorded, None) => PricedReply::NotRecorded,
        (CostMode::Auto | CostMode::Calculate, _) => {
            let cost = price.and_then(|price| price.cost(count, us == Some(count.geography)));
            cost.map_or(PricedReply::Unpriced, PricedReply::Calculated)
        }
    }
}

/// Sums of responses while they are added up.
#[derive(Default)]
struct Sums {
    /// For each group and model: everything, and the part of subagents.
    cells: Vec<(u32, NameId, [Cells; 2])>,
    places: HashMap<(u32, NameId), usize, FixedState>,
    last: usize,
    /// The groups that each session has responses in.
    sessions: HashSet<(u32, u32), FixedState>,
    last_session: Option<(u32, u32)>,
    /// The cost of each session, unless that of a response is unknown, and its models.
    by_session: HashMap<u32, (Option<Money>, BTreeSet<NameId>), FixedState>,
}

impl Sums {
    fn add(&mut self, group: u32, response: &Response, priced: &PricedReply) {
        let model = response.count.model;
        let [all, agents] = self.cell(group, model);
        all.add(response, priced);
        if response.is_sidechain() {
            agents.add(response, priced);
        }
        let session = (group, response.session);
        if self.last_session.replace(session) != Some(session) {
            self.sessions.insert(session);
        }
        let by_session = self.by_session.entry(response.session);
        let (cost, models) = by_session.or_insert_with(|| (Some(Money::default()), BTreeSet::new()));
        match (cost.as_mut(), priced.cost()) {
            (Some(sum), Some(more)) => *sum += more,
            _ => *cost = None,
        }
        models.insert(model);
    }

    /// Returns the sums of a group and a model, which are mostly those of the response before.
    fn cell(&mut self, group: u32, model: NameId) -> &mut [Cells; 2] {
        let is_last = self.cells.get(self.last).is_some_and(|cell| (cell.0, cell.1) == (group, model));
        if !is_last {
            let next = self.cells.len();
            self.last = *self.places.entry((group, model)).or_insert(next);
            if self.last == next {
                self.cells.push((group, model, Default::default()));
            }
        }
        &mut self.cells[self.last].2
    }

    /// Adds other sums, whose groups have these numbers here.
    #[expect(clippy::iter_over_hash_type, reason = "sums do not depend on an order")]
    fn merge(&mut self, other: Self, groups: &[u32]) {
        for (group, model, [all, agents]) in &other.cells {
            let mine = self.cell(groups[*group as usize], *model);
            mine[0].merge(all);
            mine[1].merge(agents);
        }
        self.sessions
            .extend(other.sessions.iter().map(|(group, session)| (groups[*group as usize], *session)));
        for (session, (cost, models)) in other.by_session {
            let mine =
                self.by_session.entry(session).or_insert_with(|| (Some(Money::default()), BTreeSet::new()));
            mine.0 = mine.0.zip(cost).map(|(mine, theirs)| mine + theirs);
            mine.1.extend(models);
        }
    }

    /// Returns a row for each group.
    fn rows(&self, ledger: &Ledger, grouper: &Grouper<'_>) -> Vec<ReportRow> {
        let mut rows = grouper.rows();
        for (group, model, [all, agents]) in &self.cells {
            let row = &mut rows[*group as usize];
            row.cells.merge(all);
            row.agents.merge(agents);
            row.models.push(ModelRow { name: ledger.names.text(*model).to_owned(), cells: *all });
        }
        let mut sessions: Vec<_> = self.sessions.iter().map(|(group, _)| *group).collect();
        sessions.sort_unstable();
        for group in sessions {
            rows[group as usize].sessions += 1;
        }
        rows.iter_mut().for_each(ReportRow::finish);
        rows
    }
}

impl ReportRow {
    /// Sorts the models, and lists those without a price.
    fn finish(&mut self) {
        self.models.sort_by(|one, other| {
            most_first(&one.cells, &other.cells).then_with(|| one.name.cmp(&other.name))
        });
        let unpriced = self.models.iter().filter(|model| model.cells.cost.unpriced > 0);
        self.unpriced = unpriced.map(|model| model.name.clone()).collect();
        self.unpriced.sort();
    }
}

impl Report {
    /// Returns at most `limit` rows: the latest days, weeks, months or windows, and the first of all others.
    pub fn shown(&self, by: By, limit: usize) -> &[ReportRow] {
        if self.rows.len() <= limit {
            return &self.rows;
        }
        match by {
            By::Day | By::Week | By::Month | By::Block => {
                // The row of responses without a time comes last.
                let timed = self.rows.iter().take_while(|row| row.start.is_some()).count();
                let end = if timed == 0 { self.rows.len() } else { timed };
                &self.rows[end.saturating_sub(limit)..end]
            }
            By::Session | By::Project | By::Branch | By::Model => &self.rows[..limit],
        }
    }
}

fn total(rows: &[ReportRow]) -> ReportRow {
    let mut total = ReportRow::default();
    let mut models: HashMap<&str, Cells> = HashMap::new();
    for row in rows {
        total.cells.merge(&row.cells);
        total.agents.merge(&row.agents);
        for model in &row.models {
            models.entry(&model.name).or_default().merge(&model.cells);
        }
    }
    total.models =
        models.into_iter().map(|(name, cells)| ModelRow { name: name.to_owned(), cells }).collect();
    total.finish();
    total
}

/// Adds what Claude Code itself counted, to sessions and to the total.
fn add_client(ledger: &Ledger, sums: &Sums, rows: &mut [ReportRow], total: &mut ReportRow, by: By) {
    let mut by_id = HashMap::new();
    let mut all = ClientTotal::default();
    for (index, session) in (0_u32..).zip(&ledger.sessions) {
        // A difference to something unknown would say nothing.
        let (Some(client), Some((Some(transcript), models))) = (&session.client, sums.by_session.get(&index))
        else {
            continue;
        };
        let known: HashSet<_> = client.models.iter().map(|model| plain_model(&model.name)).collect();
        // It can lose a model after a change of models, so that it is trusted only if it has all of them.
        if !models.iter().all(|model| known.contains(&plain_model(ledger.names.text(*model)))) {
            continue;
        }
        by_id.insert(&session.id, ClientTotal { sessions: 1, cost: client.cost, transcript: *transcript });
        all.sessions += 1;
        all.cost += client.cost;
        all.transcript += *transcript;
    }
    total.client = (all.sessions > 0).then_some(all);
    if by == By::Session {
        for row in rows {
            row.client = by_id.get(&row.key).copied();
        }
    }
}

/// Returns the name of a model without what `cost-state` adds to it.
fn plain_model(name: &str) -> String {
    name.to_lowercase().replace("[1m]", "")
}

fn burn_rate(row: &ReportRow, window: &Window, now: i64) -> Option<BurnRate> {
    let span = (row.cells.first?, row.cells.last?);
    let is_running = (window.start..window.end).contains(&now);
    let tokens = row.cells.tokens.total();
    if is_running { BurnRate::new(window, span, now, tokens, row.cells.cost.known) } else { None }
}

/// Puts what costs more first, and what has more tokens.
fn most_first(one: &Cells, other: &Cells) -> Ordering {
    other.cost.known.cmp(&one.cost.known).then_with(|| other.tokens.total().cmp(&one.tokens.total()))
}

fn sort(rows: &mut [ReportRow], by: By) {
    match by {
        // What has no time comes last.
        By::Day | By::Week | By::Month | By::Block => {
            rows.sort_by_key(|row| (row.start.is_none(), row.start));
        }
        By::Session | By::Project | By::Branch | By::Model => {
            rows.sort_by(|one, other| {
                most_first(&one.cells, &other.cells).then_with(|| one.key.cmp(&other.key))
            });
        }
    }
}

#[cfg(test)]
mod tests;
