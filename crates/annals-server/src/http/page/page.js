// The page: sessions on the left, one of them on the right, both updated live.
// The text of transcripts is not trusted: it is inserted as text and never parsed as HTML (invariant 21).

const $ = (id) => document.getElementById(id);
const LIST_PAGE_SIZE = 100; // sessions that are loaded at once
const ITEMS_PAGE_SIZE = 200; // items of a session that are loaded at once
const MAX_CHARACTERS = 20_000; // of a text that are shown before the user asks for all of it
const MAX_DEPTH = 60; // nested levels of a value that are shown

/** Creates an element. Children that are strings become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

// ── Access ───────────────────────────────────────────────────────────────────────────────────────────────────────

// The link that the server prints redirects to this page with a token in the fragment of the URL. The page keeps it in
// `sessionStorage`, which belongs to this tab and to this origin, port included; a cookie would be sent to all ports.
const TOKEN = 'annals-token';
const NO_TOKEN = new Error('This tab has no access to the sessions. Open the link that `annals serve` printed; it ends with a token. '
  + 'Every new tab is opened with it. If you chose the token yourself, a bookmark of that link keeps working.');
const OLD_TOKEN = new Error('The server was started anew: open the link that it printed.');

/** Moves the token from the URL to the storage. Returns whether there was one. */
function takeToken() {
  const [, token] = /^#token=([\w~.-]+)$/.exec(location.hash) ?? [];
  if (!token) return false;
  sessionStorage.setItem(TOKEN, token);
  history.replaceState(null, '', location.pathname + location.search);
  return true;
}

const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

/** Sends an HTTP request with the token. */
async function fetchWithToken(path, options) {
  const token = sessionStorage.getItem(TOKEN);
  if (!token) throw NO_TOKEN;
  const answer = await fetch(path, { ...options, headers: { ...options.headers, Authorization: `Bearer ${token}` } });
  if (answer.status === 401) throw OLD_TOKEN;
  return answer;
}

let lastId = 0;
/** Sends a JSON-RPC request and returns its result. */
async function ask(method, params) {
  const answer = await fetchWithToken('/rpc', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params }),
  });
  if (!answer.ok) throw new Error(`The server answers ${answer.status}.`);
  const { result, error } = await answer.json();
  if (error) throw Object.assign(new Error(error.message), { code: error.code });
  return result;
}

const NO_SESSION = new Error('There is no such session.');
const NOT_FOUND_CODES = [-32002, -32602]; // no session has this id, or it is not a valid id

function showError(error) {
  $('trouble').textContent = error ? error.message : '';
  $('trouble').hidden = !error;
}

// ── Times and names ───────────────────────────────────────────────────────────────────────────────────

const ago = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const UNITS = [['year', 31_536_000], ['month', 2_592_000], ['week', 604_800], ['day', 86_400], ['hour', 3600], ['minute', 60]];

function when(time) {
  if (!time) return '';
  const seconds = (new Date(time) - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1];
  return ago.format(Math.round(seconds / size), unit);
}

const clock = (time) => (time ? new Date(time).toLocaleString() : '');
const text = (value) => (typeof value === 'string' ? value : value?.bytes ? '(not UTF-8)' : '');
const nameOf = (path) => text(path).split(/[\\/]/).filter(Boolean).pop() ?? '';

// ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────────

const list = { sessions: [], cursor: null, requests: 0 };

/** Loads as many sessions as are shown, or with `more` the ones after them. Answers to earlier requests are ignored. */
async function load(more) {
  const request = ++list.requests;
  const params = {
    query: $('query').value.trim() || null,
    workspacePath: $('project').value || null,
    archived: $('archived').checked ? 'include' : 'exclude',
  };
  if (more) Object.assign(params, { cursor: list.cursor, limit: LIST_PAGE_SIZE });
  else params.limit = Math.max(LIST_PAGE_SIZE, Math.min(list.sessions.length, 1000));
  try {
    const result = await ask('history/list', params);
    if (request !== list.requests) return;
    list.sessions = more ? list.sessions.concat(result.sessions) : result.sessions;
    list.cursor = result.nextCursor ?? null;
    showList();
  } catch (error) {
    showError(error);
  }
}

