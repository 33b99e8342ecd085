//! What a status line shows of usage: the costs of the last hours, in a small file.
//!
//! A status line has to be there at once, beside any number of sessions. So it opens no database and looks at no folder: it reads what the last
//! [`update`] wrote, and what was appended to the transcript of its own session since. Costs only grow, so figures that are behind are
//! lower bounds.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use annals_transcript::json::{Value, quote};
use annals_transcript::write::fs::Handle;
use annals_transcript::write::rewrite;
use annals_usage::{
    CountedFile, FileCount, Flag, Ledger, Money, NO_TIME, Prices, Report, ReportOptions, Window, windows,
};
use jiff::Timestamp;

use super::line::LineCounter;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::{TranscriptFile, open_regular};

/// Raised whenever the file has another form.
const VERSION: u64 = 1;
/// Costs are kept for so long: the longest day and a window.
const KEPT_MS: i64 = 31 * HOUR_MS;
const HOUR_MS: i64 = 3_600_000;
const MINUTE_MS: i64 = 60_000;
/// The most bytes of a transcript that a status line reads.
const MOST_NEW_BYTES: u64 = 1024 * 1024;
/// The most bytes of the file that are read; it has much fewer.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// Figures that are older are behind: other sessions may have gone on.
const CURRENT_MS: i64 = 90_000;
/// Updates have at least this distance.
const UPDATE_MS: i64 = 60_000;

/// What a status line shows of usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecentCosts {
    /// What responses since the start of the day cost.
    pub day: Money,
    /// What responses in the present five-hour window cost; `None` if there is none.
    pub window: Option<Money>,
    /// Whether the window is an estimate.
    pub is_estimated: bool,
    /// Whether the figures are at least what they say: they are older than a minute or so, not everything was read, or a price is missing.
    pub is_behind: bool,
}

/// What the last update wrote.
#[derive(Debug, Default, PartialEq, Eq)]
struct Recent {
    /// When counting began.
    counted_at: i64,
    window: Option<Window>,
    minutes: Minutes,
    files: Vec<RecentFile>,
}

/// Costs by the minute in which they were caused.
type Minutes = BTreeMap<i64, MinuteCost>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MinuteCost {
    nanodollars: u64,
    /// How many responses have no known price.
    unpriced: u64,
}

/// A transcript with responses in these hours.
#[derive(Debug, PartialEq, Eq)]
struct RecentFile {
    path: PathBuf,
    /// Its length when counting began.
    length: u64,
    /// The time of the last response that was counted.
    last: i64,
}

/// Counts all responses and writes the costs of the last hours, unless another process does so, or did so within a minute. Returns whether
/// it did.
pub(crate) fn update(engine: &Engine, now: Timestamp) -> Result<bool, Error> {
    let path = engine.home().recent_usage();
    let Some(mut lock) = lock_update(engine).map_err(|error| Error::read(&path, error))? else {
        return Ok(false);
    };
    let now = now.as_millisecond();
    if read(&path).is_ok_and(|last| (last.counted_at..last.counted_at + UPDATE_MS).contains(&now)) {
        return Ok(false);
    }
    let (usage, prices) = (super::count(engine, false), super::prices(engine)?);
    let recent = Recent::of(&usage.ledger, &prices, &engine.plan_records().window_ends, now);
    rewrite::replace(&**engine.disk(), &path, |out| out.write_all(recent.to_json().as_bytes()))?;
    lock.unlock().map_err(|error| Error::read(&path, error))?;
    Ok(true)
}

/// Locks the count; `None` if another process counts.
fn lock_update(engine: &Engine) -> io::Result<Option<Box<dyn Handle>>> {
    engine.disk().create_folder(engine.home().path())?;
    let mut lock = engine.disk().open_or_create(&engine.home().recent_usage_lock())?;
    Ok(lock.try_lock()?.then_some(lock))
}

/// Returns whether an update is due, and if so, records that one was started at this time: for the next minute, others get `false`. Two
/// processes that ask at the same moment may both get `true`; [`update`] then does the work once.
pub(crate) fn claim_update(engine: &Engine, now: Timestamp) -> bool {
    let mark = engine.home().recent_usage_mark();
    // Another process may have made the mark after this one looked at the clock, so the mark may be later than `now`.
    let marked = fs::metadata(&mark).and_then(|metadata| metadata.modified());
    let asked = marked.ok().and_then(|modified| Timestamp::try_from(modified).ok());
    if asked.is_some_and(|asked| (now.as_millisecond() - asked.as_millisecond()).abs() < UPDATE_MS) {
        return false;
    }
    write_mark(engine, &mark).is_ok()
}

