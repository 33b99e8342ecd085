//! `search_sessions`.

use annals_proto::{
    Method, SearchField, SearchHit, SearchLimit, SearchMatch, SearchParams, SearchResult, SearchRole,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limit;
use crate::excerpt::{AnswerBudget, excerpt, id, line};
use crate::history::{History, Refusal};

/// How many sessions are returned by default and at most.
const SESSIONS: (usize, usize) = (8, 50);
/// How many hits of a session are returned by default.
const PER_SESSION: usize = 3;
/// How wide a snippet is, in columns, and how many bytes it has at most.
const SNIPPET: (usize, usize) = (240, 1200);
/// The longest time that a search takes, with the update of the index before it.
const LONGEST_MS: u64 = 20_000;
/// Leaves out the calls of this tool and their output, under the name that `annals mcp install` gives it. Claude Code may record a call
/// before it is answered, so every search would find itself first.
const NO_OWN_CALLS: &str = "-tool:mcp__annals__search_sessions";
/// What stands around the hits of an answer.
const KEPT: usize = 2_500;
/// The most notes, and the longest.
const NOTES: (usize, usize) = (8, 200);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Arguments {
    /// What to find: words that all occur in one message, "exact phrases", -excluded, OR, prefix*. May be empty if there are filters.
    query: String,
    /// How the query is read: `words` (the default), `fixed` for a text that occurs exactly so, or `regex`. The last two read
    /// every transcript, which is slow.
    r#match: Option<Match>,
    /// Only sessions of this working directory; an absolute path.
    project: Option<String>,
    /// Only messages of this session: its id, or the beginning of it.
    session: Option<String>,
    /// Only calls of this tool and their output, such as `Bash` or `Edit`.
    tool: Option<String>,
    /// Only calls that touched this file or folder, and their output.
    file: Option<String>,
    /// Only messages on this git branch.
    branch: Option<String>,
    /// Only messages of this role. Output of tools counts as `user`.
    role: Option<Role>,
    /// Only this part of messages.
    r#in: Option<Field>,
    /// Only errors: failed tool calls and failed requests.
    errors: Option<bool>,
    /// Only messages from this time on: RFC 3339, a day such as 2026-11-02 in UTC, or how long ago, such as 7d.
    since: Option<String>,
    /// Only messages before this time, or up to the end of this day.
    until: Option<String>,
    /// How many sessions to return: 8 by default, at most 50.
    limit: Option<usize>,
    /// How many hits of each session to return: 3 by default, at most 20.
    per_session: Option<usize>,
    /// `next_cursor` of the previous answer, with the same arguments.
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Match {
    Words,
    Fixed,
    Regex,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
    System,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Field {
    Prompt,
    Reply,
    Thinking,
    Tool,
    Input,
    Output,
    Title,
    Summary,
}

#[derive(Debug, Serialize)]
pub(crate) struct SearchPage {
    hits: Vec<Hit>,
    /// How many parts of messages match, in how many sessions.
    total: u64,
    sessions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Hit {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    role: SearchRole,
    field: SearchField,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    error: bool,
    snippet: String,
    /// How many hits the session has.
    hits_in_session: usize,
}

pub(crate) fn run(history: &History<'_>, arguments: Arguments) -> Result<SearchPage, Refusal> {
    let mut wanted = params(arguments)?;
    loop {
        let result: SearchResult = history.get(Method::HistorySearch, &wanted)?;
        let (hits, sessions_that_fit) = fitting(history, &result.hits);
        // A cursor continues after whole sessions, so the answer has exactly those.
        if hits.len() < result.hits.len() && wanted.limit > Some(sessions_that_fit) {
            wanted.limit = Some(sessions_that_fit);
            continue;
        }
        let left_out = result.hits.len() - hits.len();
        return Ok(SearchPage {
            hits,
            total: result.total,
            sessions: result.sessions,
            notes: notes(&result, left_out),
            next_cursor: result.next_cursor,
        });
    }
}

fn params(arguments: Arguments) -> Result<SearchParams, Refusal> {
    let limit = limit(arguments.limit, SESSIONS.0, SESSIONS.1)?;
    Ok(SearchParams {
        query: query(&arguments),
        matching: arguments.r#match.map(|matching| match matching {
            Match::Words => SearchMatch::Words,
            Match::Fixed => SearchMatch::Fixed,
            Match::Regex => SearchMatch::Regex,
        }),
        workspace_path: arguments.project,
        sessions: arguments.session.map(|session| vec![session]),
        tool_name: arguments.tool,
        file_path: arguments.file,
        branch: arguments.branch,
        role: arguments.role.map(|role| match role {
            Role::User => SearchRole::User,
            Role::Assistant => SearchRole::Assistant,
            Role::System => SearchRole::System,
        }),
        fields: arguments.r#in.map(|field| {
            vec![match field {
                Field::Prompt => SearchField::Prompt,
                Field::Reply => SearchField::Reply,
                Field::Thinking => SearchField::Thinking,
                Field::Tool => SearchField::Tool,
                Field::Input => SearchField::Input,
                Field::Output => SearchField::Output,
                Field::Title => SearchField::Title,
                Field::Summary => SearchField::Summary,
            }]
        }),
        errors: arguments.errors,
        date_from: arguments.since,
        date_to: arguments.until,
        per_session: Some(arguments.per_session.unwrap_or(PER_SESSION)),
        limit: Some(limit),
        cursor: arguments.cursor,
        snippet_width: Some(SNIPPET.0),
        max_time_ms: Some(LONGEST_MS),
        ..SearchParams::default()
    })
}

