//! What nodes are made for: documents without colours need less work.

use annals_proto::{ViewNode, ViewRowKind};

use crate::ansi::{ansi, plain_ansi};
use crate::code::{code, plain_code};
use crate::language::Language;

/// What nodes are made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// A viewer: code has colours, and replies have their model and their token counts.
    #[default]
    Viewer,
    /// A page: code has colours.
    Page,
    /// Markdown or text, without colours.
    Plain,
}

impl Target {
    /// Returns whether the summary of a row is shown: documents show the whole content instead, except in rows that are folded.
    pub(crate) fn has_summary(self, kind: ViewRowKind) -> bool {
        match (self, kind) {
            (Target::Viewer, _) => true,
            (_, ViewRowKind::Prompt | ViewRowKind::Reply) | (Target::Plain, ViewRowKind::Thinking) => false,
            _ => true,
        }
    }

    /// Renders code.
    pub(crate) fn code(
        self,
        text: &str,
        language: Option<&'static Language>,
        first: Option<u64>,
    ) -> ViewNode {
        match self {
            Target::Viewer | Target::Page => code(text, language, first),
            Target::Plain => plain_code(text, language, first),
        }
    }

    /// Renders output of a program.
    pub(crate) fn ansi(self, text: &str) -> ViewNode {
        match self {
            Target::Viewer | Target::Page => ansi(text),
            Target::Plain => plain_ansi(text),
        }
    }
}
