// A server for tests that answers as `annals serve` does, with generated sessions of any length that grow on request.
import { createServer } from 'node:http';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The policy of the real server: `crates/annals-server/src/http/guard.rs`. */
export const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; "
  + "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const WORDS = 'the parser reads glued records and splits them where the depth of braces is zero so that nothing is lost 修复 解析器 of the last line which has no newline'.split(' ');
const TOOLS = [['Bash', 'cargo test -q', ['exit 0', '812 lines']], ['Read', 'src/read.rs', ['81 lines']], ['Edit', 'src/read.rs', []], ['Grep', 'glued', ['12 hits']]];

const uuidOf = (id, row) => `${id.slice(0, 8)}-0000-4000-8000-${String(row).padStart(12, '0')}`;
const sentence = (seed, count) => Array.from({ length: count }, (_, index) => WORDS[(seed * 7 + index * 13 + ((seed * index) % 5)) % WORDS.length]).join(' ');

/** A session of `total` rows in turns of ten: a prompt, thinking, calls, an answer. */
export class MockSession {
  constructor(id, total, title) {
    Object.assign(this, { id, title, revision: 1, shift: 0, kinds: [], failed: new Set() });
    this.add(total);
  }

  add(count) {
    for (let index = 0; index < count; index++) {
      const row = this.kinds.length;
      const at = (row + this.shift) % 10;
      this.kinds.push(row > 0 && row % 997 === 0 ? 'k' : row > 0 && row % 401 === 0 ? 'i' : at === 0 ? 'u' : at === 1 ? 't' : at === 9 ? 'a' : at === 5 ? 'a' : 'c');
      if (this.kinds[row] === 'c' && row % 53 === 0) this.failed.add(row);
    }
  }

  /** Makes a branch of four rows behind a row: a prompt, two calls and an answer that were left. */
  fork(row) {
    this.kinds.splice(row, 5, 'b', 'u', 'c', 'c', 'a');
    this.left = [[row, row + 5]];
  }

  /** Puts rows before all others: the rows of a rewritten session. */
  prepend(count) {
    this.kinds = [...Array.from({ length: count }, (_, index) => (index % 10 === 0 ? 'u' : 'a')), ...this.kinds];
    this.failed = new Set([...this.failed].map((row) => row + count));
    this.first = (this.first ?? 0) + count;
    this.revision++;
  }

  /** The number that the texts of a row are made from: it stays when rows are put before it. */
  seed(row) {
    return row - (this.first ?? 0);
  }

  lines(row) {
    const kind = this.kinds[row];
    const seed = Math.abs(this.seed(row));
    return kind === 'u' ? 1 + (seed % 4) : kind === 'a' ? 1 + (seed % 9) : kind === 'c' ? 5 + (seed % 40) : kind === 't' ? 3 : 1;
  }

  turns() {
    return this.kinds.flatMap((kind, row) => (kind === 'u' ? [row] : []));
  }

  skeleton(from = 0) {
    const total = this.kinds.length;
    return {
      revision: String(this.revision), total, from, kinds: this.kinds.slice(from).join(''), lines: Array.from({ length: total - from }, (_, index) => this.lines(from + index)),
      turns: this.turns(), failed: [...this.failed], left: this.left ?? [], offset: total * 100,
    };
  }

