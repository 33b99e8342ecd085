//! Conversions from the engine's types to the wire's, for the command line and for every transport.

mod check;
mod context;
mod conversation;
mod insight;
mod record;
mod usage;
mod utf8;
mod word;

use std::path::Path;

use annals_engine::{
    Agents, Backup, Branch, Change, ChangeKind, ChangedFile, DiffPart, DiffRow, FileVersion, Fork, Ghost,
    Meta, Metadata, Paste, Plan, Project, Prompt, Relation, RemoteAgent, Report, RootSummary, SessionRow,
    Subagent, ToolCount, TranscriptFile, TrashChange, TrashEntry, Undone, View, ViewDiff, with_upper_drive,
};
use annals_proto as wire;
use annals_transcript::project::folder_name;
use jiff::Timestamp;

pub use check::{folder_problem, problem};
pub use context::context_use;
pub use conversation::ToWire;
pub use conversation::value_as_found;
pub(crate) use conversation::{input, text_input};
pub use insight::{cache_hit_percent, insight};
pub use usage::{NO_KEY, usage_reply, usage_row, usage_sums, usage_total};
pub(crate) use word::{chat_role, chat_tool_status};
pub use word::{input_kind, tool_state};

fn tool_count(count: &ToolCount) -> wire::ToolCount {
    wire::ToolCount { calls: count.calls, errors: count.errors }
}

/// Returns the counts of what is in a transcript.
pub fn stats(report: &Report) -> wire::Stats {
    let (file, stats) = (&report.file, &report.stats);
    wire::Stats {
        path: file.path.as_path().into(),
        session: file.session.clone(),
        agent_id: file.agent.clone(),
        lines: stats.lines,
        bytes: stats.bytes,
        types: stats.types.clone(),
        subtypes: stats.subtypes.clone(),
        blocks: stats.blocks.clone(),
        versions: stats.versions.clone(),
        models: stats.models.clone(),
        first_at: stats.first_at.map(time),
        last_at: stats.last_at.map(time),
        tools: stats.tools.iter().map(|(name, count)| (name.clone(), tool_count(count))).collect(),
        turns: stats.turns,
        compactions: stats.compactions,
        branches: stats.branches,
        gaps: stats.gaps,
        subagents: file.subagents() + stats.inline_subagents,
        problems: stats.problems,
        duration_ms: stats.duration_ms(),
        active_ms: stats.active_ms,
        changed_files: stats.changed_files,
        lines_added: stats.lines_added,
        lines_removed: stats.lines_removed,
        idle_pauses: stats.idle_pauses,
        context_tokens: stats.context.tokens,
        context_window_tokens: stats.context.window,
        usage: conversation::tokens(stats.usage),
    }
}

/// Returns about how many bytes a session of a list takes in JSON.
pub fn weight(listed: &SessionRow) -> usize {
    let facts = &listed.facts;
    let title = facts.title.as_ref().map_or(0, |title| title.text.len());
    let texts = [
        &facts.first_prompt,
        &facts.git_branch,
        &facts.version,
        &facts.entrypoint,
        &facts.permission_mode,
        &facts.tag,
        &facts.forked_from,
    ];
    let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
    // The working directory is in several fields.
    1000 + title + texts + 3 * facts.cwd.as_ref().map_or(0, String::len)
}

/// Returns a session of a list.
pub fn session(listed: SessionRow) -> wire::Session {
    let project_path = listed.project_path();
    let facts = *listed.facts;
    wire::Session {
        id: listed.file.session.unwrap_or_default(),
        title_source: word::title_source(facts.title.as_ref().map(|title| title.source)),
        title: facts.title.map(|title| title.text),
        first_prompt: facts.first_prompt,
        created_at: facts.created_at.map(time),
        updated_at: facts.updated_at.map(time),
        cwd: facts.cwd,
        project_key: listed.project_key,
        project_path,
        git_branch: facts.git_branch,
        version: facts.version,
        entrypoint: facts.entrypoint,
        permission_mode: facts.permission_mode,
        tag: facts.tag,
        forked_from: facts.forked_from,
        archived: listed.is_archived,
        live: listed.writers > 0,
        writers: Some(listed.writers).filter(|writers| *writers > 1),
        size: listed.size,
        path: Some(listed.file.path.as_path().into()),
        ghost: false,
        subagents: listed.subagents,
        messages: facts.messages,
        queued: facts.queued,
        partial: facts.is_partial,
        error: listed.error,
        without_conversation: facts.kind.reason().map(str::to_owned),
        masked: 0,
    }
}

