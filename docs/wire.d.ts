// The history protocol of annals: see PROTOCOL.md. Made by `cargo x schema`; do not edit.

/** Parameters of the notification `history/appended`. */
export interface AppendedNotice {
  /** Whether the transcript is gone. */
  gone?: boolean;
  /** The new items, in the order of the file. */
  items: Array<HistoryItem>;
  /** Where they end: what comes next begins here. */
  nextOffset: number;
  /** Where they begin in the transcript. */
  offset: number;
  /**
   * Whether the transcript was replaced or cut off: what was received before no longer holds, and is sent again from
   * its start.
   */
  reset?: boolean;
  /** The session. */
  sessionId: string;
  /** The subscription. */
  subscription: string;
}

/** Something that came in with a message. */
export interface CameIn {
  /** In which colour the client shows that agent. */
  color?: string | null;
  /** The name of a command. */
  command?: string | null;
  /**
   * What it is: `prompt`, `queued`, `command`, `bash`, `output`, `ide_selection`, `ide_opened_file`,
   * `task_notification`, `compact_summary`, `skill`, `teammate`, `hook`, `interrupt` or `injected`; with `all`, also
   * `notice` (a notice of Claude Code) and `context` (the name of what it added for the model).
   */
  kind: string;
  /** What the agent says in a few words. */
  summary?: string | null;
  /** The agent of a team that sent it. */
  teammateId?: string | null;
  /** What it says; of a command, its arguments. */
  text: string;
}

/** A session that was changed, or would be: `rename`, `tag`, `archive`, `unarchive`, `tombstone`, `hydrate`, `delete`. */
export interface Changed {
  /** What was done: the name of the command. */
  done: string;
  /** Whether it was only said what would be done. */
  dryRun: boolean;
  /** How many entries the session has now. */
  entries?: number | null;
  /** The entry of the trash: the one that a deleted or replaced session was moved to, or the one that was restored or removed. */
  entry?: string | null;
  /** Files and folders that were moved or removed. */
  moved?: Array<Text>;
  /** The transcript; for a deleted session, where it was. */
  path: Text;
  /** Whether it was removed permanently. */
  purged?: boolean;
  /** The entry of the trash that holds the transcript which a restored one has replaced. */
  replaced?: string | null;
  /** The session. */
  session: string | null;
  /** Its new tag, if it was given one; empty if the old one was taken away. */
  tag?: string | null;
  /** Its new title, if it was given one. */
  title?: string | null;
  /** The entry that was taken out. */
  uuid?: string | null;
}

/** Parameters of the notification `history/changed`. */
export interface ChangedNotice {
  /** Sessions that are new. */
  added: Array<Session>;
  /** The ids of sessions whose transcripts are gone. */
  removed: Array<string>;
  /** The subscription. */
  subscription: string;
  /** Sessions that went on or were changed. One that a client does not know was without conversation until now. */
  updated: Array<Session>;
}

/** A run of text, thinking or calls in a reply. */
export type ChatBlock = { content: string; type: "text"; } | { content: string; isComplete: boolean; type: "thought"; } | { toolCallIds: Array<string>; type: "tools"; } | { data?: string | null; mimeType?: string | null; type: "image"; url?: string | null; };

/** One message, as people see it: a prompt, or a reply with the calls that it made and what came of them. */
export interface ChatMessage {
  /**
   * Its text blocks, joined by line breaks. In the full view, a prompt is as it was typed, without the tags that the
   * client has put around it.
   */
  content: string;
  /** The order of text, thinking, calls and images in a reply, and of text and images in a prompt that has images. */
  contentBlocks?: Array<ChatBlock>;
  /** Whether something in it was too long to be sent and was cut. */
  cut?: boolean;
  /** The uuid of its first entry; for an entry without one, `line-` and its line. */
  id: string;
  /**
   * What came in with it, one after the other and without the tags around it, where that is not just what a person
   * typed.
   */
  inputs?: Array<CameIn>;
  /** The model of a reply. */
  model?: string | null;
  /** `user` or `assistant`; with `all`, also `system` for notices and context. */
  role: string;
  /** Whether it is the summary that stands for what was compacted away. */
  summary?: boolean;
  /** Its thinking, joined by line breaks. */
  thought?: string | null;
  /** When its first entry was written. */
  timestamp?: string | null;
  /** The calls that it makes. */
  toolCalls?: Array<ChatToolCall>;
}

