//! A progress bar for long work, on a terminal only.

use std::fs;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use annals_engine::TranscriptFile;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The least number of bytes for which a bar is shown.
const MIN_BYTES: u64 = 64 * 1024 * 1024;
/// The bar appears after this time, so that it does not flash up for short work.
const DELAY: Duration = Duration::from_millis(300);

/// How much of some work is done: bytes that were read, or sessions that were changed.
pub(crate) struct Progress {
    bar: ProgressBar,
    start: Instant,
}

impl Progress {
    /// Returns a bar that is hidden until the total is known and large.
    pub(crate) fn new() -> Self {
        let style =
            ProgressStyle::with_template("reading {bar:30} {decimal_bytes}/{decimal_total_bytes} {eta}")
                .expect("the template is well-formed");
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden()).with_style(style);
        Self { bar, start: Instant::now() }
    }

    /// Returns a bar for the number of sessions that are changed or, in a dry run, checked.
    pub(crate) fn of_sessions(count: usize, dry_run: bool) -> Self {
        Self::counting(if dry_run { "checking sessions" } else { "changing sessions" }, count)
    }

    /// Returns a bar for the number of rows that are exported.
    pub(crate) fn of_rows(count: usize) -> Self {
        Self::counting("exporting", count)
    }

    /// Returns a bar that counts; it appears if the work takes long.
    fn counting(what: &'static str, count: usize) -> Self {
        let progress = Self::new();
        let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {eta}");
        progress.bar.set_style(style.expect("the template is well-formed"));
        progress.bar.set_message(what);
        progress.bar.set_length(count as u64);
        progress
    }

    /// Counts one more.
    pub(crate) fn advance(&self) {
        self.show_if_slow();
        self.bar.inc(1);
    }

    /// Shows the bar if the work takes long.
    fn show_if_slow(&self) {
        if self.bar.is_hidden() && self.start.elapsed() >= DELAY && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Removes the bar from the terminal while something is printed.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Returns a bar for the bytes of files.
    pub(crate) fn over(files: &[TranscriptFile]) -> Self {
        let progress = Self::new();
        if std::io::stderr().is_terminal() {
            let sizes =
                files.iter().map(|file| fs::metadata(&file.path).map_or(0, |metadata| metadata.len()));
            progress.set(0, sizes.sum());
        }
        progress
    }

    /// Sets the number of bytes that were read, and the total.
    pub(crate) fn set(&self, done: u64, total: u64) {
        let is_long = total >= MIN_BYTES && self.start.elapsed() >= DELAY;
        if self.bar.is_hidden() && is_long && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.set(self.bar.position() + bytes, self.bar.length().unwrap_or(0));
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How far an update of the search index is: a bar with the rate and the time left, on a terminal and if it takes long.
#[cfg(feature = "search")]
pub(crate) struct IndexProgress(Progress);

#[cfg(feature = "search")]
impl IndexProgress {
    pub(crate) fn new() -> Self {
        let progress = Progress::new();
        let template =
            "indexing {bar:30} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta} left";
        progress.bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
        Self(progress)
    }

    pub(crate) fn set(&self, done: annals_engine::IndexProgress) {
        self.0.bar.set_length(done.total);
        self.0.bar.set_position(done.bytes);
        self.0.show_if_slow();
    }

    pub(crate) fn finish(&self) {
        self.0.finish();
    }
}