function showList() {
  const focused = document.activeElement?.dataset?.id;
  $('sessions').replaceChildren(...list.sessions.map((session) => {
    const facts = [nameOf(session.projectPath ?? session.cwd), when(session.updatedAt)].filter(Boolean).join(' · ');
    const link = make('a', { href: `#${session.id}`, 'data-id': session.id, title: text(session.projectPath) },
      make('strong', { dir: 'auto' }, text(session.title) || 'Untitled'),
      make('small', {}, session.live ? make('i', { class: 'live', title: 'open in Claude Code' }) : null,
        session.archived ? `archived · ${facts}` : facts));
    if (session.id === open.id) link.setAttribute('aria-current', 'true');
    return make('li', {}, link);
  }));
  $('none').hidden = list.sessions.length > 0;
  $('none').textContent = $('query').value.trim() || $('project').value ? 'No sessions match.' : 'There are no sessions yet.';
  $('more').hidden = !list.cursor;
  if (focused) document.querySelector(`#sessions a[data-id="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  if (open.id) showFacts();
}

// ── Search ───────────────────────────────────────────────────────────────────────────────────────────────────────

const HITS_PAGE_SIZE = 20; // sessions with hits that are loaded at once
const MAX_SEARCH_MS = 5000; // a search that takes longer shows what it has found
const WRONG_QUERY_CODE = -32602;
const NO_SEARCH_CODE = -32014; // the server was built without search
const FIELDS = {
  prompt: 'You', reply: 'Claude', thinking: 'Thinking', input: 'Call', output: 'Result', title: 'Title', summary: 'Summary',
  notification: 'Notice',
};
const found = { hits: [], cursor: null, requests: 0 };

/** Searches messages for the words in the box, or with `more` loads the next hits. Answers to earlier requests are ignored. */
async function search(more) {
  const request = ++found.requests;
  const query = $('query').value.trim();
  if (!query) {
    $('found').hidden = true;
    return;
  }
  const params = {
    query, workspacePath: $('project').value || null, limit: HITS_PAGE_SIZE, snippetWidth: 120, maxTimeMs: MAX_SEARCH_MS,
  };
  // The server indexes what is new by itself.
  params.update = false;
  if (more) params.cursor = found.cursor;
  try {
    const result = await ask('history/search', params);
    if (request !== found.requests) return;
    found.hits = more ? found.hits.concat(result.hits) : result.hits;
    found.cursor = result.nextCursor ?? null;
    showHits(result);
  } catch (error) {
    if (request !== found.requests) return;
    Object.assign(found, { hits: [], cursor: null });
    // A query that is typed halfway may be wrong.
    if (error.code === WRONG_QUERY_CODE) showHits({ total: 0, sessions: 0, notices: [error.message] });
    else if (error.code !== NO_SEARCH_CODE) showError(error);
  }
}

function showHits(result) {
  const many = (count, word, words) => `${count.toLocaleString()} ${count === 1 ? word : words}`;
  const atLeast = result.cut ? 'At least ' : '';
  $('found').hidden = false;
  $('found-title').textContent = result.total === 0 ? 'No messages match.'
    : `${atLeast}${many(result.total, 'match', 'matches')} in ${many(result.sessions, 'session', 'sessions')}`;
  const hints = [...result.notices ?? []];
  for (const { word, corrections } of result.corrections ?? []) hints.push(`No message has “${word}”. Did you mean ${corrections.join(', ')}?`);
  if (result.ranking === 'newest') hints.push('Only the newest of them were ranked.');
  if (result.behind) hints.push(`Still being indexed: ${many(Math.ceil(result.behind.bytes / 1e6), 'MB', 'MB')}.`);
  $('found-hint').textContent = hints.join(' ');
  $('found-hint').hidden = hints.length === 0;
  $('hits').replaceChildren(...found.hits.map(renderHit));
  $('more-hits').hidden = !found.cursor;
}

/** Renders a hit as a link to its message. */
function renderHit(hit, index) {
  const isFirst = index === 0 || found.hits[index - 1].session !== hit.session;
  const facts = [hit.tool ?? (hit.agentId ? 'Agent' : null), FIELDS[hit.field] ?? hit.field, when(hit.timestamp)].filter(Boolean).join(' · ');
  const place = [hit.session, hit.uuid, hit.agentId].map((part) => encodeURIComponent(part ?? '')).join('/');
  return make('li', {}, make('a', { href: `#${place}` },
    isFirst ? make('strong', { dir: 'auto' }, text(hit.title) || 'Untitled') : null,
    make('span', { class: 'snippet' }, ...marked(hit)),
    make('small', {}, hit.error ? `${facts} · error` : facts)));
}

