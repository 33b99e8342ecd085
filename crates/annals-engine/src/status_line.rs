//! What Claude Code tells the command of its status line, and the part of it that is recorded nowhere else: how much of the
//! plan was used, when its windows end, and what the session cost by Claude Code's own count.
//!
//! Records are appended to a file of JSON lines, one write each, so that any number of status lines may run at the same time
//! and be killed at any moment: at worst a record is torn, and the next one begins on a new line.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use annals_transcript::json::{Value, quote};
use annals_transcript::write::fs::Disk;
use jiff::Timestamp;

use crate::home::Home;

/// The most bytes that are read from the end of the records, to find the last ones.
const RECENT: u64 = 8 * 1024;
/// The cost of a session changes with every message; it is recorded at most this often, in milliseconds.
const COST_INTERVAL: i64 = 60_000;

/// More of a plan than this cannot be used, be there extra use or not.
const MOST_PERCENT: f64 = 1000.0;
/// 2023-01-01, in seconds since 1970: there was no Claude Code before, so that no window ended then.
const FIRST_YEAR: i64 = 1_672_531_200;

/// The JSON that Claude Code gives to the command of its status line. Members that are missing, or not what they should be,
/// are `None`: every version of Claude Code has others.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StatusInput {
    /// The id of the session.
    pub session: Option<String>,
    /// The transcript of the session.
    pub transcript: Option<PathBuf>,
    /// The name of the model, as Claude Code shows it, or else its id.
    pub model: Option<String>,
    /// What the session cost so far, in US dollars, by Claude Code's own count.
    pub cost_usd: Option<f64>,
    /// How full the context is.
    pub context: Option<ContextFill>,
    /// The five-hour window of the plan.
    pub five_hour: Option<PlanWindow>,
    /// The seven-day window of the plan.
    pub seven_day: Option<PlanWindow>,
    /// The state of the prompt cache.
    pub cache: Option<PromptCache>,
}

/// How full the context of a session is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextFill {
    /// The tokens in the context, if they are known.
    pub tokens: Option<u64>,
    /// The size of the context window in tokens, if it is known.
    pub window: Option<u64>,
    /// The used part in percent, if it is known.
    pub percentage: Option<f64>,
}

/// A window of a plan, after whose end the use counts from zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanWindow {
    /// The used part in percent.
    pub used_percentage: f64,
    /// When the window ends, in seconds since 1970.
    pub resets_at: Option<i64>,
}

/// The state of the prompt cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PromptCache {
    /// Whether the next request can use it.
    pub warm: bool,
    /// When it expires, in seconds since 1970.
    pub expires_at: Option<i64>,
}

impl StatusInput {
    /// Reads what Claude Code gives to the command of its status line; `None` if it is not a JSON object.
    ///
    /// ```
    /// use annals_engine::StatusInput;
    ///
    /// let input = br#"{"session_id":"3e11","model":{"display_name":"Opus"},"cost":{"total_cost_usd":0.5},
    ///   "context_window":{"context_window_size":200000,"used_percentage":42}}"#;
    /// let input = StatusInput::parse(input).unwrap();
    /// assert_eq!((input.model.as_deref(), input.cost_usd), (Some("Opus"), Some(0.5)));
    /// assert_eq!(input.context.unwrap().tokens, Some(84_000));
    /// assert!(StatusInput::parse(b"not JSON").is_none());
    /// ```
    pub fn parse(json: &[u8]) -> Option<Self> {
        let input = Value::new(json.trim_ascii()).filter(|input| input.is_object() && input.is_valid())?;
        let model = input.get("model");
        let limits = input.get("rate_limits");
        Some(Self {
            session: text(Some(input), "session_id"),
            transcript: text(Some(input), "transcript_path").map(PathBuf::from),
            model: text(model, "display_name").or_else(|| text(model, "id")),
            cost_usd: amount(input.get("cost"), "total_cost_usd"),
            context: input.get("context_window").and_then(context_fill),
            five_hour: limits.and_then(|limits| plan_window(limits.get("five_hour")?)),
            seven_day: limits.and_then(|limits| plan_window(limits.get("seven_day")?)),
            cache: input.get("prompt_cache").and_then(prompt_cache),
        })
    }
}

fn text(object: Option<Value<'_>>, key: &str) -> Option<String> {
    object?.text(key).filter(|text| !text.is_empty()).map(std::borrow::Cow::into_owned)
}