/** A call, and what came of it. */
export interface ChatToolCall {
  /** The text of the answer, if the call failed. */
  error?: string | null;
  /** The call. */
  id: string;
  /** Its arguments, as they stand in the file. */
  input?: unknown;
  /** The tool. */
  name: string;
  /** What the tool answered, as it stands in the file: text or blocks. */
  result?: unknown;
  /** `completed`, `failed` or `pending`. */
  status: string;
}

/** What a compaction did. */
export interface Compaction {
  /** Tokens in context after. */
  postTokens: number | null;
  /** Tokens in context before. */
  preTokens: number | null;
  /** How many messages it kept. */
  preserved: number;
  /** `auto` or `manual`. */
  trigger: string | null;
}

/** Result of `history/delete`. */
export interface DeleteResult {
  /** Whether there was such a session; it is in the trash now. */
  deleted: boolean;
}

/** An entry: its uuid, or the number of its line from 1. */
export type EntryRef = number | string;

/** Parameters of `history/fork`. */
export interface ForkParams {
  /** The session's id, with or without `claude:` before it. */
  sessionId: string;
  /** The title of the copy; that of the session with `(fork)` behind it unless given. */
  title?: string | null;
  /** The last message to copy, by its uuid or the beginning of it; all of them unless given. */
  upTo?: string | null;
  /** Whether subagents, long tool output and backups of files are copied too. */
  withSideFiles?: boolean | null;
  /** Where several have that id: the working directory, or the transcript as lists have it in `path`. */
  workspacePath?: string | null;
}

/** A fork that was made. */
export interface Forked {
  /** How many entries were copied. */
  entries: number;
  /** The session that it was copied from. */
  forkedFrom: string | null;
  /** Its transcript. */
  path: Text;
  /** The new session. */
  session: string;
  /** Its title. */
  title: string;
}

/** Where a copied entry comes from. */
export interface ForkedFrom {
  /** The message. */
  messageUuid: string;
  /** The session. */
  sessionId: string;
}

/**
 * One item of the whole history: a line of `annals show --view full --json`, and an item of `history/read`.
 *
 * In `history/appended` items are made from their entries alone: what only the whole conversation tells (`turn`, `live`,
 * `line`) is null there, and calls are `pending`, as their results are yet to come. An item whose `uuid` came before takes the
 * place of that one.
 */
export interface HistoryItem {
  /** The subagent. */
  agentId: string | null;
  /** What a compaction did. */
  compaction: Compaction | null;
  /** How many entries a branch has. */
  entries: number | null;
  /** The session and the message that the entry was copied from. */
  forkedFrom: ForkedFrom | null;
  /**
   * What came in with it, one after the other and without the tags around it, where that is not just what a person
   * typed.
   */
  inputs?: Array<CameIn>;
  /** `message`, `compaction`, `branch`, `gap`, `root`, `salvaged`, `meta` or `damage`. */
  kind: string;
  /** The last entry of a branch: `annals show --leaf` shows the conversation that ends in it. */
  leaf: string | null;
  /** The line in the file, from 1; none for branches, gaps and roots. */
  line: number | null;
  /** Whether it belongs to the live conversation. */
  live: boolean | null;
  /** The model of a reply. */
  model: string | null;
  /**
   * The other lines of the file with the same `uuid`. Such lines are one item, at the place of the first line and with the
   * content of the last.
   */
  otherLines?: Array<number>;
  /** What it hangs on; of a gap, the entry that is missing; of a branch, the entry that it leaves from. */
  parent: string | null;
  /** The content blocks as they stand in the file; a string that is not UTF-8 is `{"bytes": <base64>}`. */
  parts: Array<unknown>;
  /** What is wrong with the line. */
  problem: string | null;
  /** `user` or `assistant`, for those that speak. */
  role: string | null;
  /** Whether it is a subagent's. */
  sidechain: boolean;
  /**
   * What divides the type further. Of a root, why the next entry hangs on nothing although others stand before it:
   * `context_cleared`, `parentless_prompts`, `rewind_to_start`, `copy_of_first_prompt` or `lost_link`.
   */
  subtype: string | null;
  /** What other lines with the same `uuid` say, where that is something else. */
  superseded?: Array<Superseded>;
  /** When it was written. */
  timestamp: string | null;
  /** The call that it makes, with how it ended. */
  tool: HistoryTool | null;
  /** The number of the turn that it belongs to; none for subagents shown with their session. */
  turn: number | null;
  /** The entry's `type`. */
  type: string | null;
  /** The token counters of a reply as they stand in the file. */
  usage: unknown;
  /** The entry. */
  uuid: string | null;
  /**
   * Who should see it: `conversation` (everybody), `folded` (people, folded: output of commands, messages of other agents,
   * notifications, hooks), `context` (on request: what Claude Code added for the model) or `hidden` (records).
   */
  visibility: string;
}

