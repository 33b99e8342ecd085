/** Search in everything, with facets, and a preview of the hit in its conversation. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Transcript } from './conversation/page.tsx';
import { Reader } from './conversation/reader.ts';
import { ago, baseName, visible } from './format.ts';
import { register } from './keys.ts';
import { markWords, unmark, wordsOf } from './marks.ts';
import { call } from './rpc.ts';
import { amend, format, go, type Route } from './route.ts';
import { sessions } from './session-list.ts';
import { language, texts } from './text.ts';
import type { SearchField, SearchHit, SearchParams, SearchResult } from './wire.ts';

const FIELDS: readonly SearchField[] = ['prompt', 'reply', 'thinking', 'input', 'output', 'title', 'summary', 'notification'];
const TOOLS = ['Bash', 'Edit', 'Write', 'Read', 'Grep', 'Glob', 'Agent', 'Task', 'WebFetch', 'WebSearch', 'TodoWrite'];

/** The parameters of a search for the state of the address. */
export function paramsFor(query: Record<string, string>): SearchParams {
  return {
    query: query.q ?? '', perSession: 20, turns: true,
    ...(query.in && { in: query.in.split(',').filter((field): field is SearchField => (FIELDS as readonly string[]).includes(field)) }),
    ...(query.project && { workspacePath: query.project }), ...(query.tool && { toolName: query.tool }), ...(query.errors && { errors: true }),
    ...(query.sort === 'time' && { sort: 'time' as const }),
  };
}

export function Search({ at }: { at: Extract<Route, { place: 'search' }> }): JSX.Element {
  const t = texts.value;
  const { query } = at;
  const answer = useSignal<SearchResult | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const took = useSignal(0);
  const chosen = useSignal<number | undefined>(undefined);
  const field = useRef<HTMLInputElement>(null);
  const set = (name: string, value: string) => amend({ ...at, query: { ...query, [name]: value } });
  const isAsked = Boolean(query.q?.trim() || query.tool || query.errors);
  useEffect(() => { field.current?.focus(); }, []);
  useEffect(() => {
    chosen.value = undefined;
    if (!isAsked) {
      answer.value = undefined;
      return undefined;
    }
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      const start = performance.now();
      try {
        answer.value = await call('history/search', paramsFor(query), abort.signal);
        failure.value = undefined;
        took.value = Math.round(performance.now() - start);
      } catch (error) {
        if (!abort.signal.aborted) failure.value = (error as Error).message;
      }
    }, 160);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [JSON.stringify(query)]);
  const hits = answer.value?.hits ?? [];
  const more = async () => {
    const before = answer.value!;
    const next = await call('history/search', { ...paramsFor(query), cursor: before.nextCursor! });
    answer.value = { ...next, hits: [...before.hits, ...next.hits] };
  };
  const choose = (by: number) => {
    if (hits.length === 0) return;
    chosen.value = Math.max(0, Math.min(hits.length - 1, (chosen.peek() ?? -1) + by));
    document.getElementById(`hit-${chosen.value}`)?.scrollIntoView({ block: 'nearest' });
  };
  useEffect(() => register({
    find: () => field.current?.focus(), nextRow: () => choose(1), previousRow: () => choose(-1),
    open: () => { const hit = hits[chosen.peek() ?? -1]; if (hit) go(routeOf(hit, query.q)); },
  }), [answer.value]);
  const projects = useMemo(() => [...new Set(sessions.value.flatMap(({ projectPath }) => projectPath ?? []))].sort(), [sessions.value]);
  const chosenFields = new Set((query.in ?? '').split(',').filter(Boolean));
  const toggleField = (name: string) => {
    if (chosenFields.has(name)) chosenFields.delete(name);
    else chosenFields.add(name);
    set('in', [...chosenFields].join(','));
  };
  const hit = chosen.value === undefined ? undefined : hits[chosen.value];
  return <main class="search" id="content">
    <h1 class="hidden">{t.search}</h1>
    <div class="filters" role="search">
      <input ref={field} type="search" value={query.q ?? ''} placeholder={t.searchField} aria-label={t.search} onInput={(event) => set('q', event.currentTarget.value)}
        onKeyDown={(event) => {
          const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
          if (by !== 0) { event.preventDefault(); choose(by); }
          if (event.key === 'Enter' && hit) { event.preventDefault(); go(routeOf(hit, query.q)); }
        }} />
      <select aria-label={t.project} value={query.project ?? ''} onChange={(event) => set('project', event.currentTarget.value)}><option value="">{t.allProjects}</option>{projects.map((path) => <option key={path} value={path}>{visible(baseName(path))}</option>)}</select>
      <select aria-label={t.toolUse} value={query.tool ?? ''} onChange={(event) => set('tool', event.currentTarget.value)}><option value="">{t.anyTool}</option>{TOOLS.map((tool) => <option key={tool}>{tool}</option>)}</select>
      <label><input type="checkbox" checked={Boolean(query.errors)} onChange={(event) => set('errors', event.currentTarget.checked ? '1' : '')} /> {t.onlyErrors}</label>
      <label><input type="checkbox" checked={query.sort === 'time'} onChange={(event) => set('sort', event.currentTarget.checked ? 'time' : '')} /> {t.newestFirst}</label>
      <span class="count" role="status">{answer.value ? t.searchCount(answer.value.total, answer.value.sessions, took.value) : ''}</span>
    </div>
    <div class="facets" role="group" aria-label={t.search}>{FIELDS.map((name) => <button type="button" class="chip" key={name} aria-pressed={chosenFields.has(name)} onClick={() => toggleField(name)}>{t.fields[name]} <span class="number">{countOf(hits, name) || ''}</span></button>)}</div>
    <div class="results" tabIndex={-1}>
      {!isAsked && <p class="empty">{t.searchIntro}</p>}
      {failure.value && <p class="trouble" role="alert">{t.failedToLoad} {failure.value}</p>}
      {answer.value?.noIndex && <p class="note">{t.noIndex}</p>}
      {answer.value?.behind && <p class="note">{t.behind(answer.value.behind.files)}</p>}
      {answer.value?.notices?.map((notice) => <p class="note" key={notice}>{notice}</p>)}
      {answer.value && hits.length === 0 && <p class="empty">{t.noHits}</p>}
      {answer.value?.corrections?.map(({ word, corrections }) => <p class="note" key={word}>{t.didYouMean} {corrections.map((other) => <button type="button" class="chip" key={other} onClick={() => set('q', (query.q ?? '').replace(new RegExp(word.replace(/[^\p{L}\p{N}]/gu, '\\$&'), 'iu'), other))}>{other}</button>)}</p>)}
      <Hits hits={hits} chosen={chosen.value} onChoose={(index) => { chosen.value = index; }} query={query.q} />
      {answer.value?.nextCursor && <button type="button" class="more" onClick={() => void more()}>{t.more}</button>}
    </div>
    <section class="preview" aria-label={t.preview}>{hit?.session ? <Preview key={`${hit.session} ${hit.agentId ?? ''}`} hit={hit} words={query.q ?? ''} /> : <p class="empty">{t.choosePreview}</p>}</section>
  </main>;
}

