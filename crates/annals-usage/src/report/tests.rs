use proptest::prelude::*;

use super::*;
use crate::file::{ClientCost, ClientModel, FileCount, Line};
use crate::ledger::CountedFile;
use crate::reply::{Counters, Flag, Flags};

const DAY: i64 = 24 * 60 * 60 * 1000;

fn file(session: &str, lines: &[Line<'_>]) -> CountedFile {
    let mut count = FileCount::default();
    for line in lines {
        count.add(line);
    }
    count.facts.cwd = Some(format!("/home/mia/{}", session.len()));
    CountedFile { path: session.into(), session: Some(session.to_owned()), count, ..CountedFile::default() }
}

/// A reply of one million output tokens.
fn line<'a>(message: &'a str, model: &'a str, time: i64) -> Line<'a> {
    let counters = Counters { output: 1_000_000, ..Counters::default() };
    let mut flags = Flags::default();
    flags.set(Flag::Finished, true);
    Line { message: Some(message), request: Some(message), model, time, counters, flags, ..Line::default() }
}

fn report(ledger: &Ledger, options: &ReportOptions) -> Report {
    Report::new(ledger, &Prices::built_in(), options)
}

fn by(by: By) -> ReportOptions {
    ReportOptions { by, ..ReportOptions::default() }
}

fn keys(report: &Report) -> Vec<&str> {
    report.rows.iter().map(|row| &*row.key).collect()
}

#[test]
fn rows_have_the_models_and_costs_of_their_responses() {
    let lines = [
        line("a", "claude-opus-4-8", DAY),
        line("b", "claude-sonnet-4-6", DAY),
        line("c", "claude-opus-4-8", 3 * DAY),
        line("d", "mystery", 3 * DAY),
    ];
    let ledger = Ledger::build(vec![file("s", &lines)]);
    let found = report(&ledger, &by(By::Day));
    assert_eq!(keys(&found), ["1970-01-02", "1970-01-04"]);
    let models: Vec<_> =
        found.rows[0].models.iter().map(|model| (&*model.name, model.cells.cost.known.dollars())).collect();
    assert_eq!(models, [("claude-opus-4-8", 25.0), ("claude-sonnet-4-6", 15.0)]);
    let second = &found.rows[1];
    assert_eq!(
        (second.unpriced.as_slice(), second.cells.cost.is_partial()),
        (&["mystery".to_owned()][..], true)
    );
    assert_eq!(second.cells.cost.amount(), Money::from_dollars(25.0));
    assert_eq!(found.total.cells.cost.amount(), Money::from_dollars(65.0));
    assert_eq!(keys(&report(&ledger, &by(By::Model))), ["claude-opus-4-8", "claude-sonnet-4-6", "mystery"]);
    let mystery = &report(&ledger, &by(By::Model)).rows[2];
    assert_eq!((mystery.cells.cost.amount(), mystery.cells.cost.kind()), (None, CostKind::Unknown));
}

#[test]
fn a_recorded_cost_counts_unless_prices_are_asked_for() {
    let recorded = Line { recorded: Money::from_dollars(1.5), ..line("a", "claude-opus-4-8", 0) };
    let ledger = Ledger::build(vec![file("s", &[recorded, line("b", "claude-opus-4-8", 0)])]);
    let cost = |cost_mode| report(&ledger, &ReportOptions { cost_mode, ..by(By::Day) }).total.cells.cost;
    let auto = cost(CostMode::Auto);
    assert_eq!((auto.known.dollars(), auto.recorded.dollars(), auto.kind()), (26.5, 1.5, CostKind::Mixed));
    assert_eq!(
        (cost(CostMode::Calculate).known.dollars(), cost(CostMode::Calculate).kind()),
        (50.0, CostKind::Calculated)
    );
    let only = cost(CostMode::Recorded);
    assert_eq!((only.known.dollars(), only.not_recorded, only.is_partial()), (1.5, 1, true));
}

#[test]
fn output_without_a_stop_reason_is_a_lower_bound() {
    let unfinished = Line { flags: Flags::default(), ..line("a", "x", 0) };
    let ledger = Ledger::build(vec![file("s", &[unfinished, line("b", "x", 0)])]);
    let cells = report(&ledger, &by(By::Day)).total.cells;
    assert_eq!((cells.unfinished, cells.unfinished_output, cells.unfinished_share()), (1, 1_000_000, 0.5));
}

#[test]
fn subagents_are_part_of_their_session_and_shown_apart() {
    let mut agent = line("b", "claude-opus-4-8", 0);
    agent.flags.set(Flag::Sidechain, true);
    let ledger = Ledger::build(vec![file("s", &[line("a", "claude-opus-4-8", 0), agent])]);
    let row = &report(&ledger, &by(By::Session)).rows[0];
    assert_eq!((row.cells.cost.known.dollars(), row.agents.cost.known.dollars()), (50.0, 25.0));
}

#[test]
fn what_claude_code_counted_is_shown_beside_and_trusted_if_it_has_all_models() {
    let client = |name: &str| {
        let models = vec![ClientModel { name: name.to_owned(), ..ClientModel::default() }];
        Some(ClientCost { cost: Money::from_dollars(30.0).unwrap(), models, ..ClientCost::default() })
    };
    let mut one = file("one", &[line("a", "claude-opus-4-8", 0)]);
    one.count.facts.client = client("claude-opus-4-8[1m]");
    let mut two = file("two", &[line("b", "claude-opus-4-8", 0)]);
    two.count.facts.client = client("claude-haiku-4-5");
    let ledger = Ledger::build(vec![one, two]);
    let found = report(&ledger, &by(By::Session));
    let total = found.total.client.unwrap();
    assert_eq!((total.sessions, total.unattributed().dollars(), total.cost.dollars()), (1, 5.0, 30.0));
    assert!((total.coverage().unwrap() - 83.333).abs() < 0.001);
    assert_eq!(found.rows.iter().filter(|row| row.client.is_some()).count(), 1);
    assert_eq!(found.total.cells.cost.amount(), Money::from_dollars(50.0));
    // It cannot be split by time.
    assert_eq!(report(&ledger, &ReportOptions { since: Some(0), ..by(By::Session) }).total.client, None);
}

#[test]
fn windows_of_five_hours_have_a_rate_while_they_run() {
    let hour = DAY / 24;
    let lines = [
        line("a", "claude-opus-4-8", 0),
        line("b", "claude-opus-4-8", 2 * hour),
        line("c", "claude-opus-4-8", 7 * hour),
    ];
    let ledger = Ledger::build(vec![file("s", &lines)]);
    let found = report(&ledger, &ReportOptions { now: 4 * hour, ..by(By::Block) });
    assert_eq!(keys(&found), ["1970-01-01T00:00:00Z", "1970-01-01T07:00:00Z"]);
    let rate = found.rows[0].burn_rate.unwrap();
    assert_eq!((rate.cost_per_hour.dollars(), rate.projected_cost.dollars()), (25.0, 75.0));
    assert_eq!((found.rows[1].burn_rate, found.rows[0].window.unwrap().is_estimated), (None, true));
    let known = report(&ledger, &ReportOptions { window_ends: vec![5 * hour], ..by(By::Block) });
    assert!(!known.rows[0].window.unwrap().is_estimated);
}

#[test]
fn a_number_can_be_traced_to_its_lines() {
    let ledger =
        Ledger::build(vec![file("session-1", &[line("a", "claude-opus-4-8", DAY), line("b", "x", 5)])]);
    let why = |by, key: &str| {
        let options = ReportOptions { by, ..ReportOptions::default() };
        let found = Report::why(&ledger, &Prices::built_in(), &options, key);
        found
            .iter()
            .map(|(response, cost)| (response.count.time, cost.map(Money::dollars)))
            .collect::<Vec<_>>()
    };
    assert_eq!(why(By::Day, "1970-01-02"), [(DAY, Some(25.0))]);
    assert_eq!(why(By::Session, "sess"), [(5, None), (DAY, Some(25.0))]);
    assert_eq!(why(By::Day, "1970-01-03"), []);
}

proptest! {
    #[test]
    fn every_grouping_has_the_same_total(
        lines in prop::collection::vec((0..20_u8, 0..3_usize, prop::option::of(0..40 * DAY), any::<[u16; 4]>()), 1..40),
    ) {
        let prices = Prices::built_in();
        let report = |ledger: &Ledger, options: &ReportOptions| Report::new(ledger, &prices, options);
        let models = ["claude-opus-4-8", "claude-sonnet-4-5", "mystery"];
        let messages: Vec<_> = lines.iter().map(|line| line.0.to_string()).collect();
        let lines: Vec<_> = lines.iter().zip(&messages).map(|((_, model, time, [input, output, write, read]), message)| {
            let mut counters = Counters { input: u32::from(*input), output: u32::from(*output), read: u32::from(*read) * 10, ..Counters::default() };
            counters.set_writes(u32::from(*write), 0, u32::from(*write) / 2);
            Line { counters, branch: models[*model], time: time.unwrap_or(NO_TIME), ..line(message, models[*model], 0) }
        }).collect();
        let (one, two) = lines.split_at(lines.len() / 2);
        let ledger = Ledger::build(vec![file("s", one), file("other", two)]);
        let expected = report(&ledger, &by(By::Day)).total.cells;
        prop_assert_eq!(expected.replies, ledger.len() as u64);
        for grouping in [By::Day, By::Week, By::Month, By::Session, By::Project, By::Branch, By::Model, By::Block] {
            for zone in [TimeZone::UTC, TimeZone::get("Asia/Kolkata").unwrap()] {
                let found = report(&ledger, &ReportOptions { zone, ..by(grouping) });
                prop_assert_eq!(found.total.cells, expected);
                let mut sum = Cells::default();
                found.rows.iter().for_each(|row| sum.merge(&row.cells));
                prop_assert_eq!(sum, expected);
                for row in &found.rows {
                    let mut models = Cells::default();
                    row.models.iter().for_each(|model| models.merge(&model.cells));
                    prop_assert_eq!(models, row.cells);
                    let why = Report::why(&ledger, &prices, &by(grouping), &row.key);
                    prop_assert!(grouping != By::Session || why.len() as u64 == row.cells.replies);
                }
            }
        }
    }
}

#[test]
fn a_limit_shows_the_latest_days_and_the_first_of_others() {
    let lines = [
        line("a", "claude-opus-4-8", DAY),
        line("b", "claude-sonnet-4-6", 2 * DAY),
        line("c", "claude-haiku-4-5", 3 * DAY),
        line("d", "claude-opus-4-8", crate::NO_TIME),
    ];
    let ledger = Ledger::build(vec![file("s", &lines)]);
    let shown = |by: By, limit: usize| {
        let report = report(&ledger, &ReportOptions { by, ..ReportOptions::default() });
        report.shown(by, limit).iter().map(|row| row.key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(shown(By::Day, 2), ["1970-01-03", "1970-01-04"], "the row without a time is not the latest");
    assert_eq!(shown(By::Day, 4).len(), 4);
    assert_eq!(shown(By::Model, 1), ["claude-opus-4-8"]);
}
