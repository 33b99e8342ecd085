//! Facts of a session that has grown (LISTS 1.8): those of its old lines, joined with those of the appended ones.

use std::fs::File;
use std::io;

use annals_transcript::entry::view::{AgentName, AiTitle, CustomTitle, Tag};
use annals_transcript::lite::Lite;

use super::super::folder::Candidate;
use super::{Facts, Standing, Title, TitleSource};

/// Returns the facts of all lines of a transcript: `known` are those of the old lines, `since` those of the appended ones.
/// Returns `None` if the appended lines take back the title, because an older one may then count (LISTS 1.8).
pub(super) fn with(
    known: &Facts,
    since: Lite,
    file: &mut File,
    transcript: &Candidate,
) -> io::Result<Option<Facts>> {
    let is_tagged = since.last::<Tag>().is_some();
    let tells_branch = since.git_branch.is_some();
    let names_again = known.title.as_ref().is_some_and(|title| has_title(&since, title.source));
    let mut facts = Facts::of(since, file, transcript)?;
    let title = counts(known.title.as_ref(), facts.title.as_ref()).cloned();
    if names_again && title != facts.title {
        return Ok(None);
    }
    facts.title = title;
    facts.cwds = known.cwds.then(&facts.cwds);
    facts.cwd = facts.cwds.of_session(&transcript.path);
    if !is_tagged {
        facts.tag.clone_from(&known.tag);
    }
    if !tells_branch {
        facts.git_branch.clone_from(&known.git_branch);
    }
    if matches!(known.standing, Standing::Conversation | Standing::SidechainOnly) {
        facts.forked_from.clone_from(&known.forked_from);
    }
    facts.standing = together(known.standing, facts.standing);
    facts.first_prompt = known.first_prompt.clone().or(facts.first_prompt);
    facts.entrypoint = known.entrypoint.clone().or(facts.entrypoint);
    facts.session = known.session.clone().or(facts.session);
    facts.version = facts.version.or(known.version.clone());
    facts.permission_mode = facts.permission_mode.or(known.permission_mode.clone());
    facts.created_at = known.created_at.into_iter().chain(facts.created_at).min();
    facts.updated_at = facts.updated_at.max(known.updated_at);
    facts.messages = known.messages.zip(facts.messages).map(|(before, since)| before + since);
    Ok(Some(facts))
}

/// Returns the title that counts: the one whose source comes first (LISTS 3.1), or else the later one. Of two prompts the
/// first one counts (LISTS 2.7).
fn counts<'a>(known: Option<&'a Title>, since: Option<&'a Title>) -> Option<&'a Title> {
    let (Some(before), Some(later)) = (known, since) else { return known.or(since) };
    let is_prompt = later.source == TitleSource::Prompt;
    if later.source as i64 > before.source as i64 || is_prompt { known } else { since }
}

/// Returns whether there is a record of the kind that a title comes from.
fn has_title(lite: &Lite, source: TitleSource) -> bool {
    match source {
        TitleSource::Custom | TitleSource::Earlier => lite.last::<CustomTitle>().is_some(),
        TitleSource::Agent => lite.last::<AgentName>().is_some(),
        TitleSource::Ai => lite.last::<AiTitle>().is_some(),
        TitleSource::Summary | TitleSource::Prompt => false,
    }
}

/// Returns what a file holds whose two parts hold these.
fn together(before: Standing, since: Standing) -> Standing {
    let order = [Standing::Conversation, Standing::SidechainOnly, Standing::RecordsOnly, Standing::Empty];
    order.into_iter().find(|standing| [before, since].contains(standing)).unwrap_or_default()
}
