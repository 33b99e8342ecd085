//! Facts of a session that has grown: the earlier facts, joined with those of what was appended (LISTS 1.9).

use std::fs::File;
use std::io;

use annals_transcript::entry::view::{AgentName, AiTitle, CustomTitle, Tag};
use annals_transcript::lite::{Lite, ScanBound};

use super::super::folder::FoundTranscript;
use super::{Facts, Title, TitleSource, TranscriptKind};

/// Returns the facts of all of a transcript, from the facts of its beginning and from what was appended. Returns `None` if
/// all of it must be read: the appended part removes a title, since an earlier title may count then (LISTS 1.9), or takes a
/// prompt from the queue, whose text is not known (LISTS 2.11).
pub(super) fn joined(
    known: &Facts,
    mut since: Lite,
    file: &mut File,
    transcript: &FoundTranscript,
    bound: ScanBound,
) -> io::Result<Option<Facts>> {
    if known.is_partial {
        // An entry after the gap is not the first (LISTS 1.8).
        (since.first_prompt, since.first_reply) = (None, None);
    }
    let is_tagged = since.last::<Tag>().is_some();
    let tells_branch = since.git_branch.is_some();
    let names_again = known.title.as_ref().is_some_and(|title| has_title(&since, title.source));
    let queued = since.queued_after(known.queued);
    if queued.is_none() && !known.is_partial {
        return Ok(None);
    }
    let mut facts = Facts::of(since, file, transcript, bound)?;
    let title = preferred_title(known.title.as_ref(), facts.title.as_ref()).cloned();
    if names_again && title != facts.title {
        return Ok(None);
    }
    // `Facts::of` clears `can_grow` for a summary among the new lines. A title that was given outranks a summary.
    facts.can_grow |= title.as_ref().is_some_and(|title| title.source.is_given());
    facts.title = title;
    facts.cwds = known.cwds.then(&facts.cwds);
    facts.cwd = facts.cwds.of_session(&transcript.path);
    if !is_tagged {
        facts.tag.clone_from(&known.tag);
    }
    if !tells_branch {
        facts.git_branch.clone_from(&known.git_branch);
    }
    if matches!(known.kind, TranscriptKind::Conversation | TranscriptKind::SidechainOnly) {
        facts.forked_from.clone_from(&known.forked_from);
    }
    facts.kind = joined_kind(known.kind, facts.kind);
    facts.first_prompt = known.first_prompt.clone().or(facts.first_prompt);
    facts.entrypoint = known.entrypoint.clone().or(facts.entrypoint);
    facts.session = known.session.clone().or(facts.session);
    facts.version = facts.version.or(known.version.clone());
    facts.permission_mode = facts.permission_mode.or(known.permission_mode.clone());
    facts.created_at = known.created_at.into_iter().chain(facts.created_at).min();
    facts.updated_at = facts.updated_at.max(known.updated_at);
    facts.is_partial = known.is_partial;
    let counted = known.messages.filter(|_| !known.is_partial);
    facts.messages = counted.zip(facts.messages).map(|(before, since)| before + since);
    facts.queued = queued;
    Ok(Some(facts))
}

/// Returns the title that counts: the one whose source has priority, or else the later one. Of two prompts, or two
/// replies, the first counts (LISTS 3.1, LISTS 2.7, LISTS 3.6).
fn preferred_title<'a>(known: Option<&'a Title>, since: Option<&'a Title>) -> Option<&'a Title> {
    let (Some(before), Some(later)) = (known, since) else { return known.or(since) };
    let is_weaker = later.source as i64 > before.source as i64;
    let is_later = later.source == before.source && later.source.first_counts();
    if is_weaker || is_later { known } else { since }
}

/// Returns whether there is a record of the kind that is the source of a title.
fn has_title(lite: &Lite, source: TitleSource) -> bool {
    match source {
        TitleSource::Custom | TitleSource::Earlier => lite.last::<CustomTitle>().is_some(),
        TitleSource::Agent => lite.last::<AgentName>().is_some(),
        TitleSource::Ai => lite.last::<AiTitle>().is_some(),
        TitleSource::Summary | TitleSource::Prompt | TitleSource::Reply => false,
    }
}

/// Returns the kind of a transcript whose two parts have these kinds.
fn joined_kind(before: TranscriptKind, since: TranscriptKind) -> TranscriptKind {
    let order = [
        TranscriptKind::Conversation,
        TranscriptKind::SidechainOnly,
        TranscriptKind::RecordsOnly,
        TranscriptKind::Empty,
    ];
    order.into_iter().find(|kind| [before, since].contains(kind)).unwrap_or_default()
}
