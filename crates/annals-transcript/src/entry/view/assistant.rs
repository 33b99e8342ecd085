//! `assistant`: one content block of a reply, with its token counters.

use std::borrow::Cow;

use super::view;
use crate::json::Value;

/// The model of replies that Claude Code wrote itself.
pub(crate) const SYNTHETIC: &str = "<synthetic>";

view!(entry:
    /// One line of a reply. The lines of one reply share `message.id`.
    Assistant {
        /// Returns the request that the reply answers.
        request_id: text "requestId",
        /// Returns the index of the block in the reply.
        block_index: number "apiBlockIndex",
        /// Returns the requested effort.
        effort: text "effort",
        /// Returns the error, if the reply reports one.
        error: text "error",
        /// Returns the HTTP status of that error.
        error_status: number "apiErrorStatus",
        /// Returns the skill that the reply is charged to.
        attribution_skill: text "attributionSkill",
        /// Returns the agent that the reply is charged to.
        attribution_agent: text "attributionAgent",
        /// Returns the plugin that the reply is charged to.
        attribution_plugin: text "attributionPlugin",
        /// Returns the MCP server that the reply is charged to.
        attribution_mcp_server: text "attributionMcpServer",
        /// Returns the MCP tool that the reply is charged to.
        attribution_mcp_tool: text "attributionMcpTool",
        /// Returns the working directory.
        cwd: text "cwd",
        /// Returns the version of Claude Code.
        version: text "version",
    }
);

impl<'a> Assistant<'a> {
    /// Returns the id that all lines of the reply share.
    pub fn message_id(&self) -> Option<Cow<'a, str>> {
        self.message()?.text("id")
    }

    /// Reads several fields with one look at the message, which may be long.
    pub fn message_fields(&self) -> MessageFields<'a> {
        let mut fields = MessageFields::default();
        for (key, value) in self.message().into_iter().flat_map(Value::members) {
            match &*key.decode() {
                "model" => fields.model = value.as_text(),
                "usage" => fields.usage = Some(value).filter(|usage| !usage.is_null()).map(Usage),
                "stop_reason" => fields.stop_reason = value.as_text(),
                "stop_sequence" => fields.stop_sequence = value.as_text(),
                _ => {}
            }
        }
        fields
    }

    /// Returns the model's name; `<synthetic>` for replies that Claude Code wrote itself.
    pub fn model(&self) -> Option<Cow<'a, str>> {
        self.message()?.text("model")
    }

    /// Returns whether Claude Code wrote the reply itself.
    pub fn is_synthetic(&self) -> bool {
        self.model().is_some_and(|model| model == SYNTHETIC)
    }

    /// Returns why the reply ended; null on most lines up to 2.1.59.
    pub fn stop_reason(&self) -> Option<Cow<'a, str>> {
        self.message()?.text("stop_reason")
    }

    /// Returns the sequence at which the model stopped, if its stop reason is one.
    pub fn stop_sequence(&self) -> Option<Cow<'a, str>> {
        self.message()?.text("stop_sequence")
    }

    /// Returns the token counters so far. Those of the last line are the counters of the whole reply.
    pub fn usage(&self) -> Option<Usage<'a>> {
        self.message()?.present("usage").map(Usage)
    }

    fn message(&self) -> Option<Value<'a>> {
        self.0.get("message")
    }
}

/// Fields of the message in a line of a reply; the methods of [`Assistant`] describe them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MessageFields<'a> {
    /// See [`Assistant::model`].
    pub model: Option<Cow<'a, str>>,
    /// See [`Assistant::usage`].
    pub usage: Option<Usage<'a>>,
    /// See [`Assistant::stop_reason`].
    pub stop_reason: Option<Cow<'a, str>>,
    /// See [`Assistant::stop_sequence`].
    pub stop_sequence: Option<Cow<'a, str>>,
}

view!(part:
    /// Token counters of a reply.
    Usage {
        /// Returns input tokens that were neither read from nor written to the cache.
        input_tokens: number "input_tokens",
        /// Returns output tokens, thinking included.
        output_tokens: number "output_tokens",
        /// Returns input tokens written to the cache, for all lifetimes.
        cache_creation_tokens: number "cache_creation_input_tokens",
        /// Returns input tokens read from the cache.
        cache_read_tokens: number "cache_read_input_tokens",
        /// Returns the service tier.
        service_tier: text "service_tier",
        /// Returns where the reply was computed.
        inference_geo: text "inference_geo",
        /// Returns the speed: `standard` or `fast`.
        speed: text "speed",
        /// Returns the counters of each request. The other counters already include them: do not add them.
        iterations: value "iterations",
    }
);

impl<'a> Usage<'a> {
    /// Returns the JSON value of the counters.
    pub fn value(&self) -> Value<'a> {
        self.0
    }

    /// Returns tokens written to the cache for five minutes.
    pub fn cache_creation_5m_tokens(&self) -> Option<u64> {
        self.0.get("cache_creation")?.number("ephemeral_5m_input_tokens")
    }

    /// Returns tokens written to the cache for an hour.
    pub fn cache_creation_1h_tokens(&self) -> Option<u64> {
        self.0.get("cache_creation")?.number("ephemeral_1h_input_tokens")
    }

    /// Returns output tokens spent on thinking (from 2.1.228).
    pub fn thinking_tokens(&self) -> Option<u64> {
        self.0.get("output_tokens_details")?.number("thinking_tokens")
    }

    /// Returns the calls of tools that ran on the server.
    pub fn server_tool_use(&self) -> Option<ServerToolUse<'a>> {
        self.0.present("server_tool_use").map(ServerToolUse)
    }
}

view!(part:
    /// Calls of tools that ran on the server.
    ServerToolUse {
        /// Returns the number of web searches.
        web_search_requests: number "web_search_requests",
        /// Returns the number of pages fetched.
        web_fetch_requests: number "web_fetch_requests",
    }
);