/// Returns a number that can be an amount: finite and not negative.
fn amount(object: Option<Value<'_>>, key: &str) -> Option<f64> {
    object?.get(key)?.as_f64().filter(|number| (0.0..=MOST).contains(number))
}

/// Amounts above this are mistakes: no session costs so many dollars.
const MOST: f64 = 1e6;

/// Returns a time in seconds since 1970, which may have a fraction, if a calendar has it.
fn seconds(object: Value<'_>, key: &str) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "too large a number is clamped, and no calendar has it"
    )]
    let seconds = object.get(key)?.as_f64()? as i64;
    Timestamp::from_second(seconds).ok().map(Timestamp::as_second)
}

/// Reads the context. Claude Code counts the input side only: prompts, and what was written to or read from the cache.
fn context_fill(context: Value<'_>) -> Option<ContextFill> {
    let window = context.number("context_window_size").filter(|size| *size > 0);
    let given = amount(Some(context), "used_percentage");
    let counted = context.present("current_usage").and_then(|usage| {
        let keys = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        keys.iter().filter_map(|key| usage.number(key)).reduce(u64::saturating_add)
    });
    #[expect(clippy::cast_precision_loss, reason = "a percentage needs no more digits")]
    let counted_part = || Some(counted? as f64 * 100.0 / window? as f64);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an amount is not negative, and too large a one is clamped"
    )]
    let given_tokens = || Some((given? * window? as f64 / 100.0).round() as u64);
    let percentage = given.or_else(counted_part).filter(|percentage| *percentage <= MOST_PERCENT);
    let tokens = counted.or_else(given_tokens);
    (percentage.is_some() || tokens.is_some()).then_some(ContextFill { tokens, window, percentage })
}

fn plan_window(window: Value<'_>) -> Option<PlanWindow> {
    let used_percentage = amount(Some(window), "used_percentage")?;
    // Nothing is invented from what no plan has: such a record would stay for good.
    let is_possible = used_percentage <= MOST_PERCENT;
    let resets_at = seconds(window, "resets_at").filter(|end| *end >= FIRST_YEAR);
    is_possible.then_some(PlanWindow { used_percentage, resets_at })
}

fn prompt_cache(cache: Value<'_>) -> Option<PromptCache> {
    let warm = cache.get("warm")?.as_bool()?;
    Some(PromptCache { warm, expires_at: seconds(cache, "expires_at") })
}

/// What status lines recorded about the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanRecords {
    /// Whether anything was recorded: then costs are what the API would charge, and not what is paid.
    pub has_plan: bool,
    /// When five-hour windows ended or will end, in milliseconds since 1970, each once.
    pub window_ends: Vec<i64>,
}

/// Returns what status lines recorded about the plan. What cannot be read is left out.
pub(crate) fn plan_records(home: &Home) -> PlanRecords {
    let mut found = PlanRecords::default();
    let lines = std::fs::read(home.status_records()).unwrap_or_default();
    for record in lines.split(|byte| *byte == b'\n').filter_map(StatusRecord::parse) {
        found.has_plan |= record.five_hour.is_some() || record.seven_day.is_some();
        found.window_ends.extend(record.five_hour.and_then(|window| window.resets_at).map(|end| end * 1000));
    }
    found.window_ends.sort_unstable();
    found.window_ends.dedup();
    found
}