/// Returns a session that only the prompt history mentions.
pub fn ghost(ghost: &Ghost) -> wire::Session {
    wire::Session {
        id: ghost.session.clone(),
        title: Some(ghost.first_prompt.clone()),
        title_source: wire::TitleSource::Prompt,
        first_prompt: Some(ghost.first_prompt.clone()),
        created_at: ghost.first_at.map(time),
        updated_at: ghost.last_at.map(time),
        cwd: ghost.project.clone(),
        project_key: ghost.project.as_deref().map(folder_name).unwrap_or_default(),
        project_path: ghost.project.as_deref().map(with_upper_drive),
        git_branch: None,
        version: None,
        entrypoint: None,
        permission_mode: None,
        tag: None,
        forked_from: None,
        archived: false,
        live: false,
        writers: None,
        size: 0,
        path: None,
        subagents: 0,
        messages: None,
        queued: None,
        partial: false,
        ghost: true,
        error: None,
        without_conversation: None,
        masked: 0,
    }
}

/// Returns a file that a session changed.
pub fn changed_file(file: &ChangedFile) -> wire::ChangedFile {
    wire::ChangedFile {
        path: file.path.clone(),
        edits: file.edits,
        last_edit_at: file.last_edit_at.map(time),
        versions: file.versions.iter().map(file_version).collect(),
    }
}

/// Returns a version of a file.
pub fn file_version(version: &FileVersion) -> wire::FileVersion {
    let (backup, size) = match version.backup {
        Backup::Kept(size) => (wire::BackupState::Kept, Some(size)),
        Backup::NoFile => (wire::BackupState::NoFile, None),
        Backup::Missing => (wire::BackupState::Missing, None),
        Backup::Refused => (wire::BackupState::Refused, None),
    };
    wire::FileVersion {
        version: version.number,
        time: version.made_at.map(time),
        message_id: version.message.clone(),
        backup,
        size,
    }
}

/// Returns a prompt that was typed.
pub fn prompt(prompt: &Prompt) -> wire::Prompt {
    wire::Prompt {
        text: prompt.text.clone(),
        timestamp: prompt.time.map(time),
        project: prompt.project.clone(),
        session: prompt.session.clone(),
        pasted: prompt.pasted.iter().map(paste).collect(),
        masked: 0,
    }
}

fn paste(pasted: &Paste) -> wire::Paste {
    wire::Paste { id: pasted.id.clone(), kind: pasted.kind.clone(), content: pasted.content.clone() }
}

/// Returns a project.
pub fn project(project: &Project) -> wire::Project {
    wire::Project {
        path: project.path.clone(),
        keys: project.keys.clone(),
        sessions: project.sessions,
        size: project.size,
        updated_at: project.updated_at.map(time),
        shares_folder_with: project.shares_folder_with.clone(),
        worktree_of: project.worktree.as_ref().map(|worktree| worktree.of.clone()),
    }
}

/// Returns a config folder of Claude Code.
pub fn root(place: &RootSummary) -> wire::Root {
    wire::Root {
        path: place.path.as_path().into(),
        projects: place.projects,
        sessions: place.sessions,
        errors: place.errors.iter().map(ToString::to_string).collect(),
    }
}

/// Returns a related session.
pub fn relation(relation: &Relation) -> wire::Relation {
    wire::Relation {
        session: relation.other.session.clone(),
        path: relation.other.path.as_path().into(),
        kinship: word::kinship(relation.kinship),
        shared: relation.shared,
        last_shared: relation.last_shared.clone(),
    }
}

/// Returns the agents of a session, those on other machines last.
pub fn agents(session: &TranscriptFile, agents: &Agents) -> Vec<wire::Agent> {
    let local = agents.local.iter().map(local_agent);
    local.chain(agents.remote.iter().map(|agent| remote_agent(session, agent))).collect()
}