/** A call and how it ended. */
export interface HistoryTool {
  /** The call. */
  id: string | null;
  /** The tool. */
  name: string | null;
  /** The entry with the result. */
  resultUuid: string | null;
  /** `ok`, `error`, `pending`, `interrupted` or `denied`. */
  state: string;
}

/** Parameters of `history/list`. */
export interface ListParams {
  /** Also files without a conversation. */
  all?: boolean | null;
  /** Where the page before ended. */
  cursor?: string | null;
  /** Only sessions active at this time or later: RFC 3339, or a day in UTC. */
  dateFrom?: string | null;
  /** Only sessions begun before this time: RFC 3339, or a day in UTC, which is included. */
  dateTo?: string | null;
  /** Only sessions whose tools read or wrote this file. */
  filePath?: string | null;
  /** At most so many; 1000 unless given, and at most. */
  limit?: number | null;
  /** Only sessions with this text in their title or first prompt, whatever its case. */
  query?: string | null;
  /** Only sessions that called this tool. */
  toolName?: string | null;
  /** Only sessions of this working directory; an absolute path. */
  workspacePath?: string | null;
}

/** Result of `history/list`. */
export interface ListResult {
  /** Where the next page begins; absent behind the last. */
  nextCursor?: string | null;
  /** What could not be read; absent if all could. */
  problems?: Array<string>;
  /** The sessions, the last active first. */
  sessions: Array<Session>;
}

/** Parameters of `history/load`. */
export interface LoadParams {
  /**
   * Also, among all that were said, what the client has put in by itself: output of commands, reminders, messages of
   * other agents.
   */
  all?: boolean | null;
  /** Where the page before ended. */
  cursor?: string | null;
  /** At most so many messages; 10000 unless given, and at most. */
  limit?: number | null;
  /** The session's id, with or without `claude:` before it. */
  sessionId: string;
  /** Which messages; all that were said unless given. */
  view?: View | null;
  /** Where several have that id: the working directory, or the transcript as lists have it in `path`. */
  workspacePath?: string | null;
}

/** Result of `history/load`. */
export interface LoadResult {
  /** The messages, in the order in which they were said. */
  messages: Array<ChatMessage>;
  /** Where the next page begins; absent behind the last. */
  nextCursor?: string | null;
  /** What other agents of a team have said meanwhile. */
  teamMessages?: Array<TeamMessage>;
}

/** Parameters of methods that need none. */
export type NoParams = Record<string, never>;

/** A project: a line of `annals projects --json`. */
export interface Project {
  /** The names of the folders that its sessions lie in. */
  keys: Array<string>;
  /** Its path, as its sessions tell it. */
  path: string | null;
  /** How many sessions it has. */
  sessions: number;
  /** Other paths whose sessions lie in one of the same folders. */
  sharesFolderWith: Array<string>;
  /** How many bytes their transcripts have. */
  size: number;
  /** When something was said last. */
  updatedAt: string | null;
  /** The repository that it is a worktree of. */
  worktreeOf: string | null;
}

/** Parameters of `history/projects`. */
export interface ProjectsParams {
  /** At most so many; 1000 unless given, at most 10000. */
  limit?: number | null;
}

/** Result of `history/projects`. */
export interface ProjectsResult {
  /** What could not be read; absent if all could. */
  problems?: Array<string>;
  /** The projects, the last active first. */
  projects: Array<Project>;
  /** How many there are. */
  total: number;
}

/**
 * Parameters of `history/read`. At most one of `around`, `before`, `after`, `last` and `cursor` is given; without any of
 * them the history is read from its start.
 */
