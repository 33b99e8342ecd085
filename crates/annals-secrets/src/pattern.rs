//! Regular expressions that are compiled when they are first needed.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

/// A regular expression over bytes: classes and case are ASCII.
///
/// Most texts need few of the rules. Compiling all of them would cost more than showing a short session.
#[derive(Debug)]
pub(crate) struct Pattern {
    source: String,
    ignore_case: bool,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    pub(crate) fn new(source: String, ignore_case: bool) -> Self {
        Self { source, ignore_case, compiled: OnceLock::new() }
    }

    /// Returns the compiled expression. Call [`Pattern::check`] first if the source is a user's.
    pub(crate) fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            self.compile()
                .expect("built-in patterns are checked by a test, those of users when they are read")
        })
    }

    /// Compiles the expression now, and says what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), regex::Error> {
        let compiled = self.compile()?;
        let _ = self.compiled.set(compiled);
        Ok(())
    }

    fn compile(&self) -> Result<Regex, regex::Error> {
        RegexBuilder::new(&self.source).unicode(false).case_insensitive(self.ignore_case).build()
    }
}