/** Returns the snippet of a hit as text, with elements around what matches. */
function marked({ snippet, matches }) {
  const characters = Array.from(snippet);
  const piece = (from, to) => characters.slice(from, to).join('');
  const parts = [];
  let at = 0;
  for (const [start, end] of matches) {
    parts.push(piece(at, start), make('mark', {}, piece(start, end)));
    at = end;
  }
  return [...parts, piece(at)];
}

async function loadProjects() {
  try {
    const { projects } = await ask('history/projects', {});
    const options = projects.filter((project) => typeof project.path === 'string').map((project) =>
      make('option', { value: project.path }, `${nameOf(project.path)} (${project.sessions})`));
    $('project').replaceChildren($('project').options[0], ...options);
  } catch (error) {
    showError(error);
  }
}

// ── One session ──────────────────────────────────────────────────────────────────────────────────────────────────

const open = { id: null, agent: null, session: null, offset: null, before: null, calls: new Map(), results: new Map() };

/** Shows a session from its end, or around the message with a uuid. With an agent, its conversation is shown. */
async function show(id, uuid = null, agent = null) {
  Object.assign(open, { id, agent, session: null, offset: null, before: null, calls: new Map(), results: new Map() });
  follow();
  showError(null);
  if (id) showNotice(null);
  document.body.classList.toggle('reading', Boolean(id));
  $('history').replaceChildren();
  $('about').hidden = $('earlier').hidden = $('newest').hidden = true;
  $('hint').hidden = Boolean(id);
  document.title = 'annals';
  for (const link of document.querySelectorAll('#sessions a')) {
    if (link.dataset.id === id) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
  if (!id) return;
  showFacts();
  try {
    const from = uuid ? { around: uuid } : { last: true };
    const result = await ask('history/read', { sessionId: id, ...from, limit: ITEMS_PAGE_SIZE, ...named() });
    if (open.id !== id || open.agent !== agent) return;
    open.offset = result.offset;
    open.before = result.previousCursor ?? null;
    $('history').append(...render(result.items));
    $('earlier').hidden = !open.before;
    if (uuid) toMessage(uuid, result.items);
    else toEnd();
    // If something follows the page, new entries would not stand behind their predecessors.
    if (result.nextCursor) showRest(id);
    else follow();
  } catch (error) {
    if (open.id === id) showError(NOT_FOUND_CODES.includes(error.code) ? NO_SESSION : error);
  }
}

/** Scrolls to a message of a page and marks it. The result of a call has no article: it is shown with its call. */
function toMessage(uuid, items) {
  const article = document.querySelector(`#history article[data-uuid="${CSS.escape(uuid)}"]`);
  const parts = items.find((item) => item.uuid === uuid)?.parts ?? [];
  const call = parts.map((part) => open.calls.get(part?.tool_use_id)?.element).find(Boolean);
  const target = article ?? call?.closest('article');
  if (!target) return;
  target.classList.add('opened');
  (call ? [call] : target.querySelectorAll('details')).forEach((details) => { details.open = true; });
  (call ?? target).scrollIntoView({ block: 'center' });
}

/** Offers the rest of a session of which a page in the middle is shown. */
function showRest(id) {
  const rest = button('Show the end of the session', () => { rest.remove(); show(id, null, open.agent); });
  $('history').append(rest);
}

/** Returns the parameters that select the open transcript. */
function named() {
  return { ...workspace(open.session), ...(open.agent ? { agentId: open.agent } : {}) };
}

/** Returns the parameter that selects a session among several with its id: the path of its transcript. */
function workspace(session) {
  return typeof session?.path === 'string' ? { workspacePath: session.path } : {};
}

/** Returns whether a session of a list is the open one: several may have its id. */
function isOpen(session) {
  return session.id === open.id && (!open.session || text(session.path) === text(open.session.path));
}

function showFacts() {
  // A filtered list may not contain the open session.
  open.session = list.sessions.find(isOpen) ?? open.session;
  const session = open.session;
  const title = text(session?.title) || 'Untitled';
  $('about').hidden = false;
  $('title').textContent = session ? title : open.id;
  document.title = session ? `${title} · annals` : 'annals';
  $('facts').textContent = session
    ? [text(session.projectPath), text(session.gitBranch), clock(session.updatedAt)].filter(Boolean).join(' · ') : '';
  showActions();
}

// ── Changes ──────────────────────────────────────────────────────────────────────────────────────────────────────

// Until the server has said that it accepts changes, the page has no buttons for them.
const server = { acceptsChanges: false };

/** Asks the server which folders it reads, and whether it accepts changes. */
async function loadStatus() {
  try {
    const { readOnly, roots } = await ask('history/status', {});
    server.acceptsChanges = !readOnly;
    const folders = roots.map(text).join(', ');
    $('source').textContent = `These sessions are files on the disk of the computer that runs annals, in ${folders}.`;
    showActions();
  } catch (error) {
    showError(error);
  }
}

/** Shows the buttons that change the open session. */
function showActions() {
  const isShown = server.acceptsChanges && Boolean(open.session);
  $('actions').hidden = !isShown;
  const { archived } = open.session ?? {};
  if (!isShown || $('actions').dataset.state === `${open.id} ${archived}`) return;
  $('actions').dataset.state = `${open.id} ${archived}`;
  $('actions').replaceChildren(
    button(archived ? 'Unarchive' : 'Archive', () => setArchived(!archived)),
    button('Delete', deleteSession));
}

function button(words, onClick) {
  const element = make('button', {}, words);
  element.addEventListener('click', onClick);
  return element;
}

/** Asks the user a question. Returns whether the user chose the button with these words. */
function confirmed(question, words) {
  const dialog = $('confirm');
  $('question').textContent = question;
  $('proceed').textContent = words;
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'proceed'), { once: true });
  });
}

