//! Tests of the masker as a whole.

mod hostile;
mod invented;
mod lists;
mod props;
mod texts;
