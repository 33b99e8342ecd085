/** The address of the page is its state: which place is shown, of which session, and at which record. */
import { signal } from '@preact/signals';

export const LEVELS = ['read', 'work', 'model', 'raw'] as const;
export type Level = (typeof LEVELS)[number];

/** What is shown over a conversation: a compaction, a branch or a file, and which one; or an export, and its format. */
export interface Sheet { kind: 'compaction' | 'branch' | 'file' | 'export'; of: string }

/** What stands beside a conversation, and which one: another session, a subagent of this one, or what is else shown over it. A session without an id is to be chosen. */
export interface Beside { kind: 'session' | 'agent' | 'compaction' | 'branch' | 'file'; of: string }

export type Route =
  | { place: 'sessions'; query: Record<string, string> }
  | { place: 'conversation'; session: string; agent?: string; workspace?: string; level: Level; record?: string; find?: string; until?: number; sheet?: Sheet; beside?: Beside }
  | { place: 'search'; query: Record<string, string> }
  | { place: 'usage'; query: Record<string, string> }
  | { place: 'health'; query: Record<string, string> };

/** Reads an address. Everything unknown is the list of sessions. */
export function parse(url: URL): Route {
  const [, place, session] = url.pathname.split('/');
  const query = Object.fromEntries(url.searchParams);
  if (place === 's' && session) {
    const level = LEVELS.find((level) => level === query.view) ?? 'work';
    const record = url.hash ? decode(url.hash.slice(1)) : undefined;
    return {
      place: 'conversation', session: decode(session), level,
      ...(query.agent && { agent: query.agent }), ...(query.in && { workspace: query.in }),
      ...(record && { record }), ...(query.find && { find: query.find }),
      ...(/^\d{1,12}$/.test(query.until ?? '') && { until: Number(query.until) }), ...sheetIn(query), ...besideIn(query.beside),
    };
  }
  if (place === 'search' || place === 'usage' || place === 'health') return { place, query };
  return { place: 'sessions', query };
}

function sheetIn(query: Record<string, string>): { sheet?: Sheet } {
  for (const kind of ['compaction', 'branch', 'file', 'export'] as const) if (query[kind]) return { sheet: { kind, of: query[kind] } };
  return {};
}

function besideIn(value: string | undefined): { beside?: Beside } {
  const [, kind, of] = /^(session|agent|compaction|branch|file):(.*)$/s.exec(value ?? '') ?? [];
  return kind ? { beside: { kind: kind as Beside['kind'], of: of! } } : {};
}

/** Writes an address: the inverse of `parse`. */
export function format(route: Route): string {
  if (route.place !== 'conversation') {
    const query = new URLSearchParams(Object.entries(route.query).filter(([, value]) => value !== ''));
    return `/${route.place === 'sessions' ? '' : route.place}${query.size > 0 ? `?${query}` : ''}`;
  }
  const { session, agent, workspace, level, record, find, until, sheet, beside } = route;
  const query = new URLSearchParams();
  if (agent) query.set('agent', agent);
  if (workspace) query.set('in', workspace);
  if (level !== 'work') query.set('view', level);
  if (find) query.set('find', find);
  if (until) query.set('until', String(until));
  if (sheet) query.set(sheet.kind, sheet.of);
  if (beside) query.set('beside', `${beside.kind}:${beside.of}`);
  const hash = record ? `#${encodeURIComponent(record)}` : '';
  return `/s/${encodeURIComponent(session)}${query.size > 0 ? `?${query}` : ''}${hash}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = signal<Route>({ place: 'sessions', query: {} });

/** Shows the place of the address, now and whenever the reader goes back or forward. */
export function startRouting(): void {
  const read = () => {
    route.value = parse(new URL(location.href));
  };
  addEventListener('popstate', read);
  addEventListener('hashchange', read);
  // Links inside the page do not load it again.
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.('a');
    if (!link || link.target || link.origin !== location.origin) return;
    event.preventDefault();
    go(parse(new URL(link.href)));
  });
  read();
}

/** Goes to a place, which the back button leaves again. */
export function go(to: Route): void {
  const address = format(to);
  if (address !== location.pathname + location.search + location.hash) history.pushState(null, '', address);
  route.value = to;
}

/** Changes the address of the place that is shown. */
export function amend(to: Route): void {
  history.replaceState(history.state, '', format(to));
  route.value = to;
}
