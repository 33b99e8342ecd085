//! Where attachments go (CHAIN 6.9a).

use super::fragment::{Fragment, Speaker};
use super::part::Part;

/// Moves attachments up to the reply or the result that they follow, past prompts and local commands, and context past the
/// queued prompts of the user. Attachments of which nothing is sent are dropped.
pub(super) fn move_up(fragments: &mut Vec<Fragment<'_>>) {
    fragments.retain(|fragment| !fragment.is_attachment() || fragment.parts().next().is_some());
    for run in fragments.split_inclusive_mut(ends_run) {
        let end = run.len() - usize::from(run.last().is_some_and(ends_run));
        run[..end].sort_by_key(|fragment| (!is_context(fragment), !fragment.is_attachment()));
    }
}

/// Returns whether attachments move no further up than this.
fn ends_run(fragment: &Fragment<'_>) -> bool {
    fragment.speaker == Speaker::Assistant || fragment.has_results()
}

/// Returns whether an attachment is context, of which only images are sent, and not a queued prompt, which begins with text.
fn is_context(fragment: &Fragment<'_>) -> bool {
    fragment.is_attachment() && !fragment.parts().next().is_some_and(Part::is_text)
}
