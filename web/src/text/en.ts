/** All texts of the page in English. The other languages have the same keys. */
const s = (count: number, one: string, many = `${one}s`) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

export const en = {
  name: 'English',
  sessions: 'Sessions', search: 'Search', usage: 'Usage', health: 'Health', conversation: 'Conversation',
  palette: 'Find anything', privacy: 'All data is from this disk and stays there.', readOnly: 'read-only',
  skip: 'Skip to the content', live: 'live', offline: 'connection lost, trying again', loading: 'Loading…', failedToLoad: 'This could not be loaded:',
  retry: 'Try again', close: 'Close', cancel: 'Cancel', copied: 'Copied', undo: 'Undo', more: 'Show more', none: 'None', yes: 'yes', no: 'no',
  theme: 'Theme', themes: { auto: 'system', light: 'light', dark: 'dark', contrast: 'high contrast' }, language: 'Language', help: 'Keys',
  density: 'Density', densities: { compact: 'compact', normal: 'normal', roomy: 'roomy' },

  signInTitle: 'This tab has no access to the sessions yet',
  signInHint: 'Paste the link that `annals serve` printed. It ends with a token; the page keeps it in this tab only, and then returns to this place.',
  signInField: 'Printed link or token', signInButton: 'Open', signInWrong: 'That is not a link with a token.',

  project: 'Project', allProjects: 'All projects', since: 'Active', anyTime: 'any time', lastDays: (days: number) => (days === 1 ? 'last day' : `last ${days} days`),
  filterSessions: 'Filter by title or first prompt', archived: 'Archived too', onlyLive: 'Open now', tagged: 'Tag', sessionCount: (count: number) => s(count, 'session'),
  columns: { status: 'Status', title: 'Title', project: 'Project', active: 'Active', turns: 'Turns', cost: 'Cost', size: 'Size', calls: 'Calls', marks: 'Marks' },
  statuses: { live: 'open in Claude Code', quiet: 'quiet', error: 'cannot be read', archived: 'archived', queued: 'has queued prompts' },
  untitled: 'Untitled', noSessions: 'There are no sessions here.', noMatch: 'No session matches these filters.',
  compactions: (count: number) => s(count, 'compaction'), branches: (count: number) => s(count, 'branch', 'branches'), gaps: (count: number) => s(count, 'broken link'),
  problems: (count: number) => s(count, 'problem'), subagents: (count: number) => s(count, 'subagent'), forkOf: 'a fork of another session',
  queued: (count: number) => `${s(count, 'prompt')} in the queue`, messages: (count: number) => s(count, 'message'),

  levels: { read: 'Read', work: 'Work', model: 'Model', raw: 'Raw' },
  levelHints: {
    read: 'prompts and answers', work: 'with the calls of each turn', model: 'what a resume would send to the model', raw: 'every record of the file',
  },
  you: 'You', claude: 'Claude', thinking: 'Thinking', notStored: 'not stored', turn: (turn: number) => `Turn ${turn}`,
  tools: (count: number) => s(count, 'tool'), files: (count: number) => s(count, 'file'), errors: (count: number) => s(count, 'error'),
  thoughts: (count: number) => s(count, 'thought'), notes: (count: number) => s(count, 'note'), texts: (count: number) => s(count, 'text'),
  lines: (count: number) => s(count, 'line'), running: 'running',
  showAll: (lines: number, size: string) => `show ${s(lines, 'more line')}${size ? ` (${size})` : ''}`, showFirst: (lines: number) => `show ${s(lines, 'line')} more`,
  copyInput: 'Copy input', copyOutput: 'Copy output', copyPath: 'Copy path', copyLink: 'Copy link', copyText: 'Copy text', split: 'Side by side', unified: 'Unified',
  input: 'Input', output: 'Output', openAgent: 'Open the subagent', backToSession: 'Back to the session',
  states: { ok: 'done', error: 'failed', pending: 'no result', interrupted: 'interrupted', denied: 'refused', cancelled: 'cancelled' },
  masked: (count: number) => `${s(count, 'value')} masked, because ${count === 1 ? 'it looks' : 'they look'} like secrets`,
  compacted: 'compacted', kept: (count: number) => `kept ${s(count, 'message')}`, idle: (time: string) => `${time} later`,
  branch: (entries: number) => `a branch that was left: ${s(entries, 'entry', 'entries')}`, branchUnknown: 'a branch that was left',
  gap: 'chain broken here: the entry before this one was never written', gapHint: 'Claude Code may not reach what is above when it resumes this session.',
  root: 'a new beginning without a link to what is above', damage: 'a line that is not a whole record', notLive: 'not on the live conversation: a resume leaves it out',
  fromHere: 'unread', newRows: (count: number) => `↓ ${count.toLocaleString('en')} new`, toEnd: '↓ end', follows: 'following', pinned: 'Go to this prompt',
  image: (media: string, size: string) => `${media}, ${size}`, emptyConversation: 'This session has no messages.',
  outline: 'Outline', inspector: 'Inspector', tabs: { calls: 'Calls', files: 'Files', agents: 'Agents', context: 'Context', usage: 'Usage' },
  callFilter: 'tool:Bash err:yes slower:10s, or words', callColumns: { tool: 'Tool', subject: 'Subject', time: 'Start', length: 'Time', state: 'State' },
  noCalls: 'No calls match.', noFiles: 'No file was changed.', noAgents: 'No subagents.', versions: (count: number) => s(count, 'version'), edits: (count: number) => s(count, 'edit'),
  nextEdit: 'Next edit of this file',
  backups: { kept: 'kept', no_file: 'did not exist', missing: 'missing', refused: 'refused' }, tokens: 'tokens', estimated: 'estimated', before: 'before', after: 'after',
  severalSessions: 'Several sessions have this id. Choose one:', modelMessages: (count: number, tokens: string) => `${s(count, 'message')}, ≈ ${tokens} tokens of text: what Claude Code would send if it resumed now`,
  summaryMessage: 'summary of what was compacted', rail: 'Overview of the conversation: drag to scroll',
  rawRecord: 'Record',

  find: 'Find in this conversation', findCount: (at: number, total: number) => (total === 0 ? 'no hits' : `${at} of ${total.toLocaleString('en')}`), next: 'Next', previous: 'Previous',
  searchField: 'Words, "phrases", -not, tool:Bash, in:output', searchCount: (hits: number, sessions: number, ms: number) => `${s(hits, 'hit')} in ${s(sessions, 'session')}, ${ms} ms`,
  fields: { prompt: 'prompt', reply: 'answer', thinking: 'thinking', tool: 'tool', input: 'tool input', output: 'tool output', title: 'title', summary: 'summary', notification: 'notification' },
  onlyErrors: 'Errors only', anyTool: 'Any tool', newestFirst: 'Newest first', noHits: 'Nothing was found.', didYouMean: 'Did you mean', noIndex: 'There is no search index yet: run `annals index`.',
  behind: (files: number) => `${s(files, 'file')} not indexed yet`, preview: 'Preview', choosePreview: 'Choose a hit to see it in its conversation.', openHere: 'Open', hitsIn: (count: number) => s(count, 'hit'),
  searchIntro: 'Search everything that was said, thought, run and printed, in all sessions.',

  by: { day: 'Day', week: 'Week', month: 'Month', model: 'Model', project: 'Project', session: 'Session', branch: 'Branch' }, period: 'Period',
  cost: 'Cost', input_tokens: 'Input', output_tokens: 'Output', cacheRead: 'Cache read', cacheWrite: 'Cache written', replies: 'Replies', total: 'Total',
  countedOnce: 'each reply is counted once', costOver: 'Cost', tokensOver: 'Tokens', unpriced: (count: number) => `${s(count, 'reply', 'replies')} without a known price`, noUsage: 'No replies in this period.',
  asTable: 'The figures as a table', dearest: 'Most expensive sessions', estimatedCost: 'The cost is calculated from list prices.', toolUse: 'Tools', failures: 'failed', calls: 'calls', insight: 'Insight',

  healthFine: 'No problems were found.', healthCheck: 'Check all sessions', healthChecking: 'Checking…', healthAbsent: 'This server does not check sessions. On the command line: `annals check --all`.', roots: 'Folders', server: 'Server',
  trash: 'Trash', trashEmpty: 'The trash is empty.', restore: 'Restore', deletedAt: 'deleted', openSessions: 'Open in Claude Code', line: 'line', effect: 'Effect', repair: 'Repair',
  unreadable: 'Sessions that could not be read', severities: { error: 'error', warning: 'warning', info: 'note' } as Record<string, string>, repairable: 'can be repaired',

  actions: 'Actions', rename: 'Rename', renamePrompt: 'New title', tag: 'Tag', tagPrompt: 'New tag; empty removes it', archive: 'Archive', unarchive: 'Bring back from the archive', fork: 'Fork', forkHere: 'Fork from here',
  delete: 'Delete', export: 'Copy export command', resume: 'Copy resume command', done: { renamed: 'Renamed', tagged: 'Tagged', archived: 'Archived', unarchived: 'Back from the archive', forked: 'Forked', deleted: 'Moved to the trash', restored: 'Restored' },
  openFork: 'Open the fork', ok: 'OK', deleteQuestion: (title: string) => `Move “${title}” to the trash? It can be restored.`,
  paletteHint: 'Type to find sessions, prompts and commands', paletteSessions: 'Sessions', paletteCommands: 'Commands', palettePrompts: 'Prompts', paletteSearch: (words: string) => `Search everything for “${words}”`,
  keys: {
    palette: 'Find anything', find: 'Find in the conversation', nextRow: 'Next row', previousRow: 'Previous row', nextPrompt: 'Next prompt', previousPrompt: 'Previous prompt',
    nextError: 'Next error', previousError: 'Previous error', nextCompaction: 'Next compaction', previousCompaction: 'Previous compaction', nextEdit: 'Next edit of this file', previousEdit: 'Previous edit of this file',
    branch: 'Next branch', open: 'Open or close the card', openTurn: 'Open or close the turn', openAll: 'Open or close all turns', read: 'Read', work: 'Work', model: 'Model', raw: 'Raw', inspector: 'Inspector', nextTab: 'Next tab', previousTab: 'Previous tab', outline: 'Outline',
    start: 'Start', end: 'End, and follow', sessions: 'Sessions', search: 'Search', usage: 'Usage', health: 'Health', out: 'Out of the subagent', into: 'Into the subagent',
    nextSession: 'Next session', previousSession: 'Previous session', copyLink: 'Copy link to the row', copyText: 'Copy the row as text', copyResume: 'Copy resume command', theme: 'Theme', split: 'Side-by-side diffs', close: 'Close, then back', help: 'List the keys',
    mark: 'Mark the row', toMark: 'Go to the mark',
  },
};

export type Texts = typeof en;