  row(row, isOpen) {
    const kind = this.kinds[row];
    const seed = this.seed(row);
    const positive = Math.abs(seed);
    const base = { row, kind, uuid: uuidOf(this.id, positive), line: row + 1, timestamp: new Date(Date.UTC(2026, 10, 1) + positive * 9000).toISOString(), live: true, summary: `${kind} ${seed} ${sentence(positive, 6)}` };
    const paragraphs = kind !== 'u' && kind !== 'a' && !isOpen ? [] : isOpen === 'head' ? [] : Array.from({ length: this.lines(row) }, (_, index) => ({ t: 'p', c: [`${seed}.${index} ${sentence(positive + index, 14 + (positive % 11))}`] }));
    if (kind === 'u') return { ...base, turn: Math.floor(row / 10) + 1, nodes: paragraphs };
    if (kind === 'a') return { ...base, model: 'claude-test-1', nodes: [...paragraphs, ...(positive % 30 === 9 ? [{ t: 'code', lang: 'rust', lines: [[['kw', 'fn'], ' main() {}']] }] : [])] };
    if (kind === 'k') return { ...base, compaction: { trigger: 'auto', preTokens: 180000, postTokens: 31000, preserved: 4 }, ...(isOpen && { nodes: paragraphs }) };
    if (kind === 'i') return { ...base, idleMs: 11_400_000 };
    if (kind === 'b') return { ...base, uuid: null, entries: 4, leaf: uuidOf(this.id, positive + 4), parent: uuidOf(this.id, positive - 1) };
    if (kind !== 'c') return { ...base, ...(isOpen && { nodes: paragraphs }) };
    const [name, title, facts] = TOOLS[positive % TOOLS.length];
    const isFailed = this.failed.has(row);
    const output = name === 'Edit'
      ? [{ t: 'diff', path: title, added: 2, removed: 1, hunks: [{ old: 40, new: 40, lines: [{ k: ' ', s: ['let a = 1;'] }, { k: '-', s: ['let b = ', ['ch', '2'], ';'] }, { k: '+', s: ['let b = ', ['ch', '3'], ';'] }, { k: '+', s: ['let c = 4;'] }] }] }]
      : [{ t: 'ansi', lines: Array.from({ length: 20 }, (_, index) => [`${seed} line ${index} `, [index % 4 === 0 ? 'fg1' : 'fg2', 'ok']]) }, { t: 'more', lines: 792, bytes: 51200, part: 0, from: 20 }];
    return {
      ...base, summary: isFailed ? 'error: the test failed' : title,
      tool: { id: `t${positive}`, name, title, state: isFailed ? 'error' : 'ok', durationMs: 120 + (positive % 90) * 100, facts: isFailed ? ['the test of the parser failed'] : facts, ...(name === 'Read' && !isFailed && { knownFacts: [{ kind: 'lines', count: 81 }] }), ...(name === 'Bash' && { subject: 'cargo test', moreLines: 2 }), file: name === 'Bash' ? null : `/home/mia/annals/${title}`, ...(this.agentRow === row && { agentId: 'a1' }), ...(name === 'Edit' && { added: 2, removed: 1 }) },
      ...(isOpen && { input: [{ t: 'code', lang: 'bash', lines: [[title]] }], output }),
    };
  }
}

/** Text that must stay text, and addresses that must not be followed. */
const HOSTILE = [
  { t: 'p', c: ['<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">', { t: 'link', href: 'javascript:window.hacked=3', c: ['click'] }, { t: 'link', href: 'data:text/html,<script>1</script>', c: ['data'] }, { t: 'link', href: 'https://example.org/', c: ['fine'] }] },
  { t: 'p', c: ['abc \u202e gnp.exe \u200b \u0007 \u001b[31m'] },
  { t: 'code', lang: '"><script>window.hacked = 4</script>', lines: [[['kw" onmouseover="window.hacked=5', 'if'], ['style', '</pre><svg onload=window.hacked=6>']]] },
  { t: 'text', text: `${'long '.repeat(50_000)}` },
  { t: 'json', text: '['.repeat(5_000) + ']'.repeat(5_000) },
  { t: 'image', media: 'image/svg+xml', bytes: 100, part: 0 },
  { t: 'quote', c: Array.from({ length: 100 }, () => 0).reduce((inner) => [{ t: 'quote', c: inner }], [{ t: 'p', c: ['deep'] }]) },
  { t: 'table', align: ['r'], head: [['<b>head</b>']], rows: [[['<style>*{display:none}</style>']]] },
  { t: 'future', text: '<b>unknown</b>' },
];