const quoted = (session) => `“${text(session.title) || 'Untitled'}”`;

async function setArchived(archived) {
  const { id, session } = open;
  const question = archived
    ? `Archive ${quoted(session)}? Lists of Claude Code and annals then leave it out. Nothing is deleted.`
    : `Take ${quoted(session)} out of the archive?`;
  if (!await confirmed(question, archived ? 'Archive' : 'Unarchive')) return;
  try {
    await ask(archived ? 'history/archive' : 'history/unarchive', { sessionId: id, ...workspace(session) });
    if (open.id === id) open.session = { ...session, archived };
    load();
  } catch (error) {
    showError(error);
  }
}

async function deleteSession() {
  const { id, session } = open;
  const question = `Move ${quoted(session)} with all its files to the trash of annals? It can be restored from there.`;
  if (!await confirmed(question, 'Move to the trash')) return;
  try {
    await ask('history/delete', { sessionId: id, ...workspace(session) });
    location.hash = '';
    await load();
    showNotice(`${quoted(session)} is in the trash.`, button('Undo', () => restore(id)));
  } catch (error) {
    showError(error);
  }
}

async function restore(id) {
  try {
    await ask('history/restore', { sessionId: id });
    showNotice(null);
    await load();
    location.hash = `#${id}`;
  } catch (error) {
    showError(error);
  }
}

