//! Helpers for tests: hermetic commands, corpora, generated transcripts, disks that fail.

pub mod command;
pub mod corpora;
pub mod faults;
pub mod generate;
pub mod naive;
