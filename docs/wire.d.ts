// The history protocol of annals: see PROTOCOL.md. Made by `cargo x schema`; do not edit.

/** An agent of a session: a line of `annals agents --json`. */
export interface Agent {
  /** Its id, which other methods take as `agentId`. */
  agentId: string;
  /** The kind of agent, such as `Explore`. */
  agentType: string | null;
  /** The uuid of the entry that makes that call. */
  callUuid: string | null;
  /** Its task, in a few words. */
  description: string | null;
  /** The time between the two. */
  durationMs: number | null;
  /** Entries of its transcript. */
  entries: number;
  /** The folders between `subagents/` and its transcript, such as `workflows/wf_1`. */
  group: Text | null;
  /** The file with its metadata as it is; null if there is none. */
  metadata: unknown;
  /** The model that was asked for. */
  model: string | null;
  /** Its name, if it has one. */
  name: string | null;
  /** The agent that started it, and whose transcript has that entry; null if the session itself did. */
  parentAgentId: string | null;
  /** The path of its transcript; for a remote agent, of its metadata. */
  path: Text;
  /** Whether it runs on another machine, so that only its metadata is here. */
  remote: boolean;
  /** The session that it belongs to. */
  session: string | null;
  /** Bytes of its transcript. */
  size: number;
  /** How deep it is nested, from 1. */
  spawnDepth: number | null;
  /** The earliest time in its transcript. */
  startedAt: string | null;
  /** How it ended. */
  state: AgentState;
  /** The call that started it. */
  toolUseId: string | null;
  /** The latest time in its transcript. */
  updatedAt: string | null;
  /** Tokens of its replies, each reply counted once; null for a remote agent. */
  usage: Tokens | null;
  /** The branch of that worktree. */
  worktreeBranch: string | null;
  /** The worktree that it worked in. */
  worktreePath: string | null;
}

/** How an agent ended, as far as the files of its session can tell. */
export type AgentState = "running" | "done" | "failed" | "stopped" | "unfinished" | "unknown";

