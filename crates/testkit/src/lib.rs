//! Helpers for tests: hermetic commands, corpora, a builder of transcripts, generated transcripts, transcripts with invented
//! secrets, disks that fail, a server that stores logs and misbehaves, and a naive second implementation of `docs/CHAIN.md`.

pub mod command;
pub mod corpora;
pub mod faults;
pub mod generate;
pub mod ingress;
pub mod naive;
pub mod secrets;
pub mod transcript;
