//! Editors that know agents.