export interface ReadParams {
  /** Items behind this entry. */
  after?: EntryRef | null;
  /** Items on both sides of this entry, and the entry. */
  around?: EntryRef | null;
  /** Items before this entry. */
  before?: EntryRef | null;
  /** A page before or behind another. */
  cursor?: string | null;
  /** The last items. */
  last?: boolean | null;
  /** At most so many items; 200 unless given, at most 5000. */
  limit?: number | null;
  /** The session's id, with or without `claude:` before it. */
  sessionId: string;
  /** Where several have that id: the working directory, or the transcript as lists have it in `path`. */
  workspacePath?: string | null;
}

/** Result of `history/read`. */
export interface ReadResult {
  /** The items, in the order of the conversation. */
  items: Array<HistoryItem>;
  /** Leads to the page behind; absent on the last. */
  nextCursor?: string | null;
  /** The length of the transcript that was read, up to its last whole line: `history/watch` goes on from here. */
  offset: number;
  /** Leads to the page before; absent on the first. */
  previousCursor?: string | null;
  /** The place of the first item of this page among them, from 0. */
  start: number;
  /** How many items the history has. */
  total: number;
}

/** Parameters of `history/rename`. */
export interface RenameParams {
  /** The session's id, with or without `claude:` before it. */
  sessionId: string;
  /** Its new title. */
  title: string;
  /** Where several have that id: the working directory, or the transcript as lists have it in `path`. */
  workspacePath?: string | null;
}

/** Parameters of `history/restore`. */
export interface RestoreParams {
  /** Which of the session's entries, as `history/trash` names them; the newest unless given. */
  entry?: string | null;
  /** The id of a session in the trash, with or without `claude:` before it. */
  sessionId: string;
}

/** A session: a line of `annals list --json`. */
export interface Session {
  /** Whether it is in the client's archive. */
  archived: boolean;
  /** The first entry's time. */
  createdAt: string | null;
  /** The working directory. */
  cwd: string | null;
  /** How the client was started. */
  entrypoint: string | null;
  /** Why it could not be read; then nothing is known of what is in it. */
  error?: string | null;
  /** The first words of a person. */
  firstPrompt: string | null;
  /** The session that it was forked from. */
  forkedFrom: string | null;
  /** Whether only the prompt history knows it; then times are those of its prompts. */
  ghost?: boolean;
  /** The branch that was checked out last. */
  gitBranch: string | null;
  /** Its id. */
  id: string;
  /** Whether a client has it open. */
  live: boolean;
  /** How many messages it has; null where only the ends of the file were read. */
  messages: number | null;
  /** Its transcript; null if it is gone. */
  path: Text | null;
  /** The permission mode that it was left in. */
  permissionMode: string | null;
  /** The name of the folder that it lies in. */
  projectKey: string;
  /** The path of its project. */
  projectPath: string | null;
  /** How many bytes its transcript has. */
  size: number;
  /** How many subagents have a transcript. */
  subagents: number;
  /** The user's tag. */
  tag: string | null;
  /** What it is called. */
  title: string | null;
  /** Where the title comes from: `custom`, `ai`, `summary`, `prompt` or `none`. */
  titleSource: string;
  /** The last entry's time. */
  updatedAt: string | null;
  /** The version of the client that wrote last. */
  version: string | null;
  /** Why it is no conversation, for files that `--all` lists. */
  withoutConversation?: string | null;
}

/** Names one session: parameters of `history/delete` and `history/stats`. */
export interface SessionParams {
  /** The session's id, with or without `claude:` before it. */
  sessionId: string;
  /** Where several have that id: the working directory, or the transcript as lists have it in `path`. */
  workspacePath?: string | null;
}

/** What a transcript is made of: a line of `annals stats --json`. */
export interface Stats {
  /** The subagent whose transcript it is. */
  agentId: string | null;
  /** Content blocks by `type`. */
  blocks: Record<string, number>;
  /** Lines of conversation that were left behind. */
  branches: number;
  /** Bytes of the file. */
  bytes: number;
  /** Compactions. */
  compactions: number;
  /** The earliest time. */
  firstAt: string | null;
  /** Entries whose parent is not in the file. */
  gaps: number;
  /** The latest time. */
  lastAt: string | null;
  /** Lines of the file. */
  lines: number;
  /** Replies by model. */
  models: Record<string, number>;
  /** The transcript. */
  path: Text;
  /** How many problems `annals check` reports. */
  problems: number;
  /** The session, where the file's place tells it. */
  session: string | null;
  /** Subagents with a transcript of their own. */
  subagents: number;
  /** Entries by `type:subtype`. */
  subtypes: Record<string, number>;
  /** Calls by tool. */
  tools: Record<string, ToolCount>;
  /** Rounds of the conversation. */
  turns: number;
  /** Entries by `type`. */
  types: Record<string, number>;
  /** Client versions, in the order first seen. */
  versions: Array<string>;
}

