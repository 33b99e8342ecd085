//! Records beside the conversation: titles, tags, modes, file history, queue, cost.

use std::borrow::Cow;

use super::view;
use crate::json::Value;

view!(entry:
    /// A title. Versions up to 2.1.29 wrote it, often for another session.
    Summary {
        /// Returns the title.
        summary: text "summary",
        /// Returns a message of the session that it names.
        leaf: text "leafUuid",
    }
);

view!(entry:
    /// The title that the user gave.
    CustomTitle {
        /// Returns the title.
        title: text "customTitle",
    }
);

view!(entry:
    /// The title that a model gave.
    AiTitle {
        /// Returns the title.
        title: text "aiTitle",
    }
);

view!(entry:
    /// The name that the session runs under.
    AgentName {
        /// Returns the name.
        name: text "agentName",
    }
);

view!(entry:
    /// The user's tag; empty if it was removed.
    Tag {
        /// Returns the tag.
        tag: text "tag",
    }
);

view!(entry:
    /// The input mode.
    Mode {
        /// Returns the mode.
        mode: text "mode",
    }
);

view!(entry:
    /// The permission mode.
    PermissionMode {
        /// Returns the mode.
        mode: text "permissionMode",
    }
);

view!(entry:
    /// The last prompt and the leaf of the conversation.
    LastPrompt {
        /// Returns the prompt, cut at about 200 characters.
        prompt: text "lastPrompt",
        /// Returns the leaf; an id of zeros cancels earlier ones.
        leaf: text "leafUuid",
        /// Returns whether the conversation has to end exactly there.
        explicit: flag "explicit",
    }
);

view!(entry:
    /// A pull request that belongs to the session.
    PrLink {
        /// Returns its number.
        number: number "prNumber",
        /// Returns its address.
        url: text "prUrl",
        /// Returns its repository.
        repository: text "prRepository",
        /// Returns when it was linked.
        linked_at: time "timestamp",
    }
);

view!(entry:
    /// A prompt entering or leaving the queue.
    QueueOperation {
        /// Returns `enqueue`, `dequeue`, `remove` or `popAll`.
        operation: text "operation",
        /// Returns the prompt.
        content: content "content",
        /// Returns why it left the queue.
        reason: text "reason",
        /// Returns the queue entry.
        command: text "commandUuid",
        /// Returns the delivery.
        delivery: text "deliveryId",
    }
);

view!(entry:
    /// The state of tracked files before a prompt.
    FileHistorySnapshot {
        /// Returns the prompt.
        message_id: text "messageId",
        /// Returns whether it adds to an earlier snapshot of the same prompt.
        is_update: flag "isSnapshotUpdate",
    }
);

impl<'a> FileHistorySnapshot<'a> {
    /// Returns when the snapshot was taken.
    pub fn taken_at(&self) -> Option<jiff::Timestamp> {
        self.0.get("snapshot")?.text("timestamp")?.parse().ok()
    }

    /// Returns the tracked files, by path, with their backups.
    pub fn backups(&self) -> impl Iterator<Item = (Cow<'a, str>, FileBackup<'a>)> + use<'a> {
        let backups = self.0.get("snapshot").and_then(|snapshot| snapshot.get("trackedFileBackups"));
        backups.into_iter().flat_map(Value::members).map(|(path, backup)| (path.decode(), FileBackup(backup)))
    }
}

view!(entry:
    /// One more backup for a snapshot.
    FileHistoryDelta {
        /// Returns the reply that changed the file.
        message_id: text "messageId",
        /// Returns the prompt of the snapshot.
        snapshot_message_id: text "snapshotMessageId",
        /// Returns the file.
        path: text "trackingPath",
    }
);

impl<'a> FileHistoryDelta<'a> {
    /// Returns the backup.
    pub fn backup(&self) -> Option<FileBackup<'a>> {
        self.0.present("backup").map(FileBackup)
    }
}

view!(part:
    /// A copy of a file as it was.
    FileBackup {
        /// Returns the file under `file-history/<session>/`; `None` if the tracked file did not exist.
        file_name: text "backupFileName",
        /// Returns the number of the version.
        version: number "version",
        /// Returns when it was made.
        made_at: time "backupTime",
        /// Returns the real folder of the file.
        real_parent: text "realParentDir",
    }
);

view!(entry:
    /// The worktree that the session works in.
    WorktreeState {}
);

impl<'a> WorktreeState<'a> {
    /// Returns the worktree; `None` after the session left it.
    pub fn worktree(&self) -> Option<Worktree<'a>> {
        self.0.present("worktreeSession").map(Worktree)
    }
}

view!(part:
    /// A git worktree made for a session.
    Worktree {
        /// Returns the directory that the session came from.
        original_cwd: text "originalCwd",
        /// Returns the worktree's directory.
        path: text "worktreePath",
        /// Returns its name.
        name: text "worktreeName",
        /// Returns its branch.
        branch: text "worktreeBranch",
        /// Returns the branch that the session came from.
        original_branch: text "originalBranch",
        /// Returns the commit that the worktree started from.
        original_commit: text "originalHeadCommit",
    }
);

