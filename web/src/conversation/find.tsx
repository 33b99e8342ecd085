/** Find in one conversation: the server searches all of it, the page marks what is on the screen. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { call } from '../rpc.ts';
import { amend, format, route, type Route } from '../route.ts';
import { texts } from '../text.ts';
import type { SearchHit } from '../wire.ts';
import { markWords, unmark, wordsOf } from '../marks.ts';
import type { Reader } from './reader.ts';

const HITS = 200;

export function FindBar({ reader, start, onClose }: { reader: Reader; start: string; onClose(): void }): JSX.Element {
  const query = useSignal(start);
  const hits = useSignal<readonly SearchHit[] | undefined>(undefined);
  const total = useSignal(0);
  /** Hits in the transcripts of other agents of the session, which have pages of their own. */
  const inAgents = useSignal<readonly SearchHit[]>([]);
  const at = useSignal(-1);
  const field = useRef<HTMLInputElement>(null);
  const opened = useRef<number | undefined>(undefined);
  // Before the browser handles the next key, which belongs to the field.
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
    return () => {
      unmark();
      closeCard();
    };
  }, []);
  const closeCard = () => {
    if (opened.current !== undefined) void reader.toggle(opened.current, false);
    opened.current = undefined;
  };
  useEffect(() => {
    const words = query.value.trim();
    at.value = -1;
    if (!words) {
      hits.value = undefined;
      unmark();
      return undefined;
    }
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const answer = await call('history/search', { query: words, sessions: [reader.which.sessionId], flat: true, limit: HITS, sort: 'time' }, abort.signal);
        // In the order of the conversation, and only of the transcript that is shown.
        const own = answer.hits.filter((hit) => hit.uuid && (hit.agentId ?? undefined) === reader.which.agentId);
        inAgents.value = answer.hits.filter((hit) => hit.uuid && hit.agentId && hit.agentId !== reader.which.agentId);
        hits.value = own.sort((one, other) => (one.timestamp ?? '').localeCompare(other.timestamp ?? ''));
        total.value = answer.nextCursor ? answer.total : own.length;
        const now = route.peek();
        if (now.place === 'conversation') amend({ ...now, find: words });
        mark();
      } catch { /* The next letter asks again. */ }
    }, 150);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [query.value]);
  const mark = () => markWords(reader.mountedElements(), wordsOf(query.peek()));
  // Rows come and go while the reader scrolls.
  useEffect(() => reader.onScreen.subscribe(() => { if (hits.peek()) requestAnimationFrame(mark); }), []);
  const move = async (by: 1 | -1) => {
    const list = hits.value;
    if (!list || list.length === 0) return;
    at.value = (at.value + by + list.length) % list.length;
    const hit = list[at.value]!;
    closeCard();
    const { row } = await call('history/locate', { ...reader.which, uuid: hit.uuid! });
    const target = rowOfHit(reader, row, hit);
    reader.goToRow(target);
    const kind = reader.store.skeleton?.kind(target);
    if (kind !== 'u' && kind !== 'a' && !reader.isOpen(target)) {
      opened.current = target;
      await reader.toggle(target, true);
    }
    requestAnimationFrame(mark);
  };
  const t = texts.value;
  return <form class="find" role="search" onSubmit={(event) => { event.preventDefault(); void move(1); }}>
    <input ref={field} type="search" value={query.value} placeholder={t.find} aria-label={t.find} onInput={(event) => { query.value = event.currentTarget.value; }}
      onKeyDown={(event) => { if (event.key === 'Enter' && event.shiftKey) { event.preventDefault(); void move(-1); } }} />
    <span class="count" role="status">{hits.value ? t.findCount(at.value + 1, total.value) : ''}</span>
    {hits.value && inAgents.value[0] && <a class="second" href={format(inAgent(inAgents.value[0], query.value))}>{t.inAgents(inAgents.value.length)} →</a>}
    <button type="button" onClick={() => void move(-1)} aria-label={t.previous}>↑</button>
    <button type="submit" aria-label={t.next}>↓</button>
    <button type="button" onClick={onClose} aria-label={t.close}>✕</button>
  </form>;
}

/** The place of a hit in the transcript of an agent. */
function inAgent(hit: SearchHit, find: string): Route {
  const now = route.peek() as Extract<Route, { place: 'conversation' }>;
  return { place: 'conversation', session: now.session, level: 'work', agent: hit.agentId!, find, ...(now.workspace && { workspace: now.workspace }), ...(hit.uuid && { record: hit.uuid }) };
}

/** An entry is several rows: the one that a hit is in has the kind of its field. */
function rowOfHit(reader: Reader, first: number, hit: SearchHit): number {
  const kinds = { prompt: 'u', reply: 'a', thinking: 't', tool: 'c', input: 'c', output: 'c' } as Record<string, string>;
  const { skeleton } = reader.store;
  for (let row = first; skeleton && row < Math.min(first + 20, skeleton.total); row++) if (skeleton.kind(row) === kinds[hit.field]) return row;
  return first;
}
