//! The reply after a prompt that was never answered (CHAIN 6.7).

use super::fragment::{Fragment, LocalCommand, Speaker};
use super::part::{Part, Placeholder};

/// Adds a reply if the last message asks for one. Local commands that were run after the last prompt stay after that reply.
pub(super) fn answer_last_prompt(fragments: &mut Vec<Fragment<'_>>) {
    if asks_for_reply(fragments) {
        let end = fragments.iter().rposition(|fragment| !is_system(fragment)).map_or(0, |last| last + 1);
        fragments
            .insert(end, Fragment::made_up(Speaker::Assistant, Part::Placeholder(Placeholder::NoResponse)));
    }
}

/// Returns whether the last message is the user's and asks for a reply, or whether there is context but no message.
fn asks_for_reply(fragments: &[Fragment<'_>]) -> bool {
    let Some(last) = fragments.iter().rfind(|fragment| fragment.is_message()) else {
        return fragments.iter().any(Fragment::is_attachment);
    };
    let ends_in_context = fragments.last().is_some_and(Fragment::is_attachment);
    last.speaker == Speaker::User
        && !(last.is_compact_summary && ends_in_context)
        && !ends_in_local_commands(fragments)
}

/// Returns whether only local commands follow the last caveat: they ask for no reply.
fn ends_in_local_commands(fragments: &[Fragment<'_>]) -> bool {
    let mut messages = fragments.iter().rev().filter(|fragment| fragment.is_message());
    let before_commands = messages.find(|fragment| fragment.local_command != LocalCommand::Text);
    before_commands.is_some_and(|fragment| fragment.local_command == LocalCommand::Caveat)
}

fn is_system(fragment: &Fragment<'_>) -> bool {
    matches!(fragment.speaker, Speaker::LocalCommand | Speaker::Boundary)
}