export class Mock {
  constructor({ dist, sessions, readOnly = false }) {
    this.dist = dist;
    this.sessions = new Map(sessions.map((session, number) => [session.id, Object.assign(session, { number })]));
    this.readOnly = readOnly;
    this.streams = new Set();
    this.calls = [];
    this.trash = [];
    this.server = createServer((request, response) => this.#answer(request, response).catch((error) => { response.statusCode = 500; response.end(String(error)); }));
  }

  async start() {
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  stop() {
    for (const { response } of this.streams) response.end();
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Tells all streams of a session that it has grown. */
  grown(session) {
    for (const { response, id } of this.streams) {
      if (id === session.id) response.write(`id: ${session.kinds.length * 100}\nevent: appended\ndata: ${JSON.stringify({ sessionId: id, items: [], offset: 0, nextOffset: 0, subscription: 's1' })}\n\n`);
      if (!id) response.write(`event: changed\ndata: ${JSON.stringify({ added: [], updated: [this.#session(session)], removed: [], subscription: 's1' })}\n\n`);
    }
  }

  async #answer(request, response) {
    const url = new URL(request.url, 'http://x');
    response.setHeader('content-security-policy', POLICY);
    response.setHeader('cache-control', 'no-store');
    if (url.searchParams.has('token')) {
      const isRight = url.searchParams.get('token') === 'a-token-for-the-tests';
      url.searchParams.delete('token');
      response.writeHead(isRight ? 303 : 401, isRight ? { location: `${url.pathname}${url.search}#token=the-token-of-the-page` } : {});
      response.end();
      return;
    }
    if (url.pathname === '/rpc' || url.pathname === '/export' || url.pathname === '/events') {
      if (request.headers.authorization !== 'Bearer the-token-of-the-page') {
        response.writeHead(401).end();
        return;
      }
      await (url.pathname === '/rpc' ? this.#rpc(request, response) : url.pathname === '/export' ? this.#export(request, response) : this.#events(url, request, response));
      return;
    }
    const name = url.pathname.startsWith('/assets/') ? url.pathname.slice(1) : url.pathname === '/favicon.ico' ? 'favicon.svg' : 'index.html';
    const kinds = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml', html: 'text/html; charset=utf-8' };
    response.setHeader('content-type', kinds[name.split('.').pop()]);
    response.end(readFileSync(join(this.dist, name)));
  }

  #events(url, request, response) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('event: ready\ndata: {"subscription":"s1","offset":null}\n\n');
    const stream = { response, id: url.searchParams.get('sessionId') };
    this.streams.add(stream);
    request.on('close', () => this.streams.delete(stream));
  }

  /** Answers with what the check has put into `exported`: the file, and its report if it should arrive as a whole. */
  async #export(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    this.calls.push({ method: 'export', params: JSON.parse(Buffer.concat(chunks).toString()) });
    response.writeHead(200, { 'content-type': 'text/markdown; charset=utf-8', 'content-disposition': 'attachment; filename="annals-x.md"' });
    const { file, report } = this.exported;
    response.end(report ? `${file}\n${JSON.stringify(report)}\n` : file);
  }

  async #rpc(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
    this.calls.push({ method, params });
    let answer;
    try {
      answer = { jsonrpc: '2.0', id, result: this.#call(method.replace('history/', ''), params) };
    } catch (error) {
      answer = { jsonrpc: '2.0', id, error: { code: error.code ?? -32603, message: error.message } };
    }
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
  }

  #session(session) {
    return {
      id: session.id, title: session.title, archived: Boolean(session.archived), live: session.id.startsWith('11'), ...(session.writers && { writers: session.writers }), createdAt: '2026-11-01T00:00:00Z', updatedAt: new Date(Date.now() - session.number * 3_600_000).toISOString(), cwd: '/home/mia/annals',
      entrypoint: 'cli', firstPrompt: sentence(session.id.charCodeAt(3), 12), forkedFrom: null, gitBranch: 'main', messages: session.kinds.length, path: `/home/mia/.claude/projects/x/${session.id}.jsonl`, permissionMode: null, projectKey: '-home-mia-annals', projectPath: '/home/mia/annals',
      size: session.kinds.length * 1500, subagents: 0, tag: session.tag ?? null, titleSource: 'custom', version: '2.0.0',
    };
  }