/** Shows what was done, with a button; without words, it shows nothing. */
function showNotice(words, ...buttons) {
  $('notice').replaceChildren(words ?? '', ...buttons.flatMap((button) => [' ', button]));
  $('notice').hidden = !words;
}

async function showEarlier() {
  const id = open.id;
  try {
    const result = await ask('history/read', { sessionId: id, cursor: open.before, limit: ITEMS_PAGE_SIZE, ...named() });
    if (open.id !== id) return;
    open.before = result.previousCursor ?? null;
    const page = document.querySelector('main');
    const fromEnd = page.scrollHeight - page.scrollTop;
    $('history').prepend(...render(result.items));
    $('earlier').hidden = !open.before;
    page.scrollTop = page.scrollHeight - fromEnd;
  } catch (error) {
    showError(error);
  }
}

function render(items) {
  return items.map(renderItem).filter(Boolean);
}

/** Adds an item at the end. If the entry is shown already, the item replaces it where it is. */
function appendItem(item) {
  const rendered = renderItem(item);
  if (!rendered) return;
  const shown = item.uuid && $('history').querySelector(`[data-uuid="${CSS.escape(item.uuid)}"]`);
  if (shown) shown.replaceWith(rendered);
  else $('history').append(rendered);
}

function renderItem(item) {
  if (item.kind === 'branch') return note(`${item.sidechain ? 'A subagent' : 'An abandoned branch'}: ${item.entries === 1 ? '1 entry' : `${item.entries ?? 'some'} entries`}.`);
  if (item.kind === 'gap') return note('Entries are missing here.');
  if (item.kind === 'root') return item.subtype === 'context_cleared' ? note('The context was cleared here.') : null;
  if (item.kind === 'compaction') return note(`Compacted${item.compaction?.trigger ? ` (${item.compaction.trigger})` : ''}.`);
  if (item.problem) return note(`A damaged line: ${item.problem}.`);
  if (item.visibility === 'context' || item.visibility === 'hidden') return null;
  if (item.inputs?.length === 1 && item.inputs[0].kind === 'interrupt') return note('Interrupted by the user.');
  const inputs = item.inputs ?? [];
  const others = inputs.length > 0 ? item.parts.filter((part) => part?.type && !['text', 'queued_command'].includes(part.type) && !isHook(part)) : item.parts;
  const parts = [...inputs.map(renderInput), ...others.map((part) => renderPart(part, item))].filter(Boolean);
  if (parts.length === 0) return null;
  const role = isTyped(item) ? item.role : null;
  // Items from the event stream do not say whether they are on an abandoned branch: their `live` is null.
  const isAbandoned = item.live === false && !item.sidechain;
  const classes = [item.sidechain && 'aside', isAbandoned && 'left'].filter(Boolean).join(' ');
  return make('article', { 'data-role': role ?? 'other', 'data-uuid': item.uuid, class: classes || null },
    make('header', {}, make('b', {}, speaker(item)), isAbandoned ? make('em', {}, 'abandoned branch') : null,
      make('time', { datetime: item.timestamp, title: clock(item.timestamp) }, when(item.timestamp))),
    ...parts);
}

/** Returns whether a part is the payload of a hook, whose text is shown as an input. */
const isHook = (part) => part.type.startsWith('hook_');

/** Returns the name of the speaker. In the conversation of a subagent, the user is the agent that started it. */
function speaker(item) {
  const { role, type, sidechain } = item;
  if (role === 'user' && !isTyped(item)) return item.inputs.every(({ kind }) => kind === 'output') ? 'Output' : 'Added by Claude Code';
  if (role === 'user') return sidechain ? 'To the agent' : 'You';
  if (role === 'assistant') return sidechain ? 'The agent' : 'Claude';
  return type ?? 'entry';
}

/** Returns whether the user has typed at least a part of the item. */
function isTyped({ inputs }) {
  return !inputs?.length || inputs.some(({ kind }) => ['prompt', 'queued', 'command', 'bash'].includes(kind));
}