/** Result of `history/status`. */
export interface StatusResult {
  /** The folder of annals itself: catalogue and trash. */
  home: Text;
  /** The methods that are answered. */
  methods: Array<string>;
  /** Always `annals`. */
  name: string;
  /** The version of this protocol: it grows when something changes its meaning. */
  protocolVersion: number;
  /** Whether changes are refused. */
  readOnly: boolean;
  /** The client's folders that are looked at. */
  roots: Array<Text>;
  /** How many subscriptions there are, of all clients. */
  subscriptions: number;
  /** The version of annals. */
  version: string;
}

/** The content of a line that another line with the same `uuid` has replaced. */
export interface Superseded {
  /** The line in the file, from 1. */
  line: number;
  /** The content blocks as they stand in the file. */
  parts: Array<unknown>;
  /** When this line was written. */
  timestamp: string | null;
  /** The entry's `type` in this line. */
  type: string | null;
}

/** Parameters of `history/tag`. */
export interface TagParams {
  /** The session's id, with or without `claude:` before it. */
  sessionId: string;
  /** Its new tag; null takes the old one away. */
  tag?: string | null;
  /** Where several have that id: the working directory, or the transcript as lists have it in `path`. */
  workspacePath?: string | null;
}

/** What another agent of a team has said. */
export interface TeamMessage {
  /** In which colour the client shows it. */
  color?: string | null;
  /** In all words. */
  content: string;
  /** In a few words. */
  summary?: string | null;
  /** Who has said it. */
  teammateId: string;
  /** When it came. */
  timestamp?: string | null;
}

/** Text, or `{"bytes": <base64>}` where it is not UTF-8. */
export type Text = string | { bytes: string; };

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
  /** From the call to its result. */
  durationMs: number | null;
  /** Files that the call reads or writes, as far as its arguments say for certain. */
  files: Array<string>;
  /** The call. */
  id: string | null;
  /** The line of the call. */
  line: number;
  /** The tool. */
  name: string | null;
  /** The entry with the result. */
  resultUuid: string | null;
  /** The session, where the file's place tells it. */
  session: string | null;
  /** `ok`, `error`, `pending`, `interrupted` or `denied`. */
  state: string;
  /** What the call is about. */
  subject: string;
  /** When it was made. */
  timestamp: string | null;
  /** The entry that makes the call. */
  uuid: string | null;
}

/** Calls of a tool. */
export interface ToolCount {
  /** How often it was called. */
  calls: number;
  /** How many of the calls failed. */
  errors: number;
}

/** Parameters of `history/tools`. */
export interface ToolsParams {
  /** Where the page before ended. */
  cursor?: string | null;
  /** Only calls whose result says that they failed. */
  errors?: boolean | null;
  /** At most so many; 1000 unless given, at most 10000. */
  limit?: number | null;
  /** Only calls of this tool. */
  name?: string | null;
  /** The session's id, with or without `claude:` before it. */
  sessionId: string;
  /** Where several have that id: the working directory, or the transcript as lists have it in `path`. */
  workspacePath?: string | null;
}

/** Result of `history/tools`. */
export interface ToolsResult {
  /** The calls, in the order of the file. */
  calls: Array<ToolCall>;
  /** Where the next page begins; absent behind the last. */
  nextCursor?: string | null;
}

/** Result of `history/trash`. */
export interface TrashResult {
  /** The sessions in the trash, the last deleted first; at most 1000. */
  sessions: Array<Trashed>;
}

