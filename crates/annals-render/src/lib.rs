//! Conversations as a tree of typed nodes, and from these HTML, Markdown and plain text.
//!
//! A transcript is text of strangers. Nothing of it becomes markup: every renderer here returns nodes
//! ([`ViewNode`]) that contain text, and the writers ([`html`], [`markdown`], [`text`]) escape all of it. A viewer builds
//! elements of its own from the same nodes. The crate reads no files and knows no secrets: a [`Filter`] masks lines before they are
//! rendered, and what rendering puts together.
//!
//! Work and results are linear in the input and bounded: see the constants of each module.
//!
//! ```
//! use annals_render::{html, prose};
//!
//! let nodes = prose("Use **`tea`** <script>alert(1)</script> [now](javascript:alert(1))");
//! let mut page = String::new();
//! html::nodes(&nodes, &mut page);
//! assert_eq!(
//!     page,
//!     "<p>Use <strong><code>tea</code></strong> &lt;script&gt;alert(1)&lt;/script&gt; now</p>\n"
//! );
//! ```

mod ansi;
mod assembled;
mod card;
mod code;
mod cut;
mod diff;
mod harmful;
pub mod html;
mod image;
mod json;
mod language;
mod link;
mod long;
pub mod markdown;
mod outline;
mod prose;
mod row;
mod target;
pub mod text;

pub use ansi::ansi;
pub use card::{CallParts, Card, Fact};
pub use code::{code, lines_of};
pub use cut::{FIRST_BYTES, FIRST_LINES, Keep, byte_count, cut, line_count, slice};
pub use diff::{diff, patch};
pub use harmful::{has_harmful, judged, visible};
pub use image::{MediaRef, media};
pub use json::json;
pub use language::Language;
pub use long::Piece;
pub use outline::{Outline, RowRef};
pub use prose::prose;
pub use row::{
    EntryRow, Filter, Found, LONGEST_ENTRY, Open, OpenStored, ReadOutput, Rows, StoredText, WholeOutput,
    duration, tool_state,
};
pub use target::Target;

use annals_proto::{ViewInline, ViewNode};

/// Returns plain text inside a paragraph, with harmful characters made visible.
pub(crate) fn inline(text: &str) -> ViewInline {
    ViewInline::Text(visible(text).into_owned())
}

/// Returns a remark of annals.
pub(crate) fn note(kind: &str, text: &str) -> ViewNode {
    ViewNode::Note { kind: kind.to_owned(), c: vec![inline(text)] }
}

/// Returns plain text whose white space counts.
pub(crate) fn plain(text: &str) -> ViewNode {
    ViewNode::Text { text: visible(text).into_owned() }
}

/// Returns the end of the longest prefix of a text that has at most so many bytes and ends between two characters.
pub(crate) fn floor(text: &str, bytes: usize) -> usize {
    if bytes >= text.len() {
        return text.len();
    }
    (0..=bytes).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Returns a text as one line of at most so many characters.
pub fn one_line(text: &str, longest: usize) -> String {
    one_line_of(text, longest).0
}

/// Returns the same, and whether words of the text are left out. The line is then the same for every longer text that begins so.
pub(crate) fn one_line_of(text: &str, longest: usize) -> (String, bool) {
    let mut line = String::new();
    let mut is_cut = false;
    let mut count = 0;
    for word in text[..floor(text, 16 * longest)].split_whitespace() {
        let length = word.chars().count();
        let space = usize::from(count > 0);
        if count + space + length > longest {
            let room = longest.saturating_sub(count + space + 1);
            if space > 0 && room > 0 {
                line.push(' ');
            }
            line.extend(word.chars().take(room));
            line.push('…');
            is_cut = true;
            break;
        }
        if space > 0 {
            line.push(' ');
        }
        line.push_str(word);
        count += space + length;
    }
    let line = match visible(&line) {
        std::borrow::Cow::Borrowed(_) => line,
        std::borrow::Cow::Owned(line) => line,
    };
    (line, is_cut)
}