const ANSI_COLOURS = /\u001b\[[0-9;]*[A-Za-z]/g;
const INPUT_LABELS = {
  compact_summary: 'Summary of what was compacted', skill: 'Skill', ide_selection: 'Selection in the editor',
  ide_opened_file: 'File opened in the editor', task_notification: 'Notification of a task', hook: 'Hook',
};

/** Renders an input of an item: what the user typed, or what Claude Code has added. */
function renderInput({ kind, text: words, command, teammateId, summary }) {
  switch (kind) {
    case 'prompt':
    case 'queued':
      return long('div', words);
    case 'command':
      return long('div', `${command ?? '/?'} ${words}`.trim());
    case 'bash':
      return long('div', `! ${words}`);
    case 'output':
      return words.trim() ? fold('other', ['Output', make('span', {}, subjectOf(words))], () => [long('pre', words.replace(ANSI_COLOURS, ''))]) : null;
    case 'interrupt':
      return note('Interrupted by the user.');
    case 'teammate':
      return fold('other', [`Message of ${teammateId || 'another agent'}`, make('span', {}, summary ?? '')], () => [long('pre', words)]);
    default:
      return fold('other', [INPUT_LABELS[kind] ?? 'Added by Claude Code'], () => [long('pre', words)]);
  }
}

function note(words) {
  return make('p', { class: 'note' }, words);
}

function renderPart(part, item) {
  switch (part?.type) {
    case 'text':
      return text(part.text).trim() ? long('div', text(part.text)) : null;
    case 'thinking':
      return text(part.thinking).trim() ? fold('thinking', ['Thinking'], () => [long('div', text(part.thinking))]) : null;
    case 'tool_use':
      return renderCall(part, item);
    case 'tool_result':
      return renderResult(part);
    case 'image':
      return renderImage(part) ?? note('An image.');
    case 'cut':
      return fold('other', [`${part.of ?? 'Something'}, cut: ${part.bytes} bytes`], () => [long('pre', text(part.beginning))]);
    default:
      return fold('other', [item.subtype ?? item.type ?? part?.type ?? 'something else'], () => [long('pre', pretty(part))]);
  }
}

/** Returns the first line of a text, shortened. */
const subjectOf = (words) => words.replace(ANSI_COLOURS, '').trim().split('\n')[0].slice(0, 200);

/** Returns the argument of a call that says best what it does, shortened to one line. */
function subject(input) {
  const value = ['command', 'file_path', 'path', 'pattern', 'query', 'url', 'description', 'prompt']
    .map((key) => input?.[key]).find((value) => typeof value === 'string');
  return (value ?? '').split('\n')[0].slice(0, 200);
}

function renderCall(part, item) {
  const result = open.results.get(part.id);
  const state = result ? stateOf(result) : item.tool?.id === part.id ? item.tool.state : 'pending';
  const call = { result, badge: make('em', {}, state) };
  call.element = fold('tool', [make('b', {}, text(part.name)), make('span', {}, subject(part.input)), call.badge], () => [
    long('pre', pretty(part.input)),
    ...(call.result ? resultBlocks(call.result) : []),
  ]);
  call.element.dataset.state = state;
  open.calls.set(part.id, call);
  return call.element;
}

/** Adds a result to its call. If the call is on a page that is not loaded yet, it finds the result later. */
function renderResult(part) {
  open.results.set(part.tool_use_id, part);
  const call = open.calls.get(part.tool_use_id);
  if (!call) return null;
  call.result = part;
  if (call.element.dataset.state === 'pending') {
    call.element.dataset.state = call.badge.textContent = stateOf(part);
  }
  if (call.element.open) call.element.append(...resultBlocks(part));
  return null;
}

const stateOf = (result) => (result.is_error ? 'error' : 'ok');

function resultBlocks(result) {
  const blocks = Array.isArray(result.content) ? result.content : [{ type: 'text', text: result.content }];
  return blocks.map((block) => {
    if (block?.type === 'text') return long('pre', text(block.text));
    return (block?.type === 'image' && renderImage(block)) || long('pre', pretty(block));
  });
}

function renderImage(part) {
  const { media_type: kind, data, type } = part.source ?? {};
  if (type !== 'base64' || !/^image\/(png|jpeg|gif|webp)$/.test(kind) || typeof data !== 'string') return null;
  return make('img', { src: `data:${kind};base64,${data}`, alt: 'An image', loading: 'lazy' });
}

/** Returns a value as indented JSON. Levels below `MAX_DEPTH` are left out, because indentation grows with each. */
function pretty(value) {
  const write = (value, margin) => {
    if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? '';
    const isList = Array.isArray(value);
    const [first, last] = isList ? '[]' : '{}';
    const inner = `${margin}  `;
    if (inner.length > 2 * MAX_DEPTH) return `${first}…${last}`;
    const lines = Object.entries(value).map(([key, value]) =>
      `${inner}${isList ? '' : `${JSON.stringify(key)}: `}${write(value, inner)}`);
    return lines.length > 0 ? `${first}\n${lines.join(',\n')}\n${margin}${last}` : first + last;
  };
  return typeof value === 'string' ? value : write(value, '');
}

/** Creates a folded element, whose content is created when it is first opened. */
function fold(kind, summary, content) {
  const element = make('details', { class: kind }, make('summary', {}, ...summary));
  element.addEventListener('toggle', () => element.append(...content()), { once: true });
  return element;
}

/** Creates an element with a text. A long text is cut, with a button that shows all of it. */
function long(tag, words) {
  const element = make(tag, { class: 'text' }, words.slice(0, MAX_CHARACTERS));
  if (words.length <= MAX_CHARACTERS) return element;
  const all = make('button', {}, `Show all ${words.length.toLocaleString()} characters`);
  all.addEventListener('click', () => element.replaceChildren(words));
  element.append('…\n', all);
  return element;
}

// ── Live ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Calls `handlers` with the events of a stream until it is closed: each event calls the handler of its name, and `open` and
 * `broken` are called when the connection is made and lost. `EventSource` would do this, but it cannot send a token. Like
 * `EventSource`, this reconnects after a while with the id of the last event in `Last-Event-ID`.
 */
function listen(path, handlers) {
  const abort = new AbortController();
  const run = async () => {
    let last = null;
    while (!abort.signal.aborted) {
      let pause = 1000;
      try {
        const headers = last === null ? {} : { 'Last-Event-ID': last };
        const answer = await fetchWithToken(path, { headers, signal: abort.signal });
        if (answer.ok) {
          handlers.open?.();
          await eachEvent(answer.body, (event) => {
            last = event.id ?? last;
            if (!abort.signal.aborted) handlers[event.name]?.(event);
          });
        } else {
          pause = 3000;
        }
      } catch (error) {
        if (error === NO_TOKEN || error === OLD_TOKEN) return showNoAccess(error);
      }
      if (abort.signal.aborted) return;
      handlers.broken?.();
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  };
  run();
  return { close: () => abort.abort() };
}

/** Reads events from a body until it ends. */
async function eachEvent(body, handle) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    // The two line ends behind an event may arrive in two chunks, so the search includes the last character of the old text.
    let from = Math.max(0, text.length - 1);
    text += value;
    for (let end; (end = text.indexOf('\n\n', from)) >= 0; from = 0) {
      handle(readEvent(text.slice(0, end)));
      text = text.slice(end + 2);
    }
  }
}

