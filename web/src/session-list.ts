/** All sessions, kept up to date by the stream of changes. */
import { signal } from '@preact/signals';
import { costOf, textOf } from './format.ts';
import { call, follow } from './rpc.ts';
import { complain } from './toast.tsx';
import type { ChangedNotice, Session, Stats } from './wire.ts';

export const sessions = signal<readonly Session[]>([]);
export const isLoaded = signal(false);
export const isConnected = signal(false);
export const loadFailure = signal<Error | undefined>(undefined);
/** What each session cost, by its id. */
export const costs = signal<ReadonlyMap<string, string>>(new Map());
/** Counts of sessions whose rows were on the screen, by their id. */
export const counts = signal<ReadonlyMap<string, Stats>>(new Map());

/** How many other sessions have entries in common with a session, by the path of its transcript; undefined until somebody asks. */
export const copies = signal<ReadonlyMap<string, number> | undefined>(undefined);

/** Asks which sessions have entries in common. The server reads all files for it, the first time. */
export async function loadCopies(): Promise<void> {
  try {
    const { groups } = await call('history/copies', {});
    copies.value = new Map(groups.flatMap((group) => group.map((path) => [textOf(path), group.length - 1] as const)));
  } catch (error) {
    complain(error);
  }
}

/** Applies a notice of changes: the newest session is first. */
export function apply(list: readonly Session[], { added, updated, removed }: Pick<ChangedNotice, 'added' | 'updated' | 'removed'>): Session[] {
  const gone = new Set([...removed, ...added.map(({ id }) => id), ...updated.map(({ id }) => id)]);
  const kept = list.filter(({ id }) => !gone.has(id));
  return [...added, ...updated, ...kept].sort((one, other) => (other.updatedAt ?? '').localeCompare(one.updatedAt ?? ''));
}

export async function loadSessions(): Promise<void> {
  try {
    const found: Session[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await call('history/list', { limit: 1000, ...(cursor && { cursor }) });
      found.push(...page.sessions);
      cursor = page.nextCursor;
      sessions.value = [...found];
    } while (cursor);
    isLoaded.value = true;
    loadFailure.value = undefined;
  } catch (error) {
    loadFailure.value = error as Error;
  }
}

export async function loadCosts(): Promise<void> {
  try {
    const { rows } = await call('history/usage', { by: 'session', limit: 10_000 });
    costs.value = new Map(rows.flatMap((row) => (row.costUsd === null ? [] : [[row.key, costOf(row)] as const])));
  } catch { /* The list is complete without costs. */ }
}

/** The working directory of a session that is listed. */
export function folderOf(id: string): string | null | undefined {
  return sessions.value.find((session) => session.id === id)?.projectPath;
}

/** What stands below the title of a session: the first prompt, unless it is the title. */
export function secondLine({ title, firstPrompt }: Pick<Session, 'title' | 'firstPrompt'>): string {
  return firstPrompt === null || firstPrompt.trim() === title?.trim() ? '' : firstPrompt;
}

/** Follows changes of all sessions. */
export function startSessions(): void {
  follow({}, {
    connected: () => { isConnected.value = true; },
    lost: () => { isConnected.value = false; },
    event: ({ name, data }) => {
      // What changed before the stream was ready is in the list that is loaded now.
      if (name === 'ready') void loadSessions();
      if (name === 'changed') {
        const notice = data as ChangedNotice;
        sessions.value = apply(sessions.value, notice);
        const left = new Map(counts.value);
        for (const { id } of notice.updated) left.delete(id);
        counts.value = left;
        if (copies.peek() && notice.added.length > 0) void loadCopies();
      }
    },
  });
}

/** What sessions can be filtered by for which their whole files must be read, and by their stars. */
export const HAS = ['errors', 'compactions', 'branches', 'damage', 'copies', 'idle', 'starred'] as const;
export type Has = (typeof HAS)[number];
/** Those of them that are known without the counts of a session. */
const UNCOUNTED: readonly Has[] = ['copies', 'starred'];
export type Counted = Exclude<Has, 'copies' | 'starred'>;

export function isCounted(what: Has): what is Counted {
  return !UNCOUNTED.includes(what);
}

export function hasOf(stats: Stats, what: Counted): boolean {
  switch (what) {
    case 'errors': return Object.values(stats.tools).some(({ errors }) => errors > 0);
    case 'compactions': return stats.compactions > 0;
    case 'branches': return stats.branches > 0;
    case 'idle': return stats.idlePauses > 0;
    case 'damage': return stats.problems > 0 || stats.gaps > 0;
  }
}

const waiting = new Set<string>();
let isCounting = false;

/** Asks for the counts of sessions, one after the other: of those on the screen, or of all that a filter needs. The last call counts. */
export function wantCounts(ids: readonly string[]): void {
  waiting.clear();
  for (const id of ids) if (!counts.peek().has(id)) waiting.add(id);
  if (!isCounting) void count();
}

async function count(): Promise<void> {
  isCounting = true;
  for (let [id] = waiting; id !== undefined; [id] = waiting) {
    waiting.delete(id);
    const sessionId = id;
    await call('history/stats', { sessionId }).then((stats) => { counts.value = new Map(counts.peek()).set(sessionId, stats); }, () => undefined);
  }
  isCounting = false;
}