/// Returns the query, without the calls of this tool unless a tool is asked for. Only a query of words has filters.
fn query(arguments: &Arguments) -> String {
    let query = &arguments.query;
    let has_words =
        matches!(arguments.r#match, None | Some(Match::Words)) && query.contains(char::is_alphanumeric);
    // A filter holds for all of a query, which the answer says where the query has alternatives.
    if has_words && arguments.tool.is_none() && !query.contains("tool:") && !query.contains(" OR ") {
        // In front, because a quotation mark that is not closed holds to the end.
        return format!("{NO_OWN_CALLS} {query}");
    }
    query.clone()
}

/// Returns the hits that fit into an answer, and how many sessions they are of, at least 1. Sessions are whole, except for the first.
fn fitting(history: &History<'_>, hits: &[SearchHit]) -> (Vec<Hit>, usize) {
    let mut budget = AnswerBudget::new(KEPT);
    let mut fitting: Vec<Hit> = Vec::new();
    let mut sessions = 0;
    for of_session in hits.chunk_by(|one, other| one.session == other.session) {
        let start = fitting.len();
        for hit in of_session {
            let hit = to_hit(history, hit);
            if !budget.take(&hit) {
                if sessions > 0 {
                    fitting.truncate(start);
                }
                return (fitting, sessions.max(1));
            }
            fitting.push(hit);
        }
        sessions += 1;
    }
    (fitting, sessions.max(1))
}

fn to_hit(history: &History<'_>, hit: &SearchHit) -> Hit {
    Hit {
        session: hit.session.as_deref().map(id).unwrap_or_default(),
        agent: hit.agent_id.as_deref().map(id),
        uuid: hit.uuid.as_deref().map(id),
        title: hit.title.as_deref().map(|title| line(title, 160)),
        project: hit.project_path.as_deref().map(|path| history.path(path, 400)),
        time: hit.timestamp.clone(),
        role: hit.role,
        field: hit.field,
        tool: hit.tool.as_deref().map(id),
        error: hit.error,
        snippet: excerpt(&hit.snippet, 0, SNIPPET.1).text,
        hits_in_session: hit.in_session,
    }
}

/// Returns what the answer lacks, and what helps.
fn notes(result: &SearchResult, left_out: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(format!(
            "{left_out} hits of this session did not fit; narrow the query, or lower `per_session`"
        ));
    }
    if result.no_index {
        notes.push("nothing was searched: there is no index yet; `annals index update` makes it".to_owned());
    }
    if let Some(behind) = result.behind {
        notes.push(format!(
            "{} transcripts ({} bytes) are not indexed yet and were not searched; `annals index update` indexes them",
            behind.files, behind.bytes
        ));
    }
    match result.cut {
        Some(SearchLimit::Time) => {
            notes.push("the search took too long and ended early; narrow it with filters".to_owned());
        }
        Some(_) => notes.push("the search ended early".to_owned()),
        None => {}
    }
    let corrections = result.corrections.iter().filter(|correction| !correction.corrections.is_empty());
    notes.extend(corrections.map(|correction| {
        let meant = correction.corrections.iter().take(3).map(|word| line(word, 60));
        format!(
            "no message has {}; did you mean {}?",
            line(&correction.word, 60),
            meant.collect::<Vec<_>>().join(" or ")
        )
    }));
    notes.extend(result.notices.iter().chain(&result.problems).map(|notice| line(notice, NOTES.1)));
    notes.truncate(NOTES.0);
    notes
}