fn local_agent(agent: &Subagent) -> wire::Agent {
    let duration = agent.first_at.zip(agent.last_at).map(|(first, last)| last.duration_since(first));
    let group = Some(agent.group.as_path()).filter(|group| !group.as_os_str().is_empty());
    wire::Agent {
        session: agent.file.session.clone(),
        agent_id: agent.file.agent.clone().unwrap_or_default(),
        remote: false,
        group: group.map(Into::into),
        state: word::agent_state(agent.state),
        tool_use_id: agent.call.clone(),
        call_uuid: agent.call_entry.clone(),
        parent_agent_id: agent.parent.clone(),
        started_at: agent.first_at.map(time),
        updated_at: agent.last_at.map(time),
        duration_ms: duration.and_then(|duration| u64::try_from(duration.as_millis()).ok()),
        entries: agent.entries,
        size: agent.size,
        usage: Some(conversation::tokens(agent.usage)),
        path: agent.file.path.as_path().into(),
        ..described_agent(&agent.meta, agent.metadata.as_ref())
    }
}

fn remote_agent(session: &TranscriptFile, agent: &RemoteAgent) -> wire::Agent {
    wire::Agent {
        session: session.session.clone(),
        agent_id: agent.id.clone(),
        call_uuid: agent.call_entry.clone(),
        parent_agent_id: agent.parent.clone(),
        path: agent.path.as_path().into(),
        ..described_agent(&agent.meta, agent.metadata.as_ref())
    }
}

/// Returns what the metadata says about an agent.
fn described_agent(meta: &Meta, metadata: Option<&Metadata>) -> wire::Agent {
    wire::Agent {
        session: None,
        agent_id: String::new(),
        remote: true,
        agent_type: meta.agent_type.clone(),
        name: text_of(metadata, "name"),
        description: meta.description.clone(),
        model: text_of(metadata, "model"),
        worktree_path: meta.worktree.clone(),
        worktree_branch: text_of(metadata, "worktreeBranch"),
        group: None,
        state: wire::AgentState::Unknown,
        tool_use_id: meta.tool_use_id.clone(),
        call_uuid: None,
        parent_agent_id: None,
        spawn_depth: meta.spawn_depth,
        started_at: None,
        updated_at: None,
        duration_ms: None,
        entries: 0,
        size: 0,
        usage: None,
        path: Path::new("").into(),
        metadata: metadata.and_then(Metadata::value).map(value_as_found),
    }
}

fn text_of(metadata: Option<&Metadata>, key: &str) -> Option<String> {
    metadata.and_then(|metadata| metadata.text(key))
}

/// Returns the result of an operation on a session; callers set the fields that the operation has besides.
pub fn change_result(done: wire::Operation, file: &TranscriptFile) -> wire::ChangeResult {
    wire::ChangeResult {
        done,
        dry_run: false,
        session: file.session.clone(),
        path: file.path.as_path().into(),
        title: None,
        tag: None,
        uuid: None,
        entries: None,
        entry: None,
        replaced: None,
        purged: false,
        moved: Vec::new(),
        masked: 0,
    }
}

/// Returns a repair that is planned, or was carried out if there is a receipt.
pub fn repair_result(file: &TranscriptFile, plan: &Plan, receipt: Option<&Path>) -> wire::RepairResult {
    wire::RepairResult {
        session: file.session.clone(),
        path: file.path.as_path().into(),
        applied: receipt.is_some(),
        changes: plan.changes.iter().map(repair_change).collect(),
        changes_left_out: 0,
        before: restored_view(&plan.before),
        after: restored_view(&plan.after),
        diff: (!plan.diff.is_empty()).then(|| view_diff(&plan.diff)),
        branches: plan.branches.iter().map(repair_branch).collect(),
        branches_left_out: 0,
        left_out: plan.left_out,
        appended: if plan.rewritten.is_some() { 0 } else { plan.appended.len() as u64 },
        rewritten: plan.rewritten.as_ref().map(|bytes| bytes.len() as u64),
        receipt: receipt.map(Into::into),
        masked: 0,
    }
}

fn repair_change(change: &Change) -> wire::RepairChange {
    wire::RepairChange {
        line: change.line,
        uuid: change.uuid.clone(),
        change: change.kind.name().to_owned(),
        reason: change.kind.reason(),
        code: word::repair_code(&change.kind),
        rule: match change.kind {
            ChangeKind::Content { rule } => Some(rule.to_owned()),
            _ => None,
        },
    }
}

