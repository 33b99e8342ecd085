//! Tests of the masker as a whole.

mod hostile;
mod invented;
mod json;
mod lists;
mod markup;
mod props;
mod texts;