/// Gives the mark the present time.
fn write_mark(engine: &Engine, mark: &Path) -> io::Result<()> {
    engine.disk().create_folder(engine.home().path())?;
    let mut file = engine.disk().open_or_create(mark)?;
    file.truncate(0)?;
    file.append(b"\n")?;
    Ok(())
}

/// Returns the costs of the day that began at `day_start` and of the present window, with what was appended to a transcript since they were
/// counted; `None` if nothing was counted yet. `window_end` is the end of the present window, if it is known.
pub(crate) fn costs(
    engine: &Engine,
    transcript: Option<&Path>,
    day_start: i64,
    window_end: Option<i64>,
    now: Timestamp,
) -> Option<RecentCosts> {
    let mut recent = read(&engine.home().recent_usage()).ok()?;
    let now = now.as_millisecond();
    let is_read = transcript.is_none_or(|transcript| recent.add_new(engine, transcript).unwrap_or(false));
    let known = window_end.map(|end| Window { start: end - 5 * HOUR_MS, end, is_estimated: false });
    let window = known.or(recent.window).filter(|window| (window.start..window.end).contains(&now));
    let (day, is_day_priced) = recent.sum(day_start);
    let in_window = window.map(|window| recent.sum(window.start));
    Some(RecentCosts {
        day,
        window: in_window.map(|(cost, _)| cost),
        is_estimated: window.is_some_and(|window| window.is_estimated),
        is_behind: !is_read
            || !(recent.counted_at..=recent.counted_at + CURRENT_MS).contains(&now)
            || !is_day_priced
            || in_window.is_some_and(|(_, is_priced)| !is_priced),
    })
}

impl Recent {
    fn of(ledger: &Ledger, prices: &Prices, window_ends: &[i64], now: i64) -> Self {
        let options = ReportOptions { since: Some(now - KEPT_MS), ..ReportOptions::default() };
        let mut minutes = Minutes::new();
        let mut last_of: HashMap<u32, i64> = HashMap::new();
        for (response, cost) in Report::costs(ledger, prices, &options) {
            add_cost(&mut minutes, response.count.time, cost);
            let last = last_of.entry(response.file).or_insert(i64::MIN);
            *last = response.count.time.max(*last);
        }
        let mut times: Vec<_> = ledger.responses().map(|response| response.count.time).collect();
        times.retain(|time| *time != NO_TIME);
        times.sort_unstable();
        let resets = ledger.sessions.iter().flat_map(|session| &session.resets);
        let ends: Vec<_> = resets.chain(window_ends).copied().collect();
        let window = windows(&times, &ends).pop().filter(|window| window.end > now);
        let mut files: Vec<_> = last_of.into_iter().collect();
        files.sort_unstable();
        let files = files.into_iter().filter_map(|(file, last)| {
            let path = ledger.files[file as usize].path.clone();
            let length = fs::metadata(&path).ok()?.len();
            path.to_str().is_some().then_some(RecentFile { path, length, last })
        });
        Self { counted_at: now, window, minutes, files: files.collect() }
    }

    /// Adds what was appended to a transcript since it was counted. Returns whether all of it was read.
    fn add_new(&mut self, engine: &Engine, transcript: &Path) -> io::Result<bool> {
        let known = self.files.iter().find(|file| file.path == transcript);
        // A transcript without recent responses, or under another name, may have those that came after the count.
        let (counted, last) = known.map_or((0, self.counted_at), |file| (file.length, file.last));
        let mut file = open_regular(transcript)?;
        let length = file.metadata()?.len();
        let start = length.saturating_sub(MOST_NEW_BYTES);
        let lines = whole_lines(&mut file, start, length)?;
        let mut count = FileCount::default();
        let session = TranscriptFile::at(transcript).session;
        let mut reader = LineCounter { count: &mut count, session: session.as_deref() };
        let mut is_regular = true;
        for line in lines.split(|byte| *byte == b'\n') {
            // The number of a line matters only at the start of a file.
            is_regular &= reader.add_line(line, u64::MAX).is_ok();
        }
        let prices = super::prices(engine).map_err(io::Error::other)?;
        let counted_file =
            CountedFile { path: transcript.to_owned(), session, count, ..CountedFile::default() };
        let ledger = Ledger::build(vec![counted_file]);
        for (response, cost) in Report::costs(&ledger, &prices, &ReportOptions::default()) {
            // Copies are counted where they come from, and what is not later was counted.
            if response.count.time > last && !response.count.flags.has(Flag::Copy) {
                add_cost(&mut self.minutes, response.count.time, cost);
            }
        }
        // One that is shorter was rewritten: how much of it was counted is not known.
        Ok(is_regular && start <= counted && counted <= length)
    }

