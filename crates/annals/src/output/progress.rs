//! A progress bar for long work, on a terminal only.

use std::fs;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use annals_engine::TranscriptFile;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this needs no bar.
const WORTH_A_BAR: u64 = 64 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_millis(300);

/// Bytes read, of those to be read.
pub(crate) struct Progress(ProgressBar, Instant);

impl Progress {
    /// A bar that shows nothing until it is known how much there is to do.
    pub(crate) fn new() -> Self {
        let style =
            ProgressStyle::with_template("reading {bar:30} {decimal_bytes}/{decimal_total_bytes} {eta}")
                .expect("the template is well-formed");
        Self(
            ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden()).with_style(style),
            Instant::now(),
        )
    }

    pub(crate) fn over(files: &[TranscriptFile]) -> Self {
        let progress = Self::new();
        if std::io::stderr().is_terminal() {
            let size = |file: &TranscriptFile| fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
            progress.at(0, files.iter().map(size).sum());
        }
        progress
    }

    /// Says how much is done, of how much.
    pub(crate) fn at(&self, done: u64, total: u64) {
        let is_long = total >= WORTH_A_BAR && self.1.elapsed() >= PATIENCE;
        if self.0.is_hidden() && is_long && std::io::stderr().is_terminal() {
            self.0.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.0.set_length(total);
        self.0.set_position(done);
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.at(self.0.position() + bytes, self.0.length().unwrap_or(0));
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