view!(entry:
    /// Totals of the session so far, subagents included; the last one counts.
    CostState {
        /// Returns the cost in dollars.
        total_usd: float "totalCostUSD",
        /// Returns the time spent on requests.
        api_duration_ms: number "totalAPIDuration",
        /// Returns the same without retries.
        api_duration_without_retries_ms: number "totalAPIDurationWithoutRetries",
        /// Returns the time spent in tools.
        tool_duration_ms: number "totalToolDuration",
        /// Returns the time since the start.
        duration_ms: number "totalDuration",
        /// Returns the lines added to files.
        lines_added: number "totalLinesAdded",
        /// Returns the lines removed from files.
        lines_removed: number "totalLinesRemoved",
        /// Returns the start, in milliseconds since 1970.
        started_at_ms: number "startTime",
        /// Returns whether a model without a known price took part.
        has_unknown_model_cost: flag "hasUnknownModelCost",
    }
);

impl<'a> CostState<'a> {
    /// Returns the totals of each model.
    pub fn models(&self) -> impl Iterator<Item = (Cow<'a, str>, ModelCost<'a>)> + use<'a> {
        let models = self.0.get("modelUsage").into_iter().flat_map(Value::members);
        models.map(|(name, usage)| (name.decode(), ModelCost(usage)))
    }
}

view!(part:
    /// Totals of one model.
    ModelCost {
        /// Returns input tokens outside the cache.
        input_tokens: number "inputTokens",
        /// Returns output tokens.
        output_tokens: number "outputTokens",
        /// Returns output tokens spent on thinking.
        thinking_tokens: number "thinkingTokens",
        /// Returns tokens read from the cache.
        cache_read_tokens: number "cacheReadInputTokens",
        /// Returns tokens written to the cache.
        cache_creation_tokens: number "cacheCreationInputTokens",
        /// Returns those written for five minutes.
        cache_creation_5m_tokens: number "cacheCreationEphemeral5mInputTokens",
        /// Returns those written for an hour.
        cache_creation_1h_tokens: number "cacheCreationEphemeral1hInputTokens",
        /// Returns the number of web searches.
        web_search_requests: number "webSearchRequests",
        /// Returns the cost in dollars.
        usd: float "costUSD",
    }
);

view!(entry:
    /// Tool results whose content the model no longer sees as it was.
    ContentReplacement {
        /// Returns the subagent; `None` for the main conversation.
        agent_id: text "agentId",
    }
);

impl<'a> ContentReplacement<'a> {
    /// Returns the replacements.
    pub fn replacements(&self) -> impl Iterator<Item = Replacement<'a>> + use<'a> {
        self.0.get("replacements").into_iter().flat_map(Value::items).map(Replacement)
    }
}

view!(part:
    /// What the model sees instead of a tool result. Its fields are reported, not seen.
    Replacement {
        /// Returns what is replaced: `tool-result`.
        kind: text "kind",
        /// Returns the call whose result is replaced.
        tool_use_id: text "toolUseId",
        /// Returns the text that replaces it.
        replacement: text "replacement",
    }
);

impl<'a> Replacement<'a> {
    /// Returns the JSON value of the replacement.
    pub fn value(&self) -> Value<'a> {
        self.0
    }
}

view!(entry:
    /// The lines that the session wrote, file by file. Its fields are not known: use the body.
    AttributionSnapshot {}
);

view!(entry:
    /// An artifact that belongs to the session.
    FrameLink {
        /// Returns the file that it was made from.
        path: text "path",
        /// Returns its address.
        url: text "frameUrl",
        /// Returns its title.
        title: text "title",
    }
);

view!(entry:
    /// The tools called so far.
    ToolsUsed {
        /// Returns their names.
        tools: texts "tools",
    }
);

view!(entry:
    /// The remote session that mirrors this one.
    BridgeSession {
        /// Returns its id.
        bridge_session: text "bridgeSessionId",
        /// Returns its last sequence number.
        last_sequence: number "lastSequenceNum",
    }
);

view!(entry:
    /// The session moved to another working directory.
    Relocated {
        /// Returns the directory.
        cwd: text "relocatedCwd",
    }
);

view!(entry:
    /// The session continues under another id.
    ContinuedIn {
        /// Returns the other session.
        session: text "continuedInSessionId",
    }
);

view!(entry:
    /// Where the context of a fork agent came from.
    ForkContextRef {
        /// Returns the agent.
        agent_id: text "agentId",
        /// Returns the session that it was forked from.
        parent_session: text "parentSessionId",
        /// Returns the last message that it shares.
        parent_last: text "parentLastUuid",
        /// Returns how many messages it shares.
        context_length: number "contextLength",
    }
);

view!(entry:
    /// A request to the model, by hashes.
    ApiRequest {
        /// Returns its id.
        id: text "id",
        /// Returns what made it.
        query_source: text "querySource",
        /// Returns the hash of its system prompt and tools.
        shape_hash: text "shapeHash",
        /// Returns the request that it starts from.
        base: text "base",
        /// Returns how many messages it keeps of that one.
        keep: number "keep",
        /// Returns the hashes of the messages that it adds.
        tail: texts "tail",
        /// Returns its parameters.
        params: value "params",
    }
);

view!(entry:
    /// A message that requests refer to.
    ApiRequestBlob {
        /// Returns its hash.
        hash: text "hash",
        /// Returns the message.
        message: value "message",
    }
);

view!(entry:
    /// A system prompt and tool list that requests refer to.
    ApiRequestShape {
        /// Returns its hash.
        shape_hash: text "shapeHash",
        /// Returns the system prompt and the tools.
        shape: value "shape",
    }
);