/** Reads the fields of an event. The server writes one line for each. */
function readEvent(text) {
  const fields = new Map(text.split('\n').map((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)];
  }));
  return { id: fields.get('id') ?? null, name: fields.get('event'), data: fields.get('data') };
}

let allSessionsStream = null;
let sessionStream = null;

/** Follows all sessions. Each connection loads the list again, because changes without a connection are not reported. */
function followAll() {
  allSessionsStream?.close();
  let waiting = null;
  allSessionsStream = listen('/events', {
    ready: () => load(),
    changed: (event) => {
      // A filtered list may not contain the open session.
      const { added, updated } = JSON.parse(event.data);
      open.session = [...added, ...updated].find(isOpen) ?? open.session;
      waiting ??= setTimeout(() => { waiting = null; load(); }, 300);
    },
    open: () => showStatus('on', 'live'),
    broken: () => showStatus('off', 'reconnecting'),
  });
}

/** Follows the session that is shown, from the offset up to which it was loaded. */
function follow() {
  sessionStream?.close();
  sessionStream = null;
  if (!open.id || open.offset === null || document.hidden) return;
  const query = new URLSearchParams({ sessionId: open.id, offset: open.offset, ...named() });
  sessionStream = listen(`/events?${query}`, {
    appended: (event) => {
      const isAtEnd = atEnd();
      open.offset = Number(event.id);
      JSON.parse(event.data).items.forEach(appendItem);
      if (isAtEnd) toEnd();
      else $('newest').hidden = false;
    },
    reset: (event) => {
      Object.assign(open, { offset: 0, before: null, calls: new Map(), results: new Map() });
      $('earlier').hidden = true;
      $('history').replaceChildren(...(JSON.parse(event.data).gone ? [note('This session is gone.')] : []));
    },
  });
}