  /** What is sent before and after the compaction of a session that has one. */
  #compacted(session, lastLine) {
    if (!session.compaction) return undefined;
    const message = (id, role, content, more) => ({ id: uuidOf(session.id, id), role, content, ...more });
    const before = [message(0, 'user', 'the first prompt of all'), message(1, 'assistant', 'the first answer'), message(10, 'user', 'the prompt that was kept')];
    const after = [message(11, 'user', 'SUMMARY of what was said\nthe prompt that was kept', { summary: true }), message(12, 'user', 'a file that was attached')];
    return lastLine !== undefined && lastLine <= session.compaction ? before : after;
  }

  #call(method, params) {
    const refuse = (code, message) => { throw Object.assign(new Error(message), { code }); };
    if (this.refuse) refuse(this.refuse.code, this.refuse.message);
    const session = params?.sessionId && (this.agents?.get(params.agentId) ?? this.sessions.get(params.sessionId));
    if (params?.sessionId && !session && method !== 'restore') refuse(-32002, `no session \`${params.sessionId}\``);
    const tokens = { inputTokens: 900, outputTokens: 300, cacheReadTokens: 40_000, cacheCreationTokens: 2_000 };
    const usage = (key) => ({ key, ...tokens, totalTokens: 43_200, replies: 12, costUsd: 1.25, costKind: 'calculated', models: { 'claude-test-1': { costUsd: 1.25, ...tokens } }, outputAtLeast: false, unpricedReplies: 0, sessions: 1 });
    switch (method) {
      case 'status': return { name: 'annals', version: 'test', protocolVersion: 1, readOnly: this.readOnly, roots: ['/home/mia/.claude'], home: '/home/mia/.annals', subscriptions: 0, methods: ['history/skeleton', 'history/rows', 'history/part', 'history/locate', 'history/check', 'history/search', 'history/context', 'history/file', 'history/insight', 'history/repair', 'history/lineage', 'history/copies'] };
      case 'list': return { sessions: [...this.sessions.values()].map((one) => this.#session(one)) };
      case 'session': return this.#session(session);
      case 'skeleton': return params.revision === String(session.revision) && params.from <= session.kinds.length ? session.skeleton(params.from) : session.skeleton();
      case 'rows': {
        if (params.revision !== String(session.revision)) refuse(-32013, 'the rows have changed');
        const rows = Array.from({ length: Math.max(0, Math.min(params.count, 200, session.kinds.length - params.from)) }, (_, index) => params.from + index);
        return { rows: rows.map((row) => {
          const made = session.row(row, params.open === true || (Array.isArray(params.open) && params.open.includes(row)));
          return session.isHostile && made.nodes ? { ...made, summary: '<img src=x onerror=window.hacked=7>', nodes: HOSTILE } : made;
        }) };
      }
      case 'part': {
        if (session.isHostile) return { media: 'image/svg+xml', data: Buffer.from('<svg onload="window.hacked=8"/>').toString('base64'), lines: 0 };
        const from = params.from ?? 0;
        const lines = this.partLines ?? 812;
        const count = Math.min(params.count ?? 1000, this.mostLines ?? Infinity, lines - from);
        return { nodes: [{ t: 'ansi', lines: Array.from({ length: count }, (_, index) => [`more line ${from + index}`]) }], lines, ...(from + count < lines && { next: from + count }) };
      }
      case 'locate': {
        if (params.turn) return { row: session.turns()[params.turn - 1] ?? refuse(-32002, 'no such turn'), revision: String(session.revision) };
        const row = params.line ? params.line - 1 : params.callId ? Number(params.callId.slice(1)) + (session.first ?? 0) : Number(params.uuid?.slice(-12)) + (session.first ?? 0);
        if (!(row < session.kinds.length)) refuse(-32002, 'no such entry');
        return { row, revision: String(session.revision) };
      }
      case 'turns': return { turns: session.turns().slice(0, 10_000).map((row, index) => ({ turn: index + 1, prompt: session.row(row, 'head').summary, uuid: uuidOf(session.id, session.seed(row)), errors: index % 9 === 0 ? 1 : 0, compacted: index % 99 === 98, durationMs: 138_000, toolCalls: 6, messages: 8, usage: tokens, kind: 'new_round', startedBy: 'prompt', startedAt: null, resumedAfterMs: null })) };
      case 'tools': return { calls: session.kinds.flatMap((kind, row) => (kind === 'c' ? [row] : [])).slice(0, 5000).map((row) => { const { tool, uuid, line, timestamp } = session.row(row); return { id: tool.id, name: tool.name, subject: tool.title, state: tool.state, durationMs: tool.durationMs, files: tool.file ? [tool.file] : [], uuid, line, timestamp, agentId: null, resultUuid: null, session: session.id }; }) };
      case 'files': return { files: [{ path: '/home/mia/annals/src/read.rs', edits: 7, lastEditAt: null, versions: [1, 2].map((version) => ({ version, backup: 'kept', messageId: uuidOf(session.id, 0), size: 10, time: `2026-11-01T00:0${version}:00Z` })) }] };
      case 'file': return { backup: 'kept', nodes: params.against ? [{ t: 'diff', path: params.path, added: 1, removed: 1, hunks: [{ old: 1, new: 1, lines: [{ k: '-', s: [`version ${params.against}`] }, { k: '+', s: [`version ${params.version}`] }] }] }] : [{ t: 'code', lang: 'rust', first: 1, lines: [[`whole version ${params.version}`]] }], lines: 1 };
      case 'agents': return { agents: [], total: 0 };
      case 'repair': return { session: session.id, path: 'x', applied: false, changes: [...Array.from({ length: 7 }, (_, index) => ({ line: 10 + index, uuid: `u${index}`, change: 'relink', reason: 'its parent is not in the file', code: 'parent_missing' })), { line: null, uuid: 'n', change: 'boundary', reason: 'a new entry', code: 'from_a_newer_server' }], before: { obstacle: null, sent: 3, missing: [{ uuid: 'u', line: 4 }], missingLeftOut: 41, refused: ['thinking-signature'] }, after: { obstacle: null, sent: 45, missing: [], refused: [] }, branches: [{ uuid: 'b-1', line: 5, messages: 2 }], appended: 900 };
      case 'lineage': return { relations: session.copies ?? [], total: (session.copies ?? []).length };
      case 'copies': return { groups: this.groups ?? [], problems: [] };
      case 'stats': return { changedFiles: 3, linesAdded: 1200, linesRemoved: 12, idlePauses: session.isHostile ? 0 : 2, contextTokens: session.isHostile ? null : 174_000, contextWindowTokens: session.isHostile ? null : 200_000, turns: Math.ceil(session.kinds.length / 10), compactions: 2, branches: 1, gaps: 0, problems: session.isHostile ? 2 : 0, tools: { Bash: { calls: 40, errors: 3 }, Edit: { calls: 12, errors: 0 } }, usage: tokens, activeMs: 1, lines: 1, bytes: 1, models: {}, blocks: {}, types: {}, subtypes: {}, versions: [], subagents: 0 };
      case 'usage': return { rows: params.by === 'session' ? [...this.sessions.keys()].map(usage) : Array.from({ length: 14 }, (_, index) => ({ ...usage(`2026-11-${String(index + 1).padStart(2, '0')}`), costUsd: 0.4 + (index % 5), models: { 'claude-test-1': { costUsd: 0.4 + (index % 5), ...tokens }, 'claude-test-2': { costUsd: index % 3, ...tokens } } })), rowCount: 14, total: usage('total'), problems: [], ...(params.why && { replyCount: 1_200, replies: [{ ...usage('x'), path: '/x', line: 31, lines: 1, copies: 1, session: [...this.sessions.keys()][0], agentId: null, model: 'claude-test-1', timestamp: '2026-11-01T00:05:00Z' }] }) };
      case 'context': return { tokens: 87_000, windowTokens: 200_000, filledPercent: 43.5, peakTokens: 180_000, restTokens: 9_000, parts: [{ kind: 'tool_result', name: 'Bash', estimatedTokens: 40_000 }, { kind: 'text', estimatedTokens: 12_000 }] };
      case 'insight': return { sessions: 3, turns: 120, activeMs: 7_200_000, cacheHitPercent: 93.2, agents: {}, branches: {}, commands: { '/compact': 4 }, skills: {}, mcpServers: {}, days: [], errors: [{ class: 'file_not_found', count: 9, examples: [{ session: [...this.sessions.keys()][0], uuid: null, agentId: null, text: 'no such file', timestamp: null, tool: 'Read' }] }], files: { '/home/mia/annals/src/read.rs': { edits: 7, added: 86, removed: 12, sessions: 1 } }, hours: Array.from({ length: 7 }, (_, day) => Array.from({ length: 24 }, (_, hour) => (day * hour) % 5)), models: {}, problems: [], rowsLeftOut: 0, timezone: 'UTC', tools: { Bash: { calls: 812, errors: 40, stopped: 1, timed: 800, totalMs: 900_000 } }, usage: tokens, errorClassesVersion: 1 };
      case 'trash': return { sessions: this.trash.map((one) => ({ session: one.id, entry: 'e1', title: one.title, deletedAt: new Date().toISOString(), size: 1000, path: 'x', project: null })) };
      case 'check': return { findings: params.sessionId !== [...this.sessions.keys()][0] ? [] : [{ session: params.sessionId, path: 'x', line: 8112, problem: 'the line is cut off', code: 'torn', severity: 'error', effect: '2 records were recovered', repairable: true, help: null }] };
      case 'search': {
        const ids = params.sessions ?? [...this.sessions.keys()].slice(0, 3);
        const hits = ids.flatMap((id) => [3, 10, 20, 30].map((row) => ({ session: id, uuid: uuidOf(id, row), title: this.sessions.get(id).title, field: row === 3 ? 'output' : 'prompt', snippet: `the ${params.query} is here 你好`, matches: [[4, 4 + params.query.length]], inSession: 4, projectPath: '/home/mia/annals', role: 'user', score: 1, timestamp: new Date(Date.UTC(2026, 10, 1) + row * 9000).toISOString(), turn: 1 + Math.floor(row / 10), ...(row === 3 && { tool: 'Bash' }) })));
        for (let agent = 0; agent < (this.agentHits ?? 0); agent++) hits.push({ ...hits[0], uuid: uuidOf(ids[0], 500 + agent), agentId: 'a1' });
        return { hits, total: hits.length, sessions: ids.length, ranking: 'all' };
      }
      case 'load': return { messages: this.#compacted(session, params.lastLine) ?? session.turns().filter((row) => row < (params.lastLine ?? Infinity)).slice(0, 50).map((row) => ({ id: uuidOf(session.id, row), role: 'user', content: sentence(row, 30) })) };
      case 'read': return { items: [{ uuid: params.around, type: 'user', parts: ['<b>raw</b>'] }], offset: 0, start: 0, total: 1 };
      case 'rename': session.title = params.title; return { done: 'rename', dryRun: false, path: '', session: session.id };
      case 'tag': session.tag = params.tag; return { done: 'tag', dryRun: false, path: '', session: session.id };
      case 'archive': case 'unarchive': session.archived = method === 'archive'; return { done: method, dryRun: false, path: '', session: session.id };
      case 'delete': this.sessions.delete(session.id); this.trash.push(session); return { deleted: true };
      case 'restore': { const one = this.trash.find(({ id }) => id === params.sessionId); this.trash = this.trash.filter((other) => other !== one); this.sessions.set(one.id, one); return { done: 'restore', dryRun: false, path: '', session: one.id }; }
      default: return refuse(-32601, `no method \`history/${method}\``);
    }
  }
}

/** Returns the sizes of the built scripts and styles. */
export function assets(dist) {
  return readdirSync(join(dist, 'assets')).map((name) => [name, readFileSync(join(dist, 'assets', name))]);
}
