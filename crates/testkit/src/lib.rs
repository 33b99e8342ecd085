//! Helpers for tests: hermetic commands, corpora, generated transcripts.

pub mod command;
pub mod corpora;
pub mod generate;
pub mod naive;