/// Records what an input has that is recorded nowhere else, if it differs from the last record. Returns whether something was
/// written.
pub(crate) fn record(disk: &dyn Disk, home: &Home, input: &StatusInput, now: Timestamp) -> io::Result<bool> {
    let path = home.status_records();
    let recent = match File::open(&path) {
        Ok(file) => recent_bytes(file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let record = StatusRecord::of(input, now);
    if !record.is_news(&recent) {
        return Ok(false);
    }
    disk.create_folder(home.path())?;
    let is_torn = recent.last().is_some_and(|last| *last != b'\n');
    let line = format!("{}{}\n", if is_torn { "\n" } else { "" }, record.to_json());
    let mut file = disk.open_or_create(&path)?;
    file.append(line.as_bytes())?;
    Ok(true)
}

/// Returns the end of the file of records.
fn recent_bytes(mut file: File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(RECENT)))?;
    let mut bytes = Vec::new();
    file.take(RECENT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A line of the file of records.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusRecord {
    /// When it was recorded, in milliseconds since 1970.
    pub time_ms: i64,
    /// The id of the session whose status line it was.
    pub session: Option<String>,
    /// What the session had cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// The five-hour window of the plan.
    pub five_hour: Option<PlanWindow>,
    /// The seven-day window of the plan.
    pub seven_day: Option<PlanWindow>,
}

impl StatusRecord {
    fn of(input: &StatusInput, now: Timestamp) -> Self {
        Self {
            time_ms: now.as_millisecond(),
            session: input.session.clone(),
            cost_usd: input.cost_usd,
            five_hour: input.five_hour,
            seven_day: input.seven_day,
        }
    }

    /// Reads a line; `None` if it is torn or not a record.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let record =
            Value::new(line.trim_ascii()).filter(|record| record.is_object() && record.is_valid())?;
        Some(Self {
            time_ms: record.text("time")?.parse::<Timestamp>().ok()?.as_millisecond(),
            session: text(Some(record), "session"),
            cost_usd: amount(Some(record), "costUsd"),
            five_hour: record.get("fiveHour").and_then(plan_window_of_record),
            seven_day: record.get("sevenDay").and_then(plan_window_of_record),
        })
    }

    fn has_same_plan(&self, other: &Self) -> bool {
        (self.five_hour, self.seven_day) == (other.five_hour, other.seven_day)
    }

    /// Returns whether the record says something that the last records do not: the plan has one state for all sessions; the cost
    /// belongs to its session.
    fn is_news(&self, recent: &[u8]) -> bool {
        let records: Vec<_> = recent.split(|byte| *byte == b'\n').rev().filter_map(Self::parse).collect();
        let has_plan = self.five_hour.is_some() || self.seven_day.is_some();
        let last_plan =
            records.iter().find(|record| record.five_hour.is_some() || record.seven_day.is_some());
        if has_plan && !last_plan.is_some_and(|last| last.has_same_plan(self)) {
            return true;
        }
        let last_cost =
            records.iter().find(|record| record.session == self.session && record.cost_usd.is_some());
        match (self.cost_usd, last_cost) {
            (Some(cost), Some(last)) => {
                last.cost_usd != Some(cost) && self.time_ms.saturating_sub(last.time_ms) >= COST_INTERVAL
            }
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    fn to_json(&self) -> String {
        let time = Timestamp::from_millisecond(self.time_ms).unwrap_or(Timestamp::UNIX_EPOCH);
        let session = self.session.as_deref().map_or_else(|| "null".to_owned(), quote);
        let cost = self.cost_usd.map_or_else(|| "null".to_owned(), |cost| cost.to_string());
        format!(
            r#"{{"time":"{time:.3}","session":{session},"costUsd":{cost},"fiveHour":{},"sevenDay":{}}}"#,
            plan_json(self.five_hour),
            plan_json(self.seven_day)
        )
    }
}

fn plan_json(window: Option<PlanWindow>) -> String {
    window.map_or_else(
        || "null".to_owned(),
        |window| {
            let resets_at = window.resets_at.map_or_else(|| "null".to_owned(), |at| at.to_string());
            format!(r#"{{"usedPercentage":{},"resetsAt":{resets_at}}}"#, window.used_percentage)
        },
    )
}

fn plan_window_of_record(window: Value<'_>) -> Option<PlanWindow> {
    let used_percentage = amount(Some(window), "usedPercentage")?;
    Some(PlanWindow { used_percentage, resets_at: seconds(window, "resetsAt") })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use annals_transcript::write::fs::RealDisk;

    use super::*;

    const INPUT: &str = r#"{"session_id":"3e11","transcript_path":"C:\\天气\\3e11.jsonl","model":{"id":"m","display_name":"Opus"},
        "cost":{"total_cost_usd":1.25},"context_window":{"context_window_size":200000,"current_usage":
        {"input_tokens":1000,"cache_creation_input_tokens":9000,"cache_read_input_tokens":90000,"output_tokens":5}},
        "rate_limits":{"five_hour":{"used_percentage":37.5,"resets_at":1795000000}},
        "prompt_cache":{"warm":true,"expires_at":1794990000}}"#;

    fn input(json: &str) -> StatusInput {
        StatusInput::parse(json.as_bytes()).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_794_980_000 + second).unwrap()
    }

    #[test]
    fn every_member_is_read() {
        let input = input(INPUT);
        assert_eq!(input.transcript, Some(PathBuf::from("C:\\天气\\3e11.jsonl")));
        assert_eq!((input.model.as_deref(), input.cost_usd), (Some("Opus"), Some(1.25)));
        let fill = ContextFill { tokens: Some(100_000), window: Some(200_000), percentage: Some(50.0) };
        assert_eq!(input.context, Some(fill));
        assert_eq!(
            input.five_hour,
            Some(PlanWindow { used_percentage: 37.5, resets_at: Some(1_795_000_000) })
        );
        assert_eq!(input.seven_day, None);
        assert_eq!(input.cache, Some(PromptCache { warm: true, expires_at: Some(1_794_990_000) }));
    }

    #[test]
    fn members_of_another_type_are_missing() {
        let odd = r#"{"session_id":7,"model":"Opus","cost":{"total_cost_usd":-1},"context_window":{"context_window_size":0,
            "used_percentage":null,"current_usage":null},"rate_limits":{"five_hour":{"used_percentage":"37"}},"prompt_cache":{}}"#;
        assert_eq!(input(odd), StatusInput::default());
        let huge = r#"{"rate_limits":{"five_hour":{"used_percentage":1,"resets_at":99999999999999999999}}}"#;
        assert_eq!(input(huge).five_hour, Some(PlanWindow { used_percentage: 1.0, resets_at: None }));
        let past = r#"{"rate_limits":{"five_hour":{"used_percentage":1,"resets_at":-3}}}"#;
        assert_eq!(input(past).five_hour, Some(PlanWindow { used_percentage: 1.0, resets_at: None }));
        let full = r#"{"rate_limits":{"five_hour":{"used_percentage":1e99,"resets_at":1795000000}}}"#;
        assert_eq!(input(full).five_hour, None);
        for bad in ["", "[]", "null", "{\"a\":", "x"] {
            assert_eq!(StatusInput::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn only_changes_are_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("new"));
        let first = input(INPUT);
        let more = StatusInput {
            five_hour: Some(PlanWindow { used_percentage: 38.0, resets_at: None }),
            ..first.clone()
        };
        let dearer = StatusInput { cost_usd: Some(1.5), ..more.clone() };
        let steps = [
            (&first, 0, true),
            (&first, 1, false),
            (&more, 2, true),
            (&more, 3, false),
            // The cost alone changes too often.
            (&dearer, 4, false),
            (&dearer, 62, true),
            (&dearer, 200, false),
        ];
        for (input, second, written) in steps {
            assert_eq!(record(&RealDisk, &home, input, at(second)).unwrap(), written, "{second}");
        }
        let lines = fs::read_to_string(home.status_records()).unwrap();
        let records: Vec<_> =
            lines.lines().map(|line| StatusRecord::parse(line.as_bytes()).unwrap()).collect();
        let expected = [(&first, 0), (&more, 2), (&dearer, 62)];
        assert_eq!(records, expected.map(|(input, second)| StatusRecord::of(input, at(second))));
    }

    #[test]
    fn a_torn_record_does_not_swallow_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        fs::write(home.status_records(), r#"{"time":"2026-11-1"#).unwrap();
        assert!(record(&RealDisk, &home, &input(INPUT), at(0)).unwrap());
        let lines = fs::read(home.status_records()).unwrap();
        let last = lines.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap();
        assert_eq!(StatusRecord::parse(last), Some(StatusRecord::of(&input(INPUT), at(0))));
    }

    #[test]
    fn records_of_many_processes_stay_whole() {
        let folder = tempfile::tempdir().unwrap();
        let home = Arc::new(Home::at(folder.path()));
        std::thread::scope(|scope| {
            for thread in 0..8_u32 {
                let home = Arc::clone(&home);
                scope.spawn(move || {
                    for step in 0..25_u32 {
                        let window =
                            PlanWindow { used_percentage: f64::from(thread * 100 + step), resets_at: None };
                        let input = StatusInput { five_hour: Some(window), ..StatusInput::default() };
                        assert!(record(&RealDisk, &home, &input, at(0)).unwrap());
                    }
                });
            }
        });
        let lines = fs::read_to_string(home.status_records()).unwrap();
        assert!(
            lines
                .lines()
                .filter(|line| !line.is_empty())
                .all(|line| StatusRecord::parse(line.as_bytes()).is_some())
        );
        assert_eq!(lines.lines().filter(|line| !line.is_empty()).count(), 200);
    }
}