/** Parameters of `history/agents`. */
export interface AgentsParams {
  /** The `nextCursor` of the previous page. */
  cursor?: string | null;
  /** The most to return: 1000 by default, at most 10000. */
  limit?: number | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Result of `history/agents`. */
export interface AgentsResult {
  /** The agents, in the order in which they began; those on other machines last. */
  agents: Array<Agent>;
  /** Cursor of the next page; absent on the last. */
  nextCursor?: string | null;
  /** What could not be read; absent if everything could. */
  problems?: Array<string>;
  /** How many agents the session has, on this page or not. */
  total: number;
}

/** Parameters of the notification `history/appended`. */
export interface AppendedNotice {
  /** The agent whose transcript is watched; absent for the session's own. */
  agentId?: string | null;
  /** Whether the transcript is gone. */
  gone?: boolean;
  /** The new items, in the order of the file. */
  items: Array<HistoryItem>;
  /** The offset at which they end; the next notification continues from here. */
  nextOffset: number;
  /** The offset at which they begin in the transcript. */
  offset: number;
  /**
   * Whether the transcript was replaced or truncated: earlier items no longer hold, and the transcript is sent again
   * from its start.
   */
  reset?: boolean;
  /** The session. */
  sessionId: string;
  /** The subscription. */
  subscription: string;
}

/** Which sessions a list has, by whether they are archived. */
export type ArchiveFilter = "include" | "exclude" | "only";

/** Who a reply is charged to, as Claude Code wrote it. */
export interface Attribution {
  /** The agent. */
  agent?: string | null;
  /** The MCP server. */
  mcpServer?: string | null;
  /** The tool of that server. */
  mcpTool?: string | null;
  /** The plugin. */
  plugin?: string | null;
  /** The skill. */
  skill?: string | null;
}

/** What is left of a version of a file. */
export type BackupState = "kept" | "no_file" | "missing" | "refused";

/** How much of the transcripts is not indexed. */
export interface Behind {
  /** How many of their bytes are not indexed. */
  bytes: number;
  /** How many transcripts are new, longer, changed or gone. */
  files: number;
}

/** The result of an operation that changes a session, or would change it. */
export interface ChangeResult {
  /** What was done. */
  done: Operation;
  /** Whether nothing was changed, and this is what would be done. */
  dryRun: boolean;
  /** How many entries the session has now. */
  entries?: number | null;
  /** The entry of the trash: the one that a deleted or replaced session was moved to, or the one that was restored or removed. */
  entry?: string | null;
  /** How many values were masked in it, because they look like secrets; absent if none was. */
  masked?: number;
  /** Files and folders that were moved or removed. */
  moved?: Array<Text>;
  /** The path of the transcript; for a deleted session, where it was. */
  path: Text;
  /** Whether it was removed permanently. */
  purged?: boolean;
  /** The entry of the trash that holds the transcript which a restored one has replaced. */
  replaced?: string | null;
  /** The session. */
  session: string | null;
  /** Its new tag; empty if the tag was removed. */
  tag?: string | null;
  /** Its new title. */
  title?: string | null;
  /** The uuid of the entry that was removed. */
  uuid?: string | null;
}

/** A file that a session changed: a line of `annals files SESSION --json`. */
export interface ChangedFile {
  /** How many tool calls of the session and its subagents changed it; calls that failed do not count. */
  edits: number;
  /** When a tool changed it last. */
  lastEditAt: string | null;
  /** Its path. One that was recorded relative to the working directory of the session is joined with it. */
  path: string;
  /** Its versions, in the order in which they were recorded. */
  versions: Array<FileVersion>;
}

/** Parameters of the notification `history/changed`. */
export interface ChangedNotice {
  /** Sessions that are new. */
  added: Array<Session>;
  /** The ids of sessions whose transcripts are gone, or no longer belong to the working directory that is watched. */
  removed: Array<string>;
  /** The subscription. */
  subscription: string;
  /** What happened to the trash; absent if nothing did. */
  trash?: Array<TrashNotice>;
  /**
   * Sessions that grew, were changed, archived or unarchived, or that Claude Code opened or closed. A session that the
   * peer has not seen before had no conversation until now.
   */
  updated: Array<Session>;
}

/** A run of text, thinking or calls in a reply. */
export type ChatBlock = { content: string; type: "text"; } | { content: string; isComplete: boolean; type: "thought"; } | { toolCallIds: Array<string>; type: "tools"; } | { data?: string | null; mimeType?: string | null; type: "image"; url?: string | null; };

/** One message as people see it: a prompt, or a reply with its tool calls and their results. */
export interface ChatMessage {
  /**
   * Its text blocks, joined by line breaks. In the full view, a prompt is as it was typed, without the tags that
   * Claude Code puts around it.
   */
  content: string;
  /** The order of text, thinking, calls and images in a reply, and of text and images in a prompt that has images. */
  contentBlocks?: Array<ChatBlock>;
  /** Whether parts of it were left out because the message is too long. */
  cut?: boolean;
  /** The uuid of its first entry; for an entry without one, `line-` and its line number. */
  id: string;
  /** The inputs of the message in order, without the tags around them; absent if a person typed all of it. */
  inputs?: Array<Input>;
  /** How many values were masked in it, because they look like secrets; absent if none was. */
  masked?: number;
  /** The model of a reply. */
  model?: string | null;
  /** Who speaks. */
  role: ChatRole;
  /** Whether it is the summary that replaces the messages before a compaction. */
  summary?: boolean;
  /** Its thinking, joined by line breaks. */
  thought?: string | null;
  /** When its first entry was written. */
  timestamp?: string | null;
  /** The tool calls that it makes. */
  toolCalls?: Array<ChatToolCall>;
}

/** Who speaks in a message of `history/load`. */
export type ChatRole = "user" | "assistant" | "system";

/** A tool call with its result. */
export interface ChatToolCall {
  /** The text of the result, if the call failed. */
  error?: string | null;
  /** The id of the call. */
  id: string;
  /** Its arguments, as they are in the file. */
  input?: unknown;
  /** The name of the tool. */
  name: string;
  /** The result, as it is in the file: text or blocks. */
  result?: unknown;
  /** Whether it has ended, and how. */
  status: ChatToolStatus;
}

/** Whether a call has ended, and how. */
export type ChatToolStatus = "completed" | "failed" | "pending";

/** Result of `history/check`. */
export interface CheckResult {
  /** What is wrong with the session, in the order of its lines, at most 10,000. */
  findings: Array<Problem>;
  /** How many there are. */
  total: number;
}

/** What Claude Code itself counted for sessions. It includes calls that no transcript has, and is never added to other figures. */
export interface ClientUsage {
  /** What they cost by it, in US dollars. */
  costUsd: number;
  /** How much of the cost transcripts account for; null if it is 0. */
  coveragePercent: number | null;
  /** How many sessions have such a count that has all of their models. */
  sessions: number;
  /** What the transcripts of the same sessions cost. */
  transcriptCostUsd: number;
  /** The difference. */
  unattributedUsd: number;
}

/** What a compaction did. */
export interface Compaction {
  /** Tokens in context after. */
  postTokens: number | null;
  /** Tokens in context before. */
  preTokens: number | null;
  /** How many messages it kept. */
  preserved: number;
  /** What caused it, as Claude Code wrote it: `auto` or `manual`. */
  trigger: string | null;
}

/** What a compaction did. */
export interface CompactionEffect {
  /** The tokens after: as it records them, or else those of the next prompt. */
  afterTokens: number | null;
  /** The tokens before: as it records them, or else those of the last prompt. */
  beforeTokens: number | null;
  /** How long it took. */
  durationMs: number | null;
  /** The difference. */
  savedTokens: number | null;
  /** When. */
  timestamp: string | null;
  /** `auto` or `manual`. */
  trigger: string | null;
  /** The turn that it fell into. */
  turn: number | null;
  /** The uuid of its entry. */
  uuid: string | null;
}

/** How tokens are estimated from text. */
export interface ContextEstimate {
  /** How far the estimates of these steps are from the recorded growth, as a percentage of all growth; null if nothing was measured. */
  errorPercent: number | null;
  /** How many steps from one reply to the next it was measured by; with 0 it is the usual one of the model. */
  measuredSteps: number;
  /** Tokens for each byte of text. */
  tokensPerByte: number;
}

/** What a part of the context is. */
export type ContextKind = "prompt" | "reply" | "thinking" | "tool_call" | "tool_result" | "attachment" | "system" | "summary" | "other";

/** Parameters of `history/context`. */
export interface ContextParams {
  /** Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`. */
  agentId?: string | null;
  /** The most turns to return, the last ones: 1000 by default, at most 10000. */
  limit?: number | null;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** A part of the context. */
export interface ContextPart {
  /** An estimate of its tokens. */
  estimatedTokens: number;
  /** What it is. */
  kind: ContextKind;
  /** The tool, or the type of the attachment. */
  name?: string | null;
}

/**
 * How full the context of a session was and what filled it: the result of `history/context`, and the object of
 * `annals usage SESSION --context --json`.
 */
export interface ContextUse {
  /** Compactions. */
  compactions: Array<CompactionEffect>;
  /** How estimates are made, and how wrong they are. */
  estimate: ContextEstimate;
  /** Which part of that window was full at the last reply, in percent. */
  filledPercent: number | null;
  /** The model of the last reply. */
  model: string | null;
  /** What filled it at the last reply, the most tokens first. These are estimates. */
  parts: Array<ContextPart>;
  /** The most tokens that were in the context. */
  peakTokens: number | null;
  /** What the estimates do not explain: the system prompt, the definitions of tools, and the error. Negative if the estimates are too high. */
  restTokens: number | null;
  /** The tokens in the context at the last reply, as that records them; null without replies. */
  tokens: number | null;
  /** How many such turns there are. */
  turnCount: number;
  /** Turns in which there was a reply. */
  turns: Array<TurnContext>;
  /** An estimate of the size of the context window, from the name of the model and the prompts. */
  windowTokens: number | null;
}

/** Result of `history/copies`. */
export interface CopiesResult {
  /** Groups of sessions that have entries in common, such as copies and forks: the paths of their transcripts. */
  groups: Array<Array<Text>>;
  /** What could not be read. */
  problems: Array<string>;
}

/** A word of a query that no message has. */
export interface Correction {
  /** Words that may be meant, the best first. */
  corrections: Array<string>;
  /** The word, in lower case and without accents. */
  word: string;
}

/** How a cost is known. */
export type CostKind = "recorded" | "calculated" | "mixed" | "unknown";

/** Where costs come from. */
export type CostMode = "auto" | "calculate" | "recorded";

/** The work of a day. */
export interface DayWork {
  /** How long these turns were worked on. */
  activeMs: number;
  /** The day, `2026-11-18`. */
  date: string;
  /** Sessions in which a turn started. */
  sessions: number;
  /** Turns that started. */
  turns: number;
}

/** Result of `history/delete`. */
export interface DeleteResult {
  /** Whether the session existed; it is now in the trash. */
  deleted: boolean;
}

/** An entry: its uuid, or the number of its line from 1. */
export type EntryRef = number | string;

/** Calls that failed or were stopped, of a class. */
export interface ErrorCount {
  /** The class, such as `timeout` or `file_not_found`. */
  class: string;
  /** How many calls failed in this way. */
  count: number;
  /** Some of the most recent ones. */
  examples: Array<ErrorExample>;
  /** Errors of no known class by their first words, the most frequent first; only in the class `other`. */
  signatures?: Array<ErrorSignature>;
}

/** A failed call. */
export interface ErrorExample {
  /** The subagent that made the call. */
  agentId: string | null;
  /** The session. */
  session: string | null;
  /** The first line of the error. */
  text: string;
  /** When. */
  timestamp: string | null;
  /** The tool. */
  tool: string;
  /** The entry that made the call. */
  uuid: string | null;
}

/** Errors of no known class that begin with the same words. */
export interface ErrorSignature {
  /** How many calls failed in this way. */
  count: number;
  /** The first words. */
  text: string;
}

/** The format of an export. */
export type ExportFormat = "html" | "md" | "text";

/** What `POST /export` writes. */
export interface ExportParams {
  /** An agent of the session, whose conversation is exported instead. */
  agentId?: string | null;
  /** The format. */
  format: ExportFormat;
  /** The first turn; the first of the session if absent. */
  fromTurn?: number | null;
  /** Whether results of tools are left out. */
  noResults?: boolean;
  /** Whether reasoning is left out. */
  noThinking?: boolean;
  /** Whether an [`ExportReport`] follows as the last line. */
  report?: boolean;
  /** Whether nothing is masked, if the server allows that. */
  reveal?: boolean | null;
  /** The session. */
  sessionId: string;
  /** Whether conversations of subagents are written below the calls that started them. */
  subagents?: boolean;
  /** The last turn; the last of the session if absent. */
  toTurn?: number | null;
  /** A working directory or a transcript, if several sessions have the id. */
  workspacePath?: string | null;
}

/** A place in an export. One without any field is in what the export says about the session, such as its title. */
export interface ExportPlace {
  /** The agent that has the entry. */
  agentId?: string | null;
  /** The turn. */
  turn?: number | null;
  /** The entry. */
  uuid?: string | null;
}

/** What an export has and what it does not have. */
export interface ExportReport {
  /** The number of parts that could not be read or masked, and are left out. */
  leftOut: number;
  /** Where the first of these would be. */
  leftOutAt: Array<ExportPlace>;
  /** The number of different values that were masked. */
  masked: number;
  /** The number of rows that were written. */
  rows: number;
  /** The same by the rules that found them. */
  rules: Array<MaskedByRule>;
}

/** A copy of a file as it was. */
export interface FileBackup {
  /** The name of the copy below `file-history/<session>/`; null if the file did not exist. */
  backup: string | null;
  /** When the copy was made. */
  backupAt: string | null;
  /** The tracked file. */
  path: string;
  /** The real folder of the file. */
  realParent?: string | null;
  /** The number of the version. */
  version: number | null;
}

/** Parameters of `history/file`. */
export interface FileParams {
  /** The number of an earlier version: the answer is then the difference between the two. */
  against?: number | null;
  /** How many lines: 1000 by default, at most 5000. */
  count?: number | null;
  /** The first line, from 0. */
  from?: number | null;
  /** The path of the file, as `history/files` gives it. */
  path: string;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** The number of the version. If several versions have it, the last one counts. */
  version: number;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Result of `history/file`. */
export interface FileResult {
  /** What is left of the version. Unless it is kept, there is no content. */
  backup: BackupState;
  /** How many lines that has. */
  lines: number;
  /** The first line that is not in this answer, if there is one. */
  next?: number | null;
  /** Its content, or what is different from the other version. */
  nodes: Array<ViewNode>;
}

/** A version of a file, as a snapshot of Claude Code records it. */
export interface FileVersion {
  /** What is left of it. */
  backup: BackupState;
  /** The message of the first snapshot that has it: the file had this content when the message was sent. */
  messageId: string | null;
  /** The size of the backup in bytes; null if there is none. */
  size: number | null;
  /** When it was recorded. */
  time: string | null;
  /** The number that Claude Code gave to it. */
  version: number;
}

/** Edits of a file. */
export interface FileWork {
  /** Lines that were added. */
  added: number;
  /** Calls that changed it. */
  edits: number;
  /** Lines that were removed. */
  removed: number;
  /** Sessions that changed it. */
  sessions: number;
}

/** Result of `history/files`. */
export interface FilesResult {
  /** Whether older versions or more files were left out, because the answer would be too long. */
  cut?: boolean;
  /** The files that the session changed, by path. */
  files: Array<ChangedFile>;
}

/** The session and the message that an entry was copied from. */
export interface ForkOrigin {
  /** The message. */
  messageUuid: string;
  /** The session. */
  sessionId: string;
}

/** Parameters of `history/fork`. */
export interface ForkParams {
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** The title of the copy; by default the session's title followed by `(fork)`. */
  title?: string | null;
  /** The last message to copy, by its uuid or a prefix of it; by default all are copied. */
  upTo?: string | null;
  /** Whether to copy subagents, long tool output and backups of files too. */
  withSideFiles?: boolean | null;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** A new session that is a copy of another. */
export interface ForkResult {
  /** How many entries were copied. */
  entries: number;
  /** The session that it was copied from. */
  forkedFrom: string | null;
  /** How many values were masked in it, because they look like secrets; absent if none was. */
  masked?: number;
  /** The path of its transcript. */
  path: Text;
  /** The new session. */
  session: string;
  /** Its title. */
  title: string;
}

/**
 * One item of the whole history: a line of `annals show --view full --json`, and an item of `history/read`.
 *
 * In `history/appended` items are made from their entries alone: fields that need the whole conversation (`turn`, `live`,
 * `line`) are null, and calls are `pending`, because their results follow later. An item replaces an earlier item with the
 * same `uuid`.
 */
export interface HistoryItem {
  /** The subagent that wrote it. */
  agentId: string | null;
  /** Who a reply is charged to. */
  attribution?: Attribution | null;
  /** What a compaction did. */
  compaction: Compaction | null;
  /** How many entries a branch has. */
  entries: number | null;
  /** Where the entry was copied from. */
  forkedFrom: ForkOrigin | null;
  /** The inputs of the entry in order, without the tags around them; absent if a person typed all of it. */
  inputs?: Array<Input>;
  /** Whether Claude Code added the entry (`isMeta`). */
  isMeta?: boolean;
  /** What it is. */
  kind: ItemKind;
  /** The last entry of a branch: `annals show --leaf` shows the conversation that ends in it. */
  leaf: string | null;
  /** How important a notice is, as Claude Code wrote it: `info`, `warning`, `error`, `suggestion` or `notice`. */
  level?: string | null;
  /** The line in the file, from 1; null for branches, gaps and roots. */
  line: number | null;
  /** Whether it belongs to the live conversation. */
  live: boolean | null;
  /** How many values were masked in it, because they look like secrets; absent if none was. */
  masked?: number;
  /** The model of a reply. */
  model: string | null;
  /**
   * The other lines of the file with the same `uuid`. Such lines are one item, at the position of the first line and with
   * the content of the last.
   */
  otherLines?: Array<number>;
  /** The entry that it follows; of a gap, the missing entry; of a branch, the entry that it leaves from. */
  parent: string | null;
  /**
   * The content blocks as they are in the file; a string that is not UTF-8 is `{"bytes": <base64>}`. Records whose payload
   * is known have it as a `RecordPart`.
   */
  parts: Array<unknown>;
  /** What is wrong with the line. */
  problem: string | null;
  /** The request that a reply answers. */
  requestId?: string | null;
  /** Who speaks; null where Claude Code does. */
  role: Role | null;
  /** Whether a subagent wrote it. */
  sidechain: boolean;
  /** The name of the session's plan file. */
  slug?: string | null;
  /**
   * Why a reply ended, as the model's API says it: `end_turn`, `tool_use`, `stop_sequence`, `max_tokens`. Absent on most
   * lines of a reply, and on all lines of many replies.
   */
  stopReason?: string | null;
  /** The sequence at which a reply ended, if that was the reason. */
  stopSequence?: string | null;
  /**
   * The entry's `subtype`. Of a root, why the next entry has no parent although other entries precede it:
   * `context_cleared`, `parentless_prompts`, `rewind_to_start`, `copy_of_first_prompt` or `lost_link`.
   */
  subtype: string | null;
  /** The content of other lines with the same `uuid`, where it differs. */
  superseded?: Array<SupersededLine>;
  /** When it was written. */
  timestamp: string | null;
  /** The tool call that it makes. */
  tool: HistoryTool | null;
  /** The number of its turn; null for subagents shown with their session. */
  turn: number | null;
  /** The entry's `type`. */
  type: string | null;
  /** The token counters of a reply as they are in the file. */
  usage: unknown;
  /** The entry's uuid. */
  uuid: string | null;
  /** Who should see it. */
  visibility: Visibility;
}

/** A tool call and how it ended. */
export interface HistoryTool {
  /** The id of the call. */
  id: string | null;
  /** The name of the tool. */
  name: string | null;
  /** The uuid of the entry with the result. */
  resultUuid: string | null;
  /** How it ended. */
  state: ToolState;
}

/** One thing that a user message or an attachment says to the model, without the tags around it. */
export interface Input {
  /** The colour in which Claude Code shows that agent. */
  color?: string | null;
  /** The name of a command. */
  command?: string | null;
  /** What it is. */
  kind: InputKind;
  /** The agent's own short summary of the message. */
  summary?: string | null;
  /** The agent of a team that sent it. */
  teammateId?: string | null;
  /** What it says; of a command, its arguments. */
  text: string;
}

/** What an input is. */
export type InputKind = "prompt" | "queued" | "command" | "bash" | "output" | "ide_selection" | "ide_opened_file" | "task_notification" | "compact_summary" | "skill" | "teammate" | "hook" | "tool_result" | "interrupt" | "injected" | "notice" | "context";

/** What the work of many sessions was: the result of `history/insight` and the object of `annals insight --json`. */
export interface Insight {
  /** How long they were worked on: the time between their entries, without pauses of more than half an hour. */
  activeMs: number;
  /** Subagents that were started, by type. */
  agents: Record<string, number>;
  /** Turns by the branch that was checked out. */
  branches: Record<string, number>;
  /** Which part of all prompt tokens was read from the cache, in percent; null without prompts. */
  cacheHitPercent: number | null;
  /** Slash commands. */
  commands: Record<string, number>;
  /** By day, the earliest first. */
  days: Array<DayWork>;
  /** The version of the rules that give errors their classes. */
  errorClassesVersion: number;
  /** Calls that failed or were stopped by class, the most frequent first. */
  errors: Array<ErrorCount>;
  /** By file that was edited. */
  files: Record<string, FileWork>;
  /** How many turns started, by weekday from Monday and by hour: seven lists of 24 numbers. */
  hours: Array<Array<number>>;
  /** Calls by MCP server. */
  mcpServers: Record<string, number>;
  /** The same for each model. */
  models: Record<string, UsageSums>;
  /** What could not be read. */
  problems: Array<string>;
  /** How many rows of tables are left out because of the limit. */
  rowsLeftOut: number;
  /** Sessions with at least one turn or call. */
  sessions: number;
  /** Skills that the model used. */
  skills: Record<string, number>;
  /** The zone of days and hours. */
  timezone: string;
  /** By tool. */
  tools: Record<string, ToolWork>;
  /** Turns of sessions; those of subagents do not count. */
  turns: number;
  /** Tokens and costs, as `history/usage` counts them. */
  usage: UsageSums;
}

/** Parameters of `history/insight`. */
export interface InsightParams {
  /** Only what happened at this time or later: RFC 3339, or a day in the time zone. */
  dateFrom?: string | null;
  /** Only what happened before this time: RFC 3339, or a day in the time zone, which is included. */
  dateTo?: string | null;
  /** The most rows of each table, those with the largest numbers: 1000 by default, at most 10000. */
  limit?: number | null;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** Only this session and its subagents: its id, with or without the prefix `claude:`. */
  sessionId?: string | null;
  /** The time zone of days and hours, such as `Europe/Berlin`; by default UTC. */
  timezone?: string | null;
  /** Only sessions that began in this directory, or in one below it; an absolute path. */
  workspacePath?: string | null;
}

/** What an item is. */
export type ItemKind = "message" | "compaction" | "branch" | "gap" | "root" | "salvaged" | "meta" | "damage";

/** What another session is to the session that was asked about. */
export type Kinship = "origin" | "copy" | "twin" | "continuation" | "title";

/** Result of `history/lineage`. */
export interface LineageResult {
  /** The sessions that have entries in common with it, the closest first, at most 1,000. */
  relations: Array<Relation>;
  /** How many there are. */
  total: number;
}

/** Parameters of `history/list`. */
export interface ListParams {
  /** Whether to list files without a conversation too. */
  all?: boolean | null;
  /** Which sessions, by whether they are archived; by default `include`. */
  archived?: ArchiveFilter | null;
  /** The `nextCursor` of the previous page. */
  cursor?: string | null;
  /** Only sessions active at this time or later: RFC 3339, or a day in UTC. */
  dateFrom?: string | null;
  /** Only sessions that began before this time: RFC 3339, or a day in UTC, which is included. */
  dateTo?: string | null;
  /** Only sessions whose tools read or wrote this file. */
  filePath?: string | null;
  /** Only sessions without activity since then: how long ago (`90d`, `12h`, `2w`), RFC 3339, or a day in UTC. */
  inactive?: string | null;
  /** The most sessions to return: 1000 by default and at most. */
  limit?: number | null;
  /** Only sessions with this text in their title or first prompt, ignoring case. */
  query?: string | null;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** Only sessions that called this tool. */
  toolName?: string | null;
  /** Only sessions of this working directory; an absolute path. */
  workspacePath?: string | null;
}

/** Result of `history/list`. */
export interface ListResult {
  /** Cursor of the next page; absent on the last. */
  nextCursor?: string | null;
  /** What could not be read; absent if everything could. */
  problems?: Array<string>;
  /** The sessions, most recently active first. */
  sessions: Array<Session>;
}

/** Parameters of `history/load`. */
export interface LoadParams {
  /** Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`. */
  agentId?: string | null;
  /** Whether the full view also has what Claude Code added: output of commands, reminders, messages of other agents. */
  all?: boolean | null;
  /** The `nextCursor` of the previous page. */
  cursor?: string | null;
  /**
   * Loads the session as it was when its file ended with this line, from 1. With `cursor` it has no effect: the next page is of
   * the same lines.
   */
  lastLine?: number | null;
  /** The most messages to return: 10000 by default and at most. */
  limit?: number | null;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Which messages; by default `full`. */
  view?: View | null;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Result of `history/load`. */
export interface LoadResult {
  /** The messages, in the order of the conversation. */
  messages: Array<ChatMessage>;
  /** Cursor of the next page; absent on the last. */
  nextCursor?: string | null;
  /** The prompts that are still in the queue after the last line; only on the last page, and absent if there are none. */
  queued?: Array<QueuedPrompt>;
  /** Messages of other agents of a team that fall on this page. */
  teamMessages?: Array<TeamMessage>;
}

/** Parameters of `history/locate`: one of `uuid`, `line`, `turn` and `callId`. */
export interface LocateParams {
  /** Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`. */
  agentId?: string | null;
  /** The id of a call. */
  callId?: string | null;
  /** The line of an entry, from 1. */
  line?: number | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** The number of a turn. */
  turn?: number | null;
  /** The uuid of an entry. */
  uuid?: string | null;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Result of `history/locate`. */
export interface LocateResult {
  /** The `revision` that the row belongs to. */
  revision: string;
  /** The first row of the entry; of an entry with the result of a call, the row of the call. */
  row: number;
}

/** The values that a rule found. */
export interface MaskedByRule {
  /** The number of different values. */
  count: number;
  /** Where the first of them are. */
  places: Array<ExportPlace>;
  /** The name of the rule. */
  rule: string;
}

/** A message that would not be sent whole. */
export interface MissingEntry {
  /** Its line. */
  line: number;
  /** Its uuid. */
  uuid: string;
}

/** Parameters of methods that take none. */
export type NoParams = Record<string, never>;

/** One session: parameters of `history/session`, `history/files` and `history/check`. */
export interface OneSessionParams {
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Which rows are sent with their content. */
export type OpenRows = boolean | Array<number>;

/** What was done to a session: the name of the command. */
export type Operation = "rename" | "tag" | "archive" | "unarchive" | "tombstone" | "hydrate" | "delete" | "restore";

/** Parameters of `history/part`. */
export interface PartParams {
  /** Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`. */
  agentId?: string | null;
  /** How many lines: 1000 by default, at most 5000. */
  count?: number | null;
  /** The first line, from 0. */
  from?: number | null;
  /** The part, as `more` and `image` name it. */
  part?: number;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The `revision` of `history/skeleton`. */
  revision?: string;
  /** The row. */
  row?: number;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Result of `history/part`: lines, or an image. */
export interface PartResult {
  /** The bytes of an image, in base64. */
  data?: string | null;
  /** How many lines the part has. */
  lines: number;
  /** The media type of an image: PNG, JPEG, GIF or WebP. */
  media?: string | null;
  /** The first line that is not in this answer, if there is one. */
  next?: number | null;
  /** The content. */
  nodes?: Array<ViewNode>;
}

/** Something wrong in a transcript: a line of `annals check --json`, and in the result of `history/check`. */
export interface Problem {
  /** What is wrong, for programs that have words of their own. */
  code: ProblemCode;
  /** What `problem` and `effect` name besides; absent if they name nothing. */
  details?: ProblemDetails | null;
  /** What is lost because of it, in words. */
  effect: string;
  /** The command that helps; null if there is none. */
  help: string | null;
  /** The line, from 1; of several adjacent lines, the first. Null if the file as a whole, or a folder, has the problem. */
  line: number | null;
  /** How many adjacent lines are affected; 0 for a file or a folder. */
  lines: number;
  /** The transcript, or the folder that the problem is about. */
  path: Text;
  /** What is wrong, in words. */
  problem: string;
  /** Whether the file can be repaired without further loss. */
  repairable: boolean;
  /** The session, if the path of the file names it. */
  session: string | null;
  /** How much it matters. */
  severity: Severity;
}

/** What is wrong in a transcript. */
export type ProblemCode = "blank" | "nul" | "nul_prefix" | "glued" | "trailing" | "torn" | "unclosed" | "headless" | "syntax" | "not_object" | "garbage" | "byte_order_mark" | "carriage_returns" | "no_final_newline" | "invalid_utf8" | "no_entries" | "missing_field" | "lost_root" | "first_prompt_copy" | "parentless_prompts" | "same_uuid" | "parent_missing" | "no_parent" | "own_parent" | "circle" | "progress_parent" | "lost" | "not_resumable" | "newer_branch" | "call_without_result" | "result_without_call" | "repeated_call" | "repeated_result" | "sent_twice" | "refused" | "future_times" | "ancient_times" | "backward_times" | "unlisted_file_name" | "unlisted_sidechain" | "unlisted_prompt" | "unlisted_spacing" | "no_session" | "output_gone" | "large" | "open_to_others" | "shared_folder" | "cleanup";

/** What the words about a problem name. */
export interface ProblemDetails {
  /** Whether anything is lost because of it; absent if `code` says it. */
  costs?: boolean | null;
  /** How many messages, files, transcripts or sessions it is about, or how many bytes a file has. */
  count?: number | null;
  /** After how many days without a change a session is deleted. */
  days?: number | null;
  /** When that can happen; absent at the next start of Claude Code. */
  from?: string | null;
  /** Another line. */
  line?: number | null;
  /** A field of a message, a rule of the API, or why Claude Code does not resume a session: `no_conversation`, `sidechain` or `no_time`. */
  name?: string | null;
  /** Folders. */
  paths?: Array<string>;
}

/** A project: a line of `annals projects --json`. */
export interface Project {
  /** The names of the folders with its sessions. */
  keys: Array<string>;
  /** Its path, as its sessions name it. */
  path: string | null;
  /** How many sessions it has. */
  sessions: number;
  /** Other projects whose sessions are in one of the same folders. */
  sharesFolderWith: Array<string>;
  /** The size of their transcripts in bytes. */
  size: number;
  /** When one of its sessions was last active. */
  updatedAt: string | null;
  /** The repository that it is a worktree of. */
  worktreeOf: string | null;
}

/** Parameters of `history/projects`. */
export interface ProjectsParams {
  /** The most to return: 1000 by default, at most 10000. */
  limit?: number | null;
}

/** Result of `history/projects`. */
export interface ProjectsResult {
  /** What could not be read; absent if everything could. */
  problems?: Array<string>;
  /** The projects, most recently active first. */
  projects: Array<Project>;
  /** How many projects there are, listed or not. */
  total: number;
}

/** A prompt that is in the queue after the last line of a transcript: Claude Code has not sent it to the model. */
export interface QueuedPrompt {
  /** Whether the text was too long to be sent and was left out. */
  cut?: boolean;
  /** The line of the transcript that queued it, from 1. */
  line: number;
  /** Its text. */
  text: string;
  /** When it was queued. */
  timestamp: string | null;
}

/**
 * Parameters of `history/read`. At most one of `around`, `before`, `after`, `last` and `cursor` may be given; without
 * them the history is read from its start.
 */
export interface ReadParams {
  /** Read the items after this entry. */
  after?: EntryRef | null;
  /** Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`. */
  agentId?: string | null;
  /** Read this entry and the items on both sides of it. */
  around?: EntryRef | null;
  /** Read the items before this entry. */
  before?: EntryRef | null;
  /** The `previousCursor` or `nextCursor` of another page. */
  cursor?: string | null;
  /** Read the last items. */
  last?: boolean | null;
  /** The most items to return: 200 by default, at most 5000. */
  limit?: number | null;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Result of `history/read`. */
export interface ReadResult {
  /** The items, in the order of the conversation. */
  items: Array<HistoryItem>;
  /** Cursor of the next page; absent on the last. */
  nextCursor?: string | null;
  /** The end of the last whole line that was read, in bytes: `history/watch` continues from this offset. */
  offset: number;
  /** Cursor of the previous page; absent on the first. */
  previousCursor?: string | null;
  /**
   * The prompts that are still in the queue after the last line; only on the page with the last item, and absent if there
   * are none.
   */
  queued?: Array<QueuedPrompt>;
  /** The index of the first item of this page among them, from 0. */
  start: number;
  /** How many items the whole history has. */
  total: number;
}

/** The payload of a record: an element of `parts` of an item that is no message. */
export type RecordPart = { commandUuid?: string | null; content?: Array<unknown>; deliveryId?: string | null; operation: string | null; reason?: string | null; type: "queue_operation"; waiting?: boolean; } | { files: Array<FileBackup>; messageId: string | null; type: "file_snapshot"; update: boolean; } | { backup: string | null; backupAt: string | null; messageId: string | null; path: string; realParent?: string | null; snapshotMessageId: string | null; type: "file_backup"; version: number | null; } | { agentId: string | null; count: number; replacements: Array<ReplacedResult>; type: "content_replacement"; } | { leaf?: string | null; source: TitleRecord; title: string | null; type: "title"; } | { tag: string | null; type: "tag"; } | { leaf: string | null; prompt: string | null; type: "last_prompt"; } | { mode: string | null; type: "mode"; } | { number: number | null; repository: string | null; type: "pull_request"; url: string | null; } | { record: unknown; type: "attribution"; };

/** A related session: a line of `annals lineage --json`. */
export interface Relation {
  /** How it is related. */
  kinship: Kinship;
  /** The uuid of the last of them, after which the two differ. */
  lastShared: string | null;
  /** The path of its transcript. */
  path: Text;
  /** The other session. */
  session: string | null;
  /** How many entries both sessions have. */
  shared: number;
}

/** Parameters of `history/rename`. */
export interface RenameParams {
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Its new title. */
  title: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** A conversation that ends in another message. */
export interface RepairBranch {
  /** The line of its last message. */
  line: number;
  /** How many messages it has of its own. */
  messages: number;
  /** The uuid of its last message. */
  uuid: string;
}

/** One change of a repair. */
export interface RepairChange {
  /**
   * What is done to it: `salvage`, `relink`, `time`, `sidechain`, `content`, `thinking`, `result`, `first_prompt`, `copy`,
   * `boundary` or `leaf`.
   */
  change: string;
  /** Why, for programs that have words of their own. */
  code: RepairCode;
  /** The line of the entry before the repair; null for a new entry. */
  line: number | null;
  /** Why, in words. */
  reason: string;
  /** The rule of the API that a request with the entry would break. */
  rule?: string | null;
  /** The uuid of the entry. */
  uuid: string;
}

/** Why a repair changes an entry. */
export type RepairCode = "unreadable" | "parent_missing" | "no_parent" | "circle" | "progress_parent" | "lost_compaction" | "order" | "behind_result" | "behind_note" | "no_time" | "sidechain" | "refused" | "thinking" | "thinking_unwanted" | "lost_result" | "lost_prompt" | "copy" | "boundary" | "leaf";

/** A repair of a session, planned or carried out: the result of `annals repair --json`. */
export interface RepairResult {
  /** What it would restore after it. */
  after: RestoredView;
  /** How many bytes are appended. */
  appended: number;
  /** Whether the changes were written. */
  applied: boolean;
  /** What Claude Code would restore before the repair. */
  before: RestoredView;
  /** Other conversations of the file, which are not restored. */
  branches: Array<RepairBranch>;
  /** How many more of them there are than `history/repair` sends; absent if it sends all. */
  branchesLeftOut?: number;
  /** The changes, in the order in which they are written. Empty if there is nothing to repair. */
  changes: Array<RepairChange>;
  /** How many more changes there are than `history/repair` sends; absent if it sends all. */
  changesLeftOut?: number;
  /** How the messages that it would restore change, message by message; absent if none does. */
  diff?: RestoredDiff | null;
  /** How many messages that Claude Code restores now are left out, because another branch was chosen; absent if none is. */
  leftOut?: number;
  /** How many values were masked in it, because they look like secrets; absent if none was. */
  masked?: number;
  /** The path of the transcript. */
  path: Text;
  /** The receipt, if something was written. */
  receipt?: Text | null;
  /** The length of the file that takes the place of the old one; absent if lines are appended. */
  rewritten?: number | null;
  /** The session. */
  session: string | null;
}

/** A tool result that the model no longer sees as it was, and where the original is. */
export interface ReplacedResult {
  /** How many bytes the original has in that line, as JSON. */
  bytes: number | null;
  /** The file beside the transcript with the original; null if there is none. */
  file: Text | null;
  /** How many bytes that file has. */
  fileBytes: number | null;
  /** The line of the transcript with the original; null if the transcript does not have it. */
  line: number | null;
  /** The replacement, as it is in the file. */
  replacement: unknown;
  /** The name of its tool. */
  tool: string | null;
  /** The call. */
  toolUseId: string | null;
  /** The uuid of that line. */
  uuid: string | null;
}

/** Parameters of `history/restore`. */
export interface RestoreParams {
  /** The entry of the trash, as `history/trash` names it; by default the most recent of the session. */
  entry?: string | null;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The id of a session in the trash, with or without the prefix `claude:`. */
  sessionId: string;
}

/** What happens to a message that Claude Code restores. */
export type RestoredChange = "same" | "removed" | "added";

/** How the messages that Claude Code would restore change with a repair. Each line of the transcript that is restored counts as one message. */
export interface RestoredDiff {
  /** How many messages it would restore only after the repair. A message that is changed is removed and added. */
  added: number;
  /** How many removed and added messages have no row, because there would be too many; absent if all have one. */
  leftOut?: number;
  /** How many messages it would restore only before the repair. */
  removed: number;
  /** The removed and added messages with some that stay beside them, in order. There are at most about 200 rows. */
  rows: Array<RestoredDiffRow>;
  /** How many messages are the same before and after the repair. */
  same: number;
}

/** A part of a message in a difference. */
export interface RestoredDiffPart {
  /** The beginning of its text, at most 4096 bytes; of a call the tool and what it is about, of other blocks their type. Empty for reasoning. */
  beginning: string;
  /** What it is. */
  kind: RestoredPartKind;
}

/** A message of a difference, or several in a row that are not shown. */
export interface RestoredDiffRow {
  /** What happens to it. */
  change: RestoredChange;
  /** How many messages the row counts and does not show; absent if it shows one. */
  folded?: number;
  /** The line of the entry before the repair; absent for a new entry. */
  line?: number | null;
  /** The first parts of the message, at most eight. */
  parts?: Array<RestoredDiffPart>;
  /** Who speaks; absent if the row shows no message, as the other fields are. */
  role?: Role | null;
  /** The uuid of the entry; absent if Claude Code makes the message up. */
  uuid?: string | null;
}

/** What a part of a message is. */
export type RestoredPartKind = "text" | "thinking" | "tool_use" | "tool_result" | "other" | "made_up";

/** What Claude Code would restore. */
export interface RestoredView {
  /** The messages that can be read and would not be sent whole. */
  missing: Array<MissingEntry>;
  /** How many more of them there are than `history/repair` sends; absent if it sends all. */
  missingLeftOut?: number;
  /** Why it would not resume the session; null if it would. */
  obstacle: string | null;
  /** The same for programs that have words of their own: `no_conversation`, `sidechain` or `no_time`. */
  obstacleCode?: string | null;
  /** The rules of the API that the request would break. */
  refused: Array<string>;
  /** How many messages of the conversation it would send whole. */
  sent: number;
}

/** Who speaks. */
export type Role = "user" | "assistant";

/** Parameters of `history/rows`. */
export interface RowsParams {
  /** Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`. */
  agentId?: string | null;
  /** How many rows: at most 200. */
  count?: number;
  /** The first row. */
  from?: number;
  /** Which rows are sent with their content, besides prompts and replies: all of them, or those with these numbers. */
  open?: OpenRows | null;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The `revision` of `history/skeleton`. */
  revision?: string;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Result of `history/rows`. */
export interface RowsResult {
  /** The rows. There are fewer than were requested if they would be too many bytes; then ask again behind the last one. */
  rows: Array<ViewRow>;
}

/** A part of a conversation. */
export type SearchField = "prompt" | "reply" | "thinking" | "tool" | "input" | "output" | "title" | "summary" | "notification";

/** A part of a message that matches: also a line of `annals search --json`. */
export interface SearchHit {
  /** The agent, if it is a message of one. */
  agentId?: string | null;
  /** Where else the same message stands, whatever sessions were asked for: up to 16 of these transcripts. Absent if nowhere. */
  alsoIn?: Array<SearchPlace>;
  /** In how many other transcripts the same message stands: copies and forks; absent if in none. */
  copies?: number;
  /** Whether it is an error; absent if not. */
  error?: boolean;
  /** What it is in the conversation. */
  field: SearchField;
  /** How many matches of the session were ranked. */
  inSession: number;
  /** How many values were masked in it, because they look like secrets; absent if none was. */
  masked?: number;
  /** What matches in `snippet`: pairs of the first character and the one behind the last, counted in Unicode characters. */
  matches: Array<[number, number]>;
  /** The working directory of the session, or else of the message. */
  projectPath: string | null;
  /** Who wrote it. */
  role: SearchRole;
  /** How good the hit is: larger is better. It has no meaning beyond this answer. */
  score: number;
  /** The session. */
  session: string | null;
  /** A line of the text. */
  snippet: string;
  /** Whether the text stands in a file of its own beside the transcript, because it was too long for an entry; absent if not. */
  spilled?: boolean;
  /** When it was written. */
  timestamp: string | null;
  /** The title of the session. */
  title: string | null;
  /** The tool that was called. */
  tool?: string | null;
  /** The number of its turn; null if that was not asked for, or if it belongs to none. */
  turn: number | null;
  /** The message, by its uuid; titles have none. */
  uuid: string | null;
}

/** A limit that cut an answer. */
export type SearchLimit = "time" | "bytes";

/** How a query is read. */
export type SearchMatch = "words" | "regex" | "fixed";

/** Parameters of `history/search`. Filters all hold. */
export interface SearchParams {
  /** Only messages on this branch. */
  branch?: string | null;
  /** The `nextCursor` of the previous page. */
  cursor?: string | null;
  /** Only messages of this time or later: RFC 3339, or a day in UTC. */
  dateFrom?: string | null;
  /** Only messages before this time: RFC 3339, or a day in UTC, which is included. */
  dateTo?: string | null;
  /** Whether to find only errors: results of calls that failed, and requests that failed. */
  errors?: boolean | null;
  /** Only calls that touched this file or folder, and their results. */
  filePath?: string | null;
  /** Whether hits are one list; otherwise those of a session stand together. */
  flat?: boolean | null;
  /** Only these parts of messages. */
  in?: Array<SearchField> | null;
  /** The most sessions, or hits in one list: 20 by default, at most 200. */
  limit?: number | null;
  /** How `query` is read; by default `words`. */
  match?: SearchMatch | null;
  /** The most bytes of transcripts that are read. */
  maxBytes?: number | null;
  /** The longest time that the search takes, in milliseconds: 60,000 by default and at most. */
  maxTimeMs?: number | null;
  /** Only replies of models whose name contains this text. */
  model?: string | null;
  /** The most hits of a session, unless they are one list: 3 by default, at most 20. */
  perSession?: number | null;
  /**
   * What to find: words, `"phrases"`, `-not`, `OR`, `prefix*`, and filters such as `tool:Bash`; or a pattern, see `match`.
   * It may be empty if there are filters.
   */
  query?: string;
  /**
   * Whether text is sent without masked secrets; refused unless the server allows it. What is found does not depend on it,
   * unless `query` is a pattern.
   */
  reveal?: boolean | null;
  /** Only messages of this role. */
  role?: SearchRole | null;
  /** Only messages of these sessions: their ids, or the beginnings of ids. */
  sessions?: Array<string> | null;
  /** How wide snippets are, in columns of a terminal: 160 by default, at most 500. */
  snippetWidth?: number | null;
  /** The order of hits; by default `relevance`, and `time` for patterns. */
  sort?: SearchSort | null;
  /** Only calls of this tool, and their results. */
  toolName?: string | null;
  /** Whether hits have the number of their turn, which takes longer: the transcripts of the hits are read as a whole. */
  turns?: boolean | null;
  /** Whether to first index what is new, if that is little; by default true. */
  update?: boolean | null;
  /** Only messages of this working directory, the folders in it and its worktrees; an absolute path. */
  workspacePath?: string | null;
}

/** Another place of a message: a copy in a resumed session, or in a fork. */
export interface SearchPlace {
  /** The agent, if it is in the transcript of one. */
  agentId?: string | null;
  /** The session. */
  session: string | null;
  /** The message there, by its uuid; forks have uuids of their own. Titles have none. */
  uuid: string | null;
}

/** Which matches were ranked. */
export type SearchRanking = "all" | "newest";

/** Result of `history/search`. */
export interface SearchResult {
  /** What is not indexed yet, and so was not searched; absent if nothing is, or if the transcripts themselves were searched. */
  behind?: Behind | null;
  /** Words of the query that no message has, with those that may be meant; only if nothing was found. */
  corrections?: Array<Correction>;
  /** The limit that cut the answer: there may be more hits, and the numbers may be too small. Absent if none did. */
  cut?: SearchLimit | null;
  /** The hits of this page, the best first. Those of one session follow each other, unless they are one list. */
  hits: Array<SearchHit>;
  /** Cursor of the next page; absent on the last. */
  nextCursor?: string | null;
  /** Whether there is no index yet, so that nothing was searched; absent if there is one. */
  noIndex?: boolean;
  /** What was guessed or ignored in the query; absent if nothing was. */
  notices?: Array<string>;
  /** What could not be read; absent if everything could. */
  problems?: Array<string>;
  /** Which matches were ranked. */
  ranking: SearchRanking;
  /** How many sessions have them, as far as they were ranked. */
  sessions: number;
  /** How many parts of messages match. */
  total: number;
}

/** Whose messages are searched. */
export type SearchRole = "user" | "assistant" | "system";

/** The order of hits. */
export type SearchSort = "relevance" | "time";

/** A session: a line of `annals list --json`. */
export interface Session {
  /** Whether it is in the archive of Claude Code. */
  archived: boolean;
  /** The time of its first entry. */
  createdAt: string | null;
  /** The working directory. */
  cwd: string | null;
  /** How Claude Code was started, as it wrote it. */
  entrypoint: string | null;
  /** Why it could not be read; then the fields about its content are null. */
  error?: string | null;
  /** The first text that a person typed. */
  firstPrompt: string | null;
  /** The session that it was forked from. */
  forkedFrom: string | null;
  /** Whether only the prompt history mentions it; then its times are those of its prompts. */
  ghost?: boolean;
  /** The git branch that was checked out last. */
  gitBranch: string | null;
  /** Its id. */
  id: string;
  /** Whether Claude Code has it open. */
  live: boolean;
  /** How many values were masked in it, because they look like secrets; absent if none was. */
  masked?: number;
  /** How many messages it has; null if only the head and the tail of the file were read. */
  messages: number | null;
  /** Whether its file is so large that a part of it was not read, which may have another title, branch or time. */
  partial?: boolean;
  /** The path of its transcript; null if there is none. */
  path: Text | null;
  /** Its last permission mode, as Claude Code wrote it. */
  permissionMode: string | null;
  /** The name of its folder below `projects/`. */
  projectKey: string;
  /** The path of its project. */
  projectPath: string | null;
  /** How many prompts are in its queue and were not sent; absent if only the head and the tail of the file were read. */
  queued?: number | null;
  /** The size of its transcript in bytes. */
  size: number;
  /** How many of its subagents have a transcript. */
  subagents: number;
  /** The user's tag. */
  tag: string | null;
  /** Its title. */
  title: string | null;
  /** Where the title comes from. */
  titleSource: TitleSource;
  /** The time of its last entry. */
  updatedAt: string | null;
  /** The version of Claude Code that wrote its last entry. */
  version: string | null;
  /** Why it is not a conversation, in words; only with `--all`. */
  withoutConversation?: string | null;
  /** How many processes of Claude Code have it open, if there are several: their messages may end up in different branches. */
  writers?: number | null;
}

/** One session: parameters of `history/delete`, `history/archive` and `history/unarchive`. */
export interface SessionParams {
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** How much a problem matters. */
export type Severity = "info" | "warning" | "error";

/** Parameters of `history/skeleton`. */
export interface SkeletonParams {
  /** Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`. */
  agentId?: string | null;
  /** The first row to describe. It needs `revision`, and counts only if the rows of that revision are unchanged. */
  from?: number | null;
  /** The `revision` of an earlier answer. */
  revision?: string | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Result of `history/skeleton`: all rows of a session in a few bytes each. */
export interface SkeletonResult {
  /** The rows of calls that failed, were denied or interrupted; of all rows. */
  failed: Array<number>;
  /** The first row that `kinds` and `lines` describe. */
  from: number;
  /** What each row is: one letter each. */
  kinds: string;
  /** The rows that are not on the live conversation, as ranges: the first row, and the first one behind; of all rows. */
  left: Array<[number, number]>;
  /** About how many lines of text each row has when it is open. */
  lines: Array<number>;
  /** How many bytes of the file this covers: `offset` of `GET /events` and `history/watch`. */
  offset: number;
  /**
   * Names these rows. Requests for rows contain it; they are answered as long as the session has the same rows, also if more were
   * added behind them.
   */
  revision: string;
  /** How many rows there are. */
  total: number;
  /** The row at which each turn begins, from turn 1 on; of all rows. */
  turns: Array<number>;
}

/** What started a turn. */
export type StartedBy = "prompt" | "queued" | "command" | "bash" | "ide_selection" | "ide_opened_file" | "task_notification" | "compact_summary" | "skill" | "teammate" | "hook" | "other";

/** Counts of what is in a transcript: a line of `annals stats --json`. */
export interface Stats {
  /** The time that its turns took together: without the time between the end of a turn and the next prompt. */
  activeMs: number;
  /** The subagent that the transcript belongs to. */
  agentId: string | null;
  /** Content blocks by `type`. */
  blocks: Record<string, number>;
  /** Branches of the conversation that a rewind left behind. */
  branches: number;
  /** Bytes of the file. */
  bytes: number;
  /** Files that its calls changed. Subagents are counted in their own transcripts. */
  changedFiles: number;
  /** Compactions. */
  compactions: number;
  /** The tokens in its context, as `tokens` of `history/context`. */
  contextTokens: number | null;
  /** The size of the context window in tokens, as `windowTokens` of `history/context`: an estimate. */
  contextWindowTokens: number | null;
  /** The time from the earliest to the latest time; null if no entry has one. */
  durationMs: number | null;
  /** The earliest time. */
  firstAt: string | null;
  /** Entries whose parent is not in the file. */
  gaps: number;
  /** Pauses of half an hour or longer before a turn. */
  idlePauses: number;
  /** The latest time. */
  lastAt: string | null;
  /** Lines of the file. */
  lines: number;
  /** Lines that these calls added. */
  linesAdded: number;
  /** Lines that these calls removed. */
  linesRemoved: number;
  /** Replies by model. */
  models: Record<string, number>;
  /** The path of the transcript. */
  path: Text;
  /** How many problems `annals check` reports. */
  problems: number;
  /** The session, if the path of the file names it. */
  session: string | null;
  /** Subagents with a transcript of their own. */
  subagents: number;
  /** Entries by `type:subtype`. */
  subtypes: Record<string, number>;
  /** Tool calls by tool. */
  tools: Record<string, ToolCount>;
  /** Turns of the conversation. */
  turns: number;
  /** Entries by `type`. */
  types: Record<string, number>;
  /** Tokens of its replies, branches included, each reply counted once. Subagents are counted in their own transcripts. */
  usage: Tokens;
  /** The versions of Claude Code that wrote it, in order of first appearance. */
  versions: Array<string>;
}

/** Parameters of `history/stats`. */
export interface StatsParams {
  /** Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`. */
  agentId?: string | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Result of `history/status`. */
export interface StatusResult {
  /** Whether requests may ask for text without masked secrets, with `reveal`; absent if not. */
  allowReveal?: boolean;
  /** The folder of annals itself, with the catalogue and the trash. */
  home: Text;
  /** The methods that the server answers. */
  methods: Array<string>;
  /** Always `annals`. */
  name: string;
  /** The version of this protocol: it increases when something changes its meaning. */
  protocolVersion: number;
  /** Whether changes are refused. */
  readOnly: boolean;
  /** The config folders of Claude Code that the server reads. */
  roots: Array<Text>;
  /** How many subscriptions all peers have together. */
  subscriptions: number;
  /** The version of annals. */
  version: string;
}

/** The content of a line that another line with the same uuid replaces. */
export interface SupersededLine {
  /** The line in the file, from 1. */
  line: number;
  /** The content blocks as they are in the file. */
  parts: Array<unknown>;
  /** When this line was written. */
  timestamp: string | null;
  /** The entry's `type` in this line. */
  type: string | null;
}

/** Parameters of `history/tag`. */
export interface TagParams {
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Its new tag; null removes the tag. */
  tag?: string | null;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** A message of another agent of a team. */
export interface TeamMessage {
  /** The colour in which Claude Code shows that agent. */
  color?: string | null;
  /** The text of the message. */
  content: string;
  /** Whether the text was too long to be sent and was left out. */
  cut?: boolean;
  /** How many values were masked in it, because they look like secrets; absent if none was. */
  masked?: number;
  /** The agent's own short summary of the message. */
  summary?: string | null;
  /** The agent that sent it. */
  teammateId: string;
  /** When it was received. */
  timestamp?: string | null;
}

/** Text, or `{"bytes": <base64>}` where it is not UTF-8. */
export type Text = string | { bytes: string; };

/** Which record gives a title. */
export type TitleRecord = "custom" | "ai" | "summary" | "agent_name";

/** Where the title of a session comes from. */
export type TitleSource = "custom" | "ai" | "summary" | "prompt" | "reply" | "none";

/** Tokens of replies. */
export interface Tokens {
  /** Input written to the cache. */
  cacheCreationTokens: number;
  /** Input read from the cache. */
  cacheReadTokens: number;
  /** Input outside the cache. */
  inputTokens: number;
  /** Output. */
  outputTokens: number;
}

/** A tool call: a line of `annals tools --json`. */
export interface ToolCall {
  /** The subagent that made the call. */
  agentId: string | null;
  /** The time from the call to its result. */
  durationMs: number | null;
  /** The first line of the error, if it failed or was stopped. */
  error?: string | null;
  /** Files that the call reads or writes, as far as its arguments name them. */
  files: Array<string>;
  /** The id of the call. */
  id: string | null;
  /** Its arguments, as they are in the file. In `history/tools`, arguments of more than 8 MiB are cut, like long parts. */
  input?: unknown;
  /** The line of the call in the file, from 1. */
  line: number;
  /** How many values were masked in it, because they look like secrets; absent if none was. */
  masked?: number;
  /** The name of the tool. */
  name: string | null;
  /** The uuid of the entry with the result. */
  resultUuid: string | null;
  /** The session, if the path of the file names it. */
  session: string | null;
  /** How it ended. */
  state: ToolState;
  /** What the call is about: a command, a file, a pattern. */
  subject: string;
  /** When it was made. */
  timestamp: string | null;
  /** The uuid of the entry that makes the call. */
  uuid: string | null;
}

/** Calls of a tool. */
export interface ToolCount {
  /** How often it was called. */
  calls: number;
  /** How many of the calls failed. */
  errors: number;
}

/** How a tool call ended. */
export type ToolState = "ok" | "error" | "pending" | "interrupted" | "denied" | "cancelled";

/** Calls of a tool. */
export interface ToolWork {
  /** How often it was called. */
  calls: number;
  /** How many calls failed. */
  errors: number;
  /** How many calls were denied, interrupted or cancelled. */
  stopped: number;
  /** How many calls have a known duration. */
  timed: number;
  /** The time that the calls with a known duration took together. */
  totalMs: number;
}

/** Parameters of `history/tools`. */
export interface ToolsParams {
  /** Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`. */
  agentId?: string | null;
  /** The `nextCursor` of the previous page. */
  cursor?: string | null;
  /** Only calls whose result says that they failed. */
  errors?: boolean | null;
  /** The most to return: 1000 by default, at most 10000. */
  limit?: number | null;
  /** Only calls of this tool. */
  name?: string | null;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Result of `history/tools`. */
export interface ToolsResult {
  /** The tool calls, in the order of the file. */
  calls: Array<ToolCall>;
  /** Cursor of the next page; absent on the last. */
  nextCursor?: string | null;
}

/** What happened to an entry of the trash. */
export type TrashChange = "trashed" | "restored" | "purged";

/** An entry of the trash, which is a session as it was when it was deleted: a line of `annals restore --json`. */
export interface TrashEntry {
  /** When it was deleted. */
  deletedAt: string;
  /** The id of the entry among those of the session; ids sort by time. */
  entry: string;
  /**
   * Whether deleting or restoring it was interrupted, or is still running. The next operation that changes the session
   * puts its files back.
   */
  interrupted?: boolean;
  /** How many values were masked in it, because they look like secrets; absent if none was. */
  masked?: number;
  /** Where its transcript was. */
  path: Text;
  /** The working directory of the session, if it is known. */
  project: Text | null;
  /** The session. */
  session: string;
  /** Its size in bytes, side files included. */
  size: number;
  /** Its title. */
  title: string | null;
}

/** Something that happened to an entry of the trash. */
export interface TrashNotice {
  /** What happened. Words may be added; a peer ignores those that it does not know. */
  change: TrashChange;
  /** The entry, as it is or was in the trash. */
  entry: TrashEntry;
}

/** Result of `history/trash`. */
export interface TrashResult {
  /** The entries of the trash, most recently deleted first; at most 1000. */
  sessions: Array<TrashEntry>;
}

/** One turn of a conversation: a line of `annals turns --json`. */
export interface Turn {
  /** Whether the conversation was compacted in it. */
  compacted: boolean;
  /** The time from its start to the end of its work. */
  durationMs: number | null;
  /** How many of the calls failed. */
  errors: number;
  /** How it relates to the turn before. */
  kind: TurnKind;
  /** How many values were masked in it, because they look like secrets; absent if none was. */
  masked?: number;
  /** How many user and assistant entries it has. */
  messages: number;
  /** The text or the command that started it. */
  prompt: string;
  /** The pause before it, if it is a `resume`. */
  resumedAfterMs: number | null;
  /** The sessions that have the turn, if two sessions are compared; otherwise absent. */
  sessions?: Array<string>;
  /** When it started. */
  startedAt: string | null;
  /** What started it. */
  startedBy: StartedBy;
  /** How many tool calls were made in it. */
  toolCalls: number;
  /** Its number, from 1. */
  turn: number;
  /** Tokens of its replies, each reply counted once. */
  usage: Tokens;
  /** The uuid of the entry that started it; absent if the entry has none. */
  uuid?: string | null;
}

/** The context of a turn. */
export interface TurnContext {
  /** What the turn added to the context, the most tokens first. These are estimates. */
  added: Array<ContextPart>;
  /** The most tokens in the context. */
  peakTokens: number;
  /** How many replies there were. */
  replies: number;
  /** When it started. */
  startedAt: string | null;
  /** The tokens in the context at the last of them. */
  tokens: number;
  /** The number of the turn. */
  turn: number;
}

/** How a turn relates to the turn before. */
export type TurnKind = "new_session" | "new_round" | "resume" | "continue";

/** Parameters of `history/turns`. */
export interface TurnsParams {
  /** Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`. */
  agentId?: string | null;
  /** The `nextCursor` of the previous page. */
  cursor?: string | null;
  /** The most to return: 1000 by default, at most 10000. */
  limit?: number | null;
  /** A prompt that comes more than this many milliseconds after everything before it is a `resume`: 300000 by default. */
  pauseMs?: number | null;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session's id, with or without the prefix `claude:`. */
  sessionId: string;
  /** Selects among several sessions with that id: the working directory, or the `path` that lists have. */
  workspacePath?: string | null;
}

/** Result of `history/turns`. */
export interface TurnsResult {
  /** On the first page: how many messages Claude Code would not restore although they can be read; absent if it restores all. */
  lostMessages?: number | null;
  /** Cursor of the next page; absent on the last. */
  nextCursor?: string | null;
  /** The turns, in order. */
  turns: Array<Turn>;
}

/** Parameters of `history/unwatch`. */
export interface UnwatchParams {
  /** The name that `history/watch` returned. */
  subscription: string;
}

/** Result of `history/unwatch`. */
export interface UnwatchResult {
  /** Always true: an unknown subscription is an error. */
  unwatched: boolean;
}

/** How fast the present window is used, and what it comes to if that goes on. */
export interface UsageBurnRate {
  /** What an hour costs, in US dollars. */
  costUsdPerHour: number;
  /** What the window costs at its end. */
  projectedCostUsd: number;
  /** All tokens of the window at its end. */
  projectedTokens: number;
  /** Tokens for each minute between the first and the last response. */
  tokensPerMinute: number;
}

/** What a row of a report stands for. */
export type UsageBy = "day" | "week" | "month" | "session" | "project" | "branch" | "model" | "block";

/** Parameters of `history/usage`. */
export interface UsageParams {
  /** What rows are grouped by; by default days. */
  by?: UsageBy | null;
  /** Where costs come from; by default `auto`. */
  costMode?: CostMode | null;
  /** Only responses at this time or later: RFC 3339, or a day in the time zone. */
  dateFrom?: string | null;
  /** Only responses before this time: RFC 3339, or a day in the time zone, which is included. */
  dateTo?: string | null;
  /** The most rows to return: 1000 by default, at most 10000. The total has all of them. */
  limit?: number | null;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** Only responses of this session and its subagents: its id, with or without the prefix `claude:`. */
  sessionId?: string | null;
  /** The time zone of days, weeks and months, such as `Europe/Berlin`; by default UTC. */
  timezone?: string | null;
  /** The first day of weeks, such as `sunday`; by default `monday`. */
  weekStart?: string | null;
  /** The `key` of a row whose responses to return, too. */
  why?: string | null;
  /** Only responses of sessions that began in this directory, or in one below it; an absolute path. */
  workspacePath?: string | null;
}

/** A response behind a number: a line of `annals usage --why KEY --json`. */
export interface UsageReply {
  /** How many are calls of advisors. */
  advisorReplies: number;
  /** The subagent. */
  agentId: string | null;
  /** Those of them that stay for an hour. */
  cacheCreation1hTokens: number;
  /** Those of them that stay for five minutes. */
  cacheCreation5mTokens: number;
  /** Tokens written to the cache, for all lifetimes. */
  cacheCreationTokens: number;
  /** Tokens read from the cache. */
  cacheReadTokens: number;
  /** In how many other places it was found. */
  copies: number;
  /** How the cost is known. */
  costKind: CostKind | null;
  /** The cost in US dollars of all responses whose cost is known; null if that of none is. */
  costUsd: number | null;
  /** How many ran in fast mode. */
  fastReplies: number;
  /** Input tokens that were neither written to nor read from the cache. */
  inputTokens: number;
  /** How many no transcript on disk has any more. */
  keptReplies: number;
  /** The number of its first line there. */
  line: number;
  /** How many lines it has, with those of copies. */
  lines: number;
  /** How many have a prompt of more than 200,000 tokens. */
  longReplies: number;
  /** The model. */
  model: string;
  /** How many have a counter that is not a possible number, and was left out. */
  oddReplies: number;
  /** Whether `outputTokens` is a lower bound, because some responses are unfinished. */
  outputAtLeast: boolean;
  /** Output tokens, thinking included. */
  outputTokens: number;
  /** The transcript that it is attributed to. */
  path: Text;
  /** How many are only known from the progress of a subagent whose transcript is gone. */
  progressReplies: number;
  /** The part of `costUsd` that lines record. */
  recordedCostUsd: number;
  /** How many responses there are. */
  replies: number;
  /** The session. */
  session: string;
  /** Output tokens spent on thinking, as far as they are recorded. */
  thinkingTokens: number;
  /** The earliest time of its lines. */
  timestamp: string | null;
  /** All tokens: input, output, written to and read from the cache. */
  totalTokens: number;
  /** How many of them have no stop reason, so that their output may be more than is recorded. */
  unfinishedReplies: number;
  /** How many have no known cost. */
  unpricedReplies: number;
  /** Pages that the server fetched. */
  webFetches: number;
  /** Web searches that ran on the server. */
  webSearches: number;
}

/** The result of `history/usage`. */
export interface UsageResult {
  /** What could not be read. */
  problems: Array<string>;
  /** The responses of the row that `why` names, the most expensive first, at most 1000; absent without `why`. */
  replies?: Array<UsageReply>;
  /** How many responses that row has; absent without `why`. */
  replyCount?: number | null;
  /** How many rows there are. */
  rowCount: number;
  /** The rows: in the order of time, or the most expensive first. */
  rows: Array<UsageRow>;
  /** The sum of all rows, those behind the limit too. */
  total: UsageRow;
}

/** A row of a report: a line of `annals usage --json`. */
export interface UsageRow {
  /** How many are calls of advisors. */
  advisorReplies: number;
  /** Whether a status line recorded how much of a plan is used: `costUsd` is then what the API would charge, and not what is paid. */
  apiEquivalent?: boolean;
  /** Those of them that stay for an hour. */
  cacheCreation1hTokens: number;
  /** Those of them that stay for five minutes. */
  cacheCreation5mTokens: number;
  /** Tokens written to the cache, for all lifetimes. */
  cacheCreationTokens: number;
  /** Tokens read from the cache. */
  cacheReadTokens: number;
  /** What Claude Code itself counted; only for sessions and the total, and without limits of time. */
  client?: ClientUsage | null;
  /** How the cost is known. */
  costKind: CostKind | null;
  /** The cost in US dollars of all responses whose cost is known; null if that of none is. */
  costUsd: number | null;
  /** How many ran in fast mode. */
  fastReplies: number;
  /** The time of the first response. */
  firstAt: string | null;
  /** Input tokens that were neither written to nor read from the cache. */
  inputTokens: number;
  /** How many no transcript on disk has any more. */
  keptReplies: number;
  /** What it stands for, such as `2026-01-31` or the id of a session; `total` for the total, `(none)` for responses without one. */
  key: string;
  /** The time of the last response. */
  lastAt: string | null;
  /** How many have a prompt of more than 200,000 tokens. */
  longReplies: number;
  /** The same for each model. */
  models: Record<string, UsageSums>;
  /** How many have a counter that is not a possible number, and was left out. */
  oddReplies: number;
  /** Whether `outputTokens` is a lower bound, because some responses are unfinished. */
  outputAtLeast: boolean;
  /** Output tokens, thinking included. */
  outputTokens: number;
  /** How many are only known from the progress of a subagent whose transcript is gone. */
  progressReplies: number;
  /** The directory that the session began in; only for sessions. */
  project?: string | null;
  /** The part of `costUsd` that lines record. */
  recordedCostUsd: number;
  /** How many responses there are. */
  replies: number;
  /** How many sessions there are responses of. */
  sessions: number;
  /** The part of subagents, which `costUsd` and the tokens include. */
  subagents: UsageSums;
  /** Output tokens spent on thinking, as far as they are recorded. */
  thinkingTokens: number;
  /** All tokens: input, output, written to and read from the cache. */
  totalTokens: number;
  /** How many of them have no stop reason, so that their output may be more than is recorded. */
  unfinishedReplies: number;
  /** Models whose price is not known, or not for all of their tokens. Their cost is missing in `costUsd`. */
  unpricedModels: Array<string>;
  /** How many have no known cost. */
  unpricedReplies: number;
  /** Pages that the server fetched. */
  webFetches: number;
  /** Web searches that ran on the server. */
  webSearches: number;
  /** The five-hour window; only for blocks. */
  window?: UsageWindow | null;
}

/** Sums of responses, each counted once. */
export interface UsageSums {
  /** How many are calls of advisors. */
  advisorReplies: number;
  /** Those of them that stay for an hour. */
  cacheCreation1hTokens: number;
  /** Those of them that stay for five minutes. */
  cacheCreation5mTokens: number;
  /** Tokens written to the cache, for all lifetimes. */
  cacheCreationTokens: number;
  /** Tokens read from the cache. */
  cacheReadTokens: number;
  /** How the cost is known. */
  costKind: CostKind | null;
  /** The cost in US dollars of all responses whose cost is known; null if that of none is. */
  costUsd: number | null;
  /** How many ran in fast mode. */
  fastReplies: number;
  /** Input tokens that were neither written to nor read from the cache. */
  inputTokens: number;
  /** How many no transcript on disk has any more. */
  keptReplies: number;
  /** How many have a prompt of more than 200,000 tokens. */
  longReplies: number;
  /** How many have a counter that is not a possible number, and was left out. */
  oddReplies: number;
  /** Whether `outputTokens` is a lower bound, because some responses are unfinished. */
  outputAtLeast: boolean;
  /** Output tokens, thinking included. */
  outputTokens: number;
  /** How many are only known from the progress of a subagent whose transcript is gone. */
  progressReplies: number;
  /** The part of `costUsd` that lines record. */
  recordedCostUsd: number;
  /** How many responses there are. */
  replies: number;
  /** Output tokens spent on thinking, as far as they are recorded. */
  thinkingTokens: number;
  /** All tokens: input, output, written to and read from the cache. */
  totalTokens: number;
  /** How many of them have no stop reason, so that their output may be more than is recorded. */
  unfinishedReplies: number;
  /** How many have no known cost. */
  unpricedReplies: number;
  /** Pages that the server fetched. */
  webFetches: number;
  /** Web searches that ran on the server. */
  webSearches: number;
}

/** A five-hour window. */
export interface UsageWindow {
  /** Whether it is the present one. */
  active: boolean;
  /** How fast it is used; null unless it is the present one and has responses at different times. */
  burnRate: UsageBurnRate | null;
  /** Its end. */
  endsAt: string;
  /** Whether it is an estimate from the first response in it. Otherwise Claude Code reported its end. */
  estimated: boolean;
  /** Its start. */
  startsAt: string;
}

/** Which messages of a session to load. */
export type View = "full" | "model";

/** How a column of a table is aligned. */
export type ViewAlign = "" | "l" | "c" | "r";

/** Which versions have a line of a diff. */
export type ViewChange = " " | "+" | "-";

/** A line of a diff. */
export interface ViewDiffLine {
  /** Which versions have it. */
  k: ViewChange;
  /** Its text. */
  s: Array<ViewSpan>;
}

/** Something that came out of a call, without words. */
export interface ViewFact {
  /** How many, or which number. */
  count?: number | null;
  /** What it is. */
  kind: ViewFactKind;
}

/** What came out of a call. */
export type ViewFactKind = "lines" | "files" | "tool_calls" | "tokens" | "bytes" | "status" | "exit" | "no_output" | "background" | "new_file" | "replaced" | "text";

/** A place where two versions of a file differ. */
export interface ViewHunk {
  /** Its lines. */
  lines: Array<ViewDiffLine>;
  /** The number of its first line in the new version; 0 if that is not known. */
  new: number;
  /** The number of its first line in the old version; 0 if that is not known. */
  old: number;
}

/** Text inside a paragraph: plain text, or text with a meaning. */
export type ViewInline = string | ViewMark;

/** Text with a meaning inside a paragraph. */
export type ViewMark = { c: Array<ViewInline>; t: "strong"; } | { c: Array<ViewInline>; t: "em"; } | { c: Array<ViewInline>; t: "del"; } | { c: Array<ViewInline>; t: "code"; } | { c: Array<ViewInline>; href: string; t: "link"; } | { t: "br"; };

/** A block of content. */
export type ViewNode = { c: Array<ViewInline>; t: "p"; } | { c: Array<ViewInline>; level: number; t: "h"; } | { t: "hr"; } | { done?: Array<boolean | null>; items: Array<Array<ViewNode>>; start?: number | null; t: "list"; } | { c: Array<ViewNode>; t: "quote"; } | { align: Array<ViewAlign>; head: Array<Array<ViewInline>>; rows: Array<Array<Array<ViewInline>>>; t: "table"; } | { first?: number | null; lang?: string | null; lines: Array<Array<ViewSpan>>; t: "code"; } | { lines: Array<Array<ViewSpan>>; t: "ansi"; } | { added: number; hunks: Array<ViewHunk>; path?: string | null; removed: number; t: "diff"; } | { t: "json"; text: string; } | { t: "text"; text: string; } | { rows: Array<[string, Array<ViewInline>]>; t: "kv"; } | { bytes: number; height?: number | null; media: string; part: number; t: "image"; width?: number | null; } | { c: Array<ViewInline>; kind: string; t: "note"; } | { bytes: number; from: number; lines: number; part: number; t: "more"; };

/** One row of a session: a part of an entry, or a mark between entries. A call and its result are one row. */
export interface ViewRow {
  /**
   * One word that tells more: the kind of an input (`prompt`, `command`, `hook` …), why there is a second root, what is wrong with
   * a line, the type of a record.
   */
  cause?: string | null;
  /** What a compaction did. */
  compaction?: Compaction | null;
  /** Of a branch, how many entries it has. */
  entries?: number | null;
  /** How long nothing happened. */
  idleMs?: number | null;
  /** The arguments of a call, if the row is open. */
  input?: Array<ViewNode> | null;
  /** What it is. */
  kind: ViewRowKind;
  /** Of a branch, its last entry. */
  leaf?: string | null;
  /** The line of the file, from 1. */
  line?: number | null;
  /** Whether it belongs to the live conversation. */
  live: boolean;
  /** How many values were masked in it, because they look like secrets. */
  masked?: number;
  /** The model, in the first row of a reply. */
  model?: string | null;
  /** Its content, if the row is open. Prompts and replies always are. */
  nodes?: Array<ViewNode> | null;
  /** The result of a call, if the row is open. */
  output?: Array<ViewNode> | null;
  /** Of a gap, the missing entry; of a branch, the entry that it leaves from. */
  parent?: string | null;
  /** Its number, from 0. */
  row: number;
  /** What it says, in one line of at most 200 characters. */
  summary: string;
  /** When the entry was written. */
  timestamp?: string | null;
  /** The call of a tool. */
  tool?: ViewTool | null;
  /** The number of its turn. */
  turn?: number | null;
  /** The tokens of the reply, in the first row of each of its lines. Lines of one reply repeat them. */
  usage?: Tokens | null;
  /** The entry. */
  uuid?: string | null;
}

/** What a row is. */
export type ViewRowKind = "u" | "a" | "t" | "c" | "n" | "x" | "k" | "b" | "g" | "o" | "d" | "r" | "i";

/**
 * A piece of a line: plain text, or a class and a text.
 *
 * Classes of code: `kw`, `str`, `com`, `num`, `fn`, `type`, `lit`, `var`, `key`, `tag`, `add`, `del`, `hd`. Classes of terminal output, several of
 * them with spaces between: `b`, `dim`, `i`, `u`, `inv`, `st`, `fg0` to `fg15`, `bg0` to `bg15`. In diffs, `ch` marks what differs inside a line.
 */
export type ViewSpan = string | [string, string];

/** The call of a tool in a row. */
export interface ViewTool {
  /** How many lines an edit added. */
  added?: number | null;
  /** The subagent that it started. */
  agentId?: string | null;
  /** How long it took. */
  durationMs?: number | null;
  /** What came out of it, each in a few English words: `exit 1`, `812 lines`. */
  facts: Array<string>;
  /** The file that it reads or changes. */
  file?: string | null;
  /** The id of the call. */
  id?: string | null;
  /** The same for a viewer that has words of its own: as many as `facts`, in the same order. */
  knownFacts?: Array<ViewFact>;
  /** How many lines of a command follow the one that `subject` is. */
  moreLines?: number | null;
  /** The name of the tool; `server › tool` for a tool of an MCP server. */
  name: string;
  /** How many lines an edit removed. */
  removed?: number | null;
  /** How it ended. */
  state: ToolState;
  /** `title` without English words, if it has any. */
  subject?: string | null;
  /** What the call is about: a path, the first line of a command, a query. */
  title: string;
}

/** Who should see an item. */
export type Visibility = "conversation" | "folded" | "context" | "hidden";

/** Parameters of `history/watch`. */
export interface WatchParams {
  /** With `sessionId`: the agent of the session whose new entries to send, by the `agentId` of `history/agents`. */
  agentId?: string | null;
  /** The offset in the transcript to start from: the last `nextOffset` received. By default its current end. */
  offset?: number | null;
  /** Whether text is sent without masked secrets; refused unless the server allows it. */
  reveal?: boolean | null;
  /** The session whose new entries to send; without it, changes of sessions are sent. */
  sessionId?: string | null;
  /**
   * With `sessionId`, selects among several sessions with that id: the working directory, or the `path` that lists have.
   * Without it, only sessions of this working directory are reported.
   */
  workspacePath?: string | null;
}

/** Result of `history/watch`. */
export interface WatchResult {
  /** The offset in the transcript from which entries are sent; null when all sessions are watched. */
  offset: number | null;
  /** The name of the subscription, for `history/unwatch`. */
  subscription: string;
}

/** Methods of the server. */
export interface Methods {
  "history/agents": { params: AgentsParams; result: AgentsResult };
  "history/archive": { params: SessionParams; result: ChangeResult };
  "history/check": { params: OneSessionParams; result: CheckResult };
  "history/context": { params: ContextParams; result: ContextUse };
  "history/copies": { params: NoParams; result: CopiesResult };
  "history/delete": { params: SessionParams; result: DeleteResult };
  "history/file": { params: FileParams; result: FileResult };
  "history/files": { params: OneSessionParams; result: FilesResult };
  "history/fork": { params: ForkParams; result: ForkResult };
  "history/insight": { params: InsightParams; result: Insight };
  "history/lineage": { params: OneSessionParams; result: LineageResult };
  "history/list": { params: ListParams; result: ListResult };
  "history/load": { params: LoadParams; result: LoadResult };
  "history/locate": { params: LocateParams; result: LocateResult };
  "history/part": { params: PartParams; result: PartResult };
  "history/projects": { params: ProjectsParams; result: ProjectsResult };
  "history/read": { params: ReadParams; result: ReadResult };
  "history/rename": { params: RenameParams; result: ChangeResult };
  "history/repair": { params: OneSessionParams; result: RepairResult };
  "history/restore": { params: RestoreParams; result: ChangeResult };
  "history/rows": { params: RowsParams; result: RowsResult };
  "history/search": { params: SearchParams; result: SearchResult };
  "history/session": { params: OneSessionParams; result: Session };
  "history/skeleton": { params: SkeletonParams; result: SkeletonResult };
  "history/stats": { params: StatsParams; result: Stats };
  "history/status": { params: NoParams; result: StatusResult };
  "history/tag": { params: TagParams; result: ChangeResult };
  "history/tools": { params: ToolsParams; result: ToolsResult };
  "history/trash": { params: NoParams; result: TrashResult };
  "history/turns": { params: TurnsParams; result: TurnsResult };
  "history/unarchive": { params: SessionParams; result: ChangeResult };
  "history/unwatch": { params: UnwatchParams; result: UnwatchResult };
  "history/usage": { params: UsageParams; result: UsageResult };
  "history/watch": { params: WatchParams; result: WatchResult };
}

/** Notifications of the server. */
export interface Notifications {
  "history/appended": AppendedNotice;
  "history/changed": ChangedNotice;
}

/** Why a request failed. */
export type ErrorCode = -32700 | -32600 | -32601 | -32602 | -32603 | -32800 | -32002 | -32010 | -32011 | -32012 | -32013 | -32014 | -32015 | -32016 | -32017 | -32018 | -32019 | -32020;
