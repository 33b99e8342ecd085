//! Helpers for tests: hermetic commands, corpora, a builder of transcripts, generated transcripts, transcripts with invented
//! secrets, disks that fail, and a naive
//! second implementation of `docs/CHAIN.md`.

pub mod command;
pub mod corpora;
pub mod faults;
pub mod generate;
pub mod naive;
pub mod secrets;
pub mod transcript;
