//! The history server: one dispatch for editors, agents and browsers.
