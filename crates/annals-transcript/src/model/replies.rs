//! Empty replies (CHAIN 6.3).

use super::fragment::Fragment;
use crate::session::Session;

/// Drops replies of blank text, and reasoning and placeholders unless another line of the same reply says something.
pub(super) fn drop_empty(session: &Session, fragments: &mut Vec<Fragment<'_>>) {
    let says_something = replies_that_say_something(session, fragments);
    fragments.retain(|fragment| {
        let has_other_line = fragment.reply_id().is_some_and(|id| says_something[id.index()]);
        !fragment.is_blank_reply() && (has_other_line || !fragment.is_silent_reply())
    });
}

/// Returns whether a line of a reply says something, by the index of the reply's id.
fn replies_that_say_something(session: &Session, fragments: &[Fragment<'_>]) -> Vec<bool> {
    let mut says_something = vec![false; session.id_count()];
    for fragment in
        fragments.iter().filter(|fragment| !fragment.blocks.is_empty() && !fragment.is_silent_reply())
    {
        if let Some(id) = fragment.reply_id() {
            says_something[id.index()] = true;
        }
    }
    says_something
}