    /// Returns what responses since a time cost, and whether all of them have a price.
    fn sum(&self, since: i64) -> (Money, bool) {
        // The minute in which a day or a window begins counts as a whole.
        let since = since.div_euclid(MINUTE_MS) * MINUTE_MS;
        let minutes = self.minutes.range(since..).map(|(_, minute)| minute);
        let (cost, unpriced) = minutes.fold((0_u64, 0_u64), |(cost, unpriced), minute| {
            (cost.saturating_add(minute.nanodollars), unpriced + minute.unpriced)
        });
        (Money::from_picos(i128::from(cost) * 1000), unpriced == 0)
    }

    fn to_json(&self) -> String {
        let window = self.window.map_or_else(
            || "null".to_owned(),
            |window| format!("[{},{},{}]", window.start, window.end, window.is_estimated),
        );
        let minutes: Vec<_> = self
            .minutes
            .iter()
            .map(|(minute, cost)| format!("[{minute},{},{}]", cost.nanodollars, cost.unpriced))
            .collect();
        let files: Vec<_> = self
            .files
            .iter()
            .map(|file| format!("[{},{},{}]", quote(&file.path.to_string_lossy()), file.length, file.last))
            .collect();
        format!(
            "{{\"version\":{VERSION},\"countedAt\":{},\"window\":{window},\"minutes\":[{}],\"files\":[{}]}}\n",
            self.counted_at,
            minutes.join(","),
            files.join(",")
        )
    }

    fn parse(json: &[u8]) -> Option<Self> {
        let value = Value::new(json.trim_ascii()).filter(|value| value.is_object() && value.is_valid())?;
        if value.number("version") != Some(VERSION) {
            return None;
        }
        let items = |key: &str| value.get(key).into_iter().flat_map(Value::items);
        let window = value.get("window").map(|window| window.items().collect::<Vec<_>>());
        let window = window.and_then(|window| match &window[..] {
            [start, end, estimated] => {
                Some(Window { start: time(*start)?, end: time(*end)?, is_estimated: estimated.as_bool()? })
            }
            _ => None,
        });
        let minutes = items("minutes").filter_map(|minute| match minute.items().collect::<Vec<_>>()[..] {
            [minute, cost, unpriced] => Some((
                time(minute)?,
                MinuteCost { nanodollars: cost.as_u64()?, unpriced: unpriced.as_u64()? },
            )),
            _ => None,
        });
        let files = items("files").filter_map(|file| match file.items().collect::<Vec<_>>()[..] {
            [path, length, last] => Some(RecentFile {
                path: PathBuf::from(&*path.as_text()?),
                length: length.as_u64()?,
                last: time(last)?,
            }),
            _ => None,
        });
        Some(Self {
            counted_at: time(value.get("countedAt")?)?,
            window,
            minutes: minutes.collect(),
            files: files.collect(),
        })
    }
}

/// Returns a time in milliseconds since 1970, which is never negative here.
fn time(value: Value<'_>) -> Option<i64> {
    i64::try_from(value.as_u64()?).ok()
}

fn add_cost(minutes: &mut Minutes, time: i64, cost: Option<Money>) {
    if time < 0 {
        return;
    }
    let minute = minutes.entry(time.div_euclid(MINUTE_MS) * MINUTE_MS).or_default();
    match cost {
        Some(cost) => {
            let nanodollars = u64::try_from(cost.picos() / 1000).unwrap_or(0);
            minute.nanodollars = minute.nanodollars.saturating_add(nanodollars);
        }
        None => minute.unpriced += 1,
    }
}

fn read(path: &Path) -> io::Result<Recent> {
    let mut json = Vec::new();
    open_regular(path)?.take(MOST_BYTES).read_to_end(&mut json)?;
    Recent::parse(&json).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Returns the whole lines between two offsets. Unless a line begins at the first, the rest of that line is skipped.
fn whole_lines(file: &mut File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let before = start.saturating_sub(1);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    file.take(end - before).read_to_end(&mut bytes)?;
    let last = memchr::memrchr(b'\n', &bytes).unwrap_or(0);
    bytes.truncate(last);
    if start > 0 {
        let first = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |newline| newline + 1);
        bytes.drain(..first);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