function countOf(hits: readonly SearchHit[], field: SearchField): number {
  return hits.reduce((count, hit) => count + Number(hit.field === field), 0);
}

function routeOf(hit: SearchHit, find: string | undefined): Route {
  return { place: 'conversation', session: hit.session!, level: 'work', ...(hit.agentId && { agent: hit.agentId }), ...(hit.uuid && { record: hit.uuid }), ...(find && { find }) };
}

/** Hits of a session stand together, under its title. */
function Hits({ hits, chosen, onChoose, query }: { hits: readonly SearchHit[]; chosen: number | undefined; onChoose(index: number): void; query: string | undefined }): JSX.Element {
  const t = texts.value;
  const rows: JSX.Element[] = [];
  hits.forEach((hit, index) => {
    if (index === 0 || hits[index - 1]!.session !== hit.session) {
      rows.push(<h2 key={`head ${index}`}><a href={hit.session ? format({ place: 'conversation', session: hit.session, level: 'work' }) : '/'}>{visible(hit.title ?? '') || t.untitled}</a> <span class="second">{[visible(baseName(hit.projectPath ?? '')), ago(hit.timestamp, Date.now(), language.value), t.hitsIn(hit.inSession)].filter(Boolean).join(' · ')}</span></h2>);
    }
    rows.push(<a key={index} id={`hit-${index}`} class="hit" data-error={hit.error || undefined} aria-current={chosen === index || undefined} href={hit.session ? format(routeOf(hit, query)) : '/'}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        // The first click shows the hit beside the list, the second opens it; without room for both, it opens at once.
        if (chosen !== index && matchMedia('(min-width: 900px)').matches) { event.preventDefault(); onChoose(index); }
      }}>
      <span class="field">{hit.tool ? visible(hit.tool) : t.fields[hit.field]}{hit.error ? ' ✖' : ''}</span><span class="snippet" dir="auto"><Snippet hit={hit} /></span><span class="second">{hit.turn ? t.turn(hit.turn) : ''}</span>
    </a>);
  });
  return <>{rows}</>;
}

/** The line of a hit with its matches, whose positions count Unicode characters. */
function Snippet({ hit }: { hit: SearchHit }): JSX.Element {
  const characters = [...hit.snippet];
  const parts: JSX.Element[] = [];
  let at = 0;
  for (const [first, last] of hit.matches as [number, number][]) {
    parts.push(<span key={at}>{visible(characters.slice(at, first).join(''))}</span>, <mark key={`m${first}`}>{visible(characters.slice(first, last).join(''))}</mark>);
    at = last;
  }
  return <>{parts}{visible(characters.slice(at).join(''))}</>;
}

function Preview({ hit, words }: { hit: SearchHit; words: string }): JSX.Element {
  const reader = useMemo(() => new Reader({ sessionId: hit.session!, ...(hit.agentId && { agentId: hit.agentId }) }, 'work'), []);
  const isStarted = useRef(false);
  const show = async () => {
    const cursor = reader.cursor.peek();
    if (cursor !== undefined && cursor >= 0 && hit.field !== 'prompt' && hit.field !== 'reply') await reader.toggle(cursor, true);
    requestAnimationFrame(() => markWords(reader.mountedElements(), wordsOf(words)));
  };
  useEffect(() => {
    if (isStarted.current && hit.uuid) void reader.goToRecord(hit.uuid).then(show);
  }, [hit.uuid]);
  useEffect(() => reader.onScreen.subscribe(() => { requestAnimationFrame(() => markWords(reader.mountedElements(), wordsOf(words))); }), [words]);
  useEffect(() => unmark, []);
  return <>
    <p class="preview-head"><b dir="auto">{visible(hit.title ?? '') || texts.value.untitled}</b> <a href={format(routeOf(hit, words))}>{texts.value.openHere} →</a></p>
    <Transcript reader={reader} record={hit.uuid ?? undefined} isLive={false} isPart onStart={() => { isStarted.current = true; void show(); }} />
  </>;
}
