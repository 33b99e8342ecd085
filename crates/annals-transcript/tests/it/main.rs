//! What must hold for any input, and for every transcript at hand.

mod chain_props;
mod corpora;
mod project_names;
mod props;
