//! A progress bar for long work, on a terminal only.

use std::fs;
use std::io::IsTerminal;

use annals_engine::TranscriptFile;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this needs no bar.
const WORTH_A_BAR: u64 = 64 * 1024 * 1024;

/// Bytes read, of those to be read.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn over(files: &[TranscriptFile]) -> Self {
        let shown = std::io::stderr().is_terminal();
        let size = |file: &TranscriptFile| fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
        let total = if shown { files.iter().map(size).sum() } else { 0 };
        if total < WORTH_A_BAR {
            return Self(ProgressBar::hidden());
        }
        let style =
            ProgressStyle::with_template("reading {bar:30} {decimal_bytes}/{decimal_total_bytes} {eta}")
                .expect("the template is well-formed");
        Self(ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_style(style))
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
