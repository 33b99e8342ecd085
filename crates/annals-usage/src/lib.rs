//! Counts the responses of transcripts once each, and what they cost.
//!
//! Nothing here reads files or JSON. A caller reads the lines of a transcript and gives their counters to a [`FileCount`], one for each
//! file. A [`Ledger`] merges the copies of responses that stand in several files, [`Prices`] say what a response costs, and a
//! [`Report`] adds responses up by day, session, model and so on. `docs/USAGE.md` states the rules.
//!
//! ```
//! use annals_usage::{CountedFile, Counters, FileCount, Ledger, Line, Prices, Report, ReportOptions};
//!
//! let mut count = FileCount::default();
//! let counters = Counters { input: 1_000_000, output: 1_000_000, ..Counters::default() };
//! let line = Line { message: Some("msg_1"), request: Some("req_1"), model: "claude-opus-4-8", counters, ..Line::default() };
//! count.add(&line);
//! count.add(&Line { line: 2, ..line });
//! let file = CountedFile { path: "a.jsonl".into(), count, ..CountedFile::default() };
//! let ledger = Ledger::build(vec![file]);
//! let report = Report::new(&ledger, &Prices::built_in(), &ReportOptions::default());
//! assert_eq!(report.total.cells.replies, 1);
//! assert_eq!(report.total.cells.cost.known.to_string(), "30.000000");
//! ```

mod bytes;
mod calendar;
mod encode;
mod family;
mod file;
mod hash;
mod ledger;
mod money;
mod names;
mod price;
mod reply;
mod report;
mod window;

pub use calendar::{Period, Weeks};
pub use encode::DecodeError;
pub use file::{COPY_SUFFIX, ClientCost, ClientModel, FileCount, FileFacts, Line, original_message};
pub use hash::stable_hash;
pub use ledger::{CountedFile, Ledger, LedgerFile, Response, Session};
pub use money::Money;
pub use names::{NameId, Names};
pub use price::{Price, PriceError, PriceRow, Prices, Rates};
pub use reply::{Counters, Flag, Flags, NO_TIME, ReplyCount};
pub use report::{
    By, Cells, ClientTotal, Cost, CostKind, CostMode, ModelRow, Report, ReportOptions, ReportRow, Tokens,
};
pub use window::{BurnRate, Window, windows};