/** Shows that the tab has no access, and how to get it. */
function showNoAccess(error) {
  showStatus('off', 'no access');
  showError(error);
  $('hint').hidden = true;
}

function showStatus(state, words) {
  $('link').dataset.state = state;
  $('link').textContent = words;
}

const pane = document.querySelector('main');
const atEnd = () => pane.scrollHeight - pane.scrollTop - pane.clientHeight < 80;
function toEnd() {
  pane.scrollTop = pane.scrollHeight;
  $('newest').hidden = true;
}

// ── Input ────────────────────────────────────────────────────────────────────────────────────────────────────────

let typing = null;
$('query').addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(() => { load(); search(); }, 150);
});
$('project').addEventListener('change', () => { load(); search(); });
$('archived').addEventListener('change', () => load());
$('cancel').addEventListener('click', () => $('confirm').close());
$('proceed').addEventListener('click', () => $('confirm').close('proceed'));
$('more').addEventListener('click', () => load(true));
$('more-hits').addEventListener('click', () => search(true));
$('earlier').addEventListener('click', showEarlier);
$('newest').addEventListener('click', toEnd);
pane.addEventListener('scroll', () => { if (atEnd()) $('newest').hidden = true; }, { passive: true });

document.addEventListener('keydown', (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
  const isTyping = event.target.matches('input, select');
  if (event.key === '/' && !isTyping) {
    $('query').select();
    event.preventDefault();
  } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && event.target.matches('#query, nav a')) {
    const links = [...document.querySelectorAll('nav a')];
    const next = links.indexOf(event.target) + (event.key === 'ArrowDown' ? 1 : -1);
    (links[next] ?? (next < 0 ? $('query') : null))?.focus();
    event.preventDefault();
  } else if (event.key === 'Escape' && event.target === $('query')) {
    $('query').value = '';
    load();
    search();
  }
});

// Browsers limit the connections to one server, so a hidden page closes its streams.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    allSessionsStream?.close();
    sessionStream?.close();
  } else {
    followAll();
    follow();
  }
});

/** Shows the session that the fragment of the URL names. */
function go() {
  if (takeToken()) return start();
  if (!hasToken()) return showNoAccess(NO_TOKEN);
  try {
    const [id, uuid, agent] = location.hash.slice(1).split('/').map(decodeURIComponent);
    show(id || null, uuid || null, agent || null);
  } catch {
    show(null);
    showError(NO_SESSION);
  }
}

function start() {
  if (!hasToken()) return showNoAccess(NO_TOKEN);
  followAll();
  loadProjects();
  loadStatus();
  go();
}

addEventListener('hashchange', go);
takeToken();
start();