/** An entry of the trash, a session as it was deleted at one time: a line of `annals restore --json`. */
export interface Trashed {
  /** When it was deleted. */
  deletedAt: string;
  /** Which of the session's entries it is; the ids of later ones sort behind those of earlier ones. */
  entry: string;
  /**
   * Whether deleting or restoring it was interrupted, or is going on right now. The next operation that changes the session
   * puts its files back.
   */
  interrupted?: boolean;
  /** Where its transcript was. */
  path: Text;
  /** The working directory that it is about, if that is known. */
  project: Text | null;
  /** The session. */
  session: string;
  /** How many bytes it has, with all that belongs to it. */
  size: number;
  /** Its title. */
  title: string | null;
}

/** One round of a conversation: a line of `annals turns --json`. */
export interface Turn {
  /** Whether the conversation was compacted in it. */
  compacted: boolean;
  /** From its start to its last entry. */
  durationMs: number | null;
  /** Calls that failed. */
  errors: number;
  /** `new_session`, `new_round`, `resume` or `continue`. */
  kind: string;
  /** User and assistant entries. */
  messages: number;
  /** The words or the command that started it. */
  prompt: string;
  /** How long nothing had happened before it, if that makes it a resumption. */
  resumedAfterMs: number | null;
  /** When it started. */
  startedAt: string | null;
  /** What started it. */
  startedBy: string;
  /** Calls made in it. */
  toolCalls: number;
  /** Its number, from 1. */
  turn: number;
  /** Tokens of its replies, each reply counted once. */
  usage: Tokens;
}

/** Parameters of `history/turns`. */
export interface TurnsParams {
  /** Where the page before ended. */
  cursor?: string | null;
  /** At most so many; 1000 unless given, at most 10000. */
  limit?: number | null;
  /** The session's id, with or without `claude:` before it. */
  sessionId: string;
  /** Where several have that id: the working directory, or the transcript as lists have it in `path`. */
  workspacePath?: string | null;
}

/** Result of `history/turns`. */
export interface TurnsResult {
  /** Where the next page begins; absent behind the last. */
  nextCursor?: string | null;
  /** The rounds. */
  turns: Array<Turn>;
}

/** Parameters of `history/unwatch`. */
export interface UnwatchParams {
  /** The subscription, as `history/watch` named it. */
  subscription: string;
}

/** Result of `history/unwatch`. */
export interface UnwatchResult {
  /** Always true: what is not there is an error. */
  unwatched: boolean;
}

/** Which messages of a session are loaded. */
export type View = "full" | "model";

/** Parameters of `history/watch`. */
export interface WatchParams {
  /** From where in the transcript on: `nextOffset` of what was received last. From its present end unless given. */
  offset?: number | null;
  /** The session whose new entries are wanted; without it, changes of all sessions are. */
  sessionId?: string | null;
  /** Where several have that id: the working directory, or the transcript as lists have it in `path`. */
  workspacePath?: string | null;
}

/** Result of `history/watch`. */
export interface WatchResult {
  /** From where in the transcript on entries are sent; null for all sessions. */
  offset: number | null;
  /** Names the subscription. */
  subscription: string;
}

/** What can be asked. */
export interface Methods {
  "history/delete": { params: SessionParams; result: DeleteResult };
  "history/fork": { params: ForkParams; result: Forked };
  "history/list": { params: ListParams; result: ListResult };
  "history/load": { params: LoadParams; result: LoadResult };
  "history/projects": { params: ProjectsParams; result: ProjectsResult };
  "history/read": { params: ReadParams; result: ReadResult };
  "history/rename": { params: RenameParams; result: Changed };
  "history/restore": { params: RestoreParams; result: Changed };
  "history/stats": { params: SessionParams; result: Stats };
  "history/status": { params: NoParams; result: StatusResult };
  "history/tag": { params: TagParams; result: Changed };
  "history/tools": { params: ToolsParams; result: ToolsResult };
  "history/trash": { params: NoParams; result: TrashResult };
  "history/turns": { params: TurnsParams; result: TurnsResult };
  "history/unwatch": { params: UnwatchParams; result: UnwatchResult };
  "history/watch": { params: WatchParams; result: WatchResult };
}

/** What is told unasked. */
export interface Notifications {
  "history/appended": AppendedNotice;
  "history/changed": ChangedNotice;
}

/** Why a request failed. */
export type ErrorCode = -32700 | -32600 | -32601 | -32602 | -32603 | -32800 | -32002 | -32010 | -32011 | -32012 | -32013 | -32014 | -32015 | -32016 | -32017 | -32018 | -32019;
