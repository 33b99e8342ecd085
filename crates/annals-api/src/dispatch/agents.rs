//! The agents of a session.

use annals_proto as wire;

use super::page::forward;
use super::{Api, limit};
use crate::cancel::CancelToken;
use crate::cursor;
use crate::rpc::Error;
use crate::to_wire;

/// How many agents a page has by default and at most.
const AGENTS: (usize, usize) = (1000, 10_000);

impl Api {
    pub(super) fn agents(
        &self,
        params: &wire::AgentsParams,
        cancelled: &CancelToken,
    ) -> Result<wire::AgentsResult, Error> {
        let limit = limit(params.limit, AGENTS.0, AGENTS.1)?;
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        let start = params.cursor.as_deref().map(cursor::read_agent_index).transpose()?.unwrap_or(0);
        let found = self.engine.agents_inside(&file)?;
        let problems = found.errors.iter().map(ToString::to_string).collect();
        let agents = to_wire::agents(&file, &found);
        let page = forward(start, agents.len(), limit, cancelled, |index| Ok(Some(agents[index].clone())))?;
        let next_cursor = (page.end < agents.len()).then(|| cursor::write_agent_index(page.end));
        Ok(wire::AgentsResult { agents: page.items, total: agents.len(), next_cursor, problems })
    }
}