fn repair_branch(branch: &Branch) -> wire::RepairBranch {
    wire::RepairBranch { uuid: branch.uuid.clone(), line: branch.line, messages: branch.messages }
}

fn view_diff(diff: &ViewDiff) -> wire::RestoredDiff {
    wire::RestoredDiff {
        same: diff.same,
        removed: diff.removed,
        added: diff.added,
        rows: diff.rows.iter().map(view_diff_row).collect(),
        left_out: diff.left_out,
    }
}

fn view_diff_row(row: &DiffRow) -> wire::RestoredDiffRow {
    let (DiffRow::Message(change, _) | DiffRow::Folded(change, _)) = row;
    let empty = wire::RestoredDiffRow {
        change: word::view_change(*change),
        folded: 0,
        role: None,
        uuid: None,
        line: None,
        parts: Vec::new(),
    };
    match row {
        DiffRow::Folded(_, messages) => wire::RestoredDiffRow { folded: *messages, ..empty },
        DiffRow::Message(_, message) => wire::RestoredDiffRow {
            role: Some(word::role(message.role)),
            uuid: message.uuid.clone(),
            line: message.line,
            parts: message.parts.iter().map(view_diff_part).collect(),
            ..empty
        },
    }
}

fn view_diff_part(part: &DiffPart) -> wire::RestoredDiffPart {
    wire::RestoredDiffPart { kind: word::view_part_kind(part.kind), beginning: part.beginning.clone() }
}

fn restored_view(view: &View) -> wire::RestoredView {
    let missing = view
        .missing
        .iter()
        .map(|missing| wire::MissingEntry { uuid: missing.uuid.clone(), line: missing.line });
    let mut refused: Vec<String> = view.violations.iter().map(|(rule, _)| rule.name().to_owned()).collect();
    refused.dedup();
    wire::RestoredView {
        obstacle: view.obstacle.map(|obstacle| obstacle.to_string()),
        obstacle_code: view.obstacle.map(|obstacle| obstacle.name().to_owned()),
        sent: view.sent,
        missing: missing.collect(),
        missing_left_out: 0,
        refused,
    }
}

/// Returns a repair that was undone.
pub fn undo_result(file: &TranscriptFile, undone: &Undone) -> wire::UndoResult {
    let (length, fork) = match undone {
        Undone::Cut { length } => (Some(*length), None),
        Undone::Fork { session, path } => (None, Some((session.clone(), path.as_path().into()))),
        Undone::Nothing => (None, None),
    };
    let (fork, fork_path) = fork.unzip();
    wire::UndoResult {
        session: file.session.clone(),
        path: file.path.as_path().into(),
        length,
        fork,
        fork_path,
    }
}

/// Returns a new fork of a session.
pub fn fork_result(fork: &Fork, from: &TranscriptFile) -> wire::ForkResult {
    wire::ForkResult {
        session: fork.session.clone(),
        path: fork.path.as_path().into(),
        title: fork.title.clone(),
        forked_from: from.session.clone(),
        entries: fork.entries,
        masked: 0,
    }
}

/// Returns an entry of the trash.
pub fn trash_entry(trashed: &TrashEntry) -> wire::TrashEntry {
    wire::TrashEntry {
        session: trashed.session.clone(),
        entry: trashed.entry.clone(),
        title: trashed.title.clone(),
        deleted_at: time(trashed.deleted_at),
        project: trashed.project.as_deref().map(Into::into),
        size: trashed.size,
        path: trashed.transcript.as_path().into(),
        interrupted: trashed.is_unfinished,
        masked: 0,
    }
}

/// Returns what happened to an entry of the trash.
pub fn trash_notice(change: TrashChange, trashed: &TrashEntry) -> wire::TrashNotice {
    wire::TrashNotice { change: word::trash_change(change), entry: trash_entry(trashed) }
}

/// Returns a time in RFC 3339, in UTC with milliseconds.
pub fn time(time: Timestamp) -> String {
    format!("{time:.3}")
}

pub(crate) fn time_of_ms(ms: i64) -> Option<String> {
    Timestamp::from_millisecond(ms).ok().map(time)
}
