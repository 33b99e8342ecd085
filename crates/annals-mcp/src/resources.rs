//! Resources: `session://{id}` is the outline of a session, for clients that let people attach one.

use annals_proto::{ListParams, ListResult, Method};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use crate::excerpt::line;
use crate::history::{History, Refusal};
use crate::tools::session;

const SCHEME: &str = "session://";
const JSON: &str = "application/json";
/// How many recent sessions are listed.
const RECENT: usize = 20;
/// The longest title of a session in the list.
const LONGEST_TITLE: usize = 200;

/// Returns the sessions that were active last.
pub(crate) fn recent(history: &History<'_>) -> Result<Vec<Resource>, Refusal> {
    let wanted = ListParams { limit: Some(RECENT), ..ListParams::default() };
    let found: ListResult = history.get(Method::HistoryList, &wanted)?;
    Ok(found.sessions.into_iter().map(|session| resource(session, history)).collect())
}

fn resource(session: annals_proto::Session, history: &History<'_>) -> Resource {
    let title = session.title.or(session.first_prompt).unwrap_or_default();
    let resource = Resource::new(format!("{SCHEME}{}", session.id), line(&title, LONGEST_TITLE));
    let description = match (session.project_path, session.updated_at) {
        (Some(project), Some(time)) => {
            format!("session in {}, last active {time}", history.path(&project, LONGEST_TITLE))
        }
        (Some(project), None) => format!("session in {}", history.path(&project, LONGEST_TITLE)),
        (None, _) => "session".to_owned(),
    };
    resource.with_description(description).with_mime_type(JSON)
}

pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{SCHEME}{{id}}"), "session")
        .with_title("The outline of a session")
        .with_description("What get_session returns: the session, and one line for each turn")
        .with_mime_type(JSON)
}

/// Reads the resource at an address.
pub(crate) fn read(history: &History<'_>, uri: &str) -> Result<ResourceContents, Refusal> {
    let Some(id) = uri.strip_prefix(SCHEME) else {
        return Err(Refusal::new(format!("resources of this server begin with {SCHEME}")));
    };
    let outline = session::outline_of(history, id)?;
    Ok(ResourceContents::text(outline, format!("{SCHEME}{id}")).with_mime_type(JSON))
}
