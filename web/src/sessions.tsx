/** All sessions as a dense table. */
import { useSignal } from '@preact/signals';
import { render, type JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { ago, baseName, bytes, compact, fullTime, textOf, visible } from './format.ts';
import { Icon } from './icons.tsx';
import { register } from './keys.ts';
import { List } from './list/list.ts';
import { amend, format, go, type Route } from './route.ts';
import { has as canAsk } from './rpc.ts';
import { HAS, copies, costs, counts, hasOf, isCounted, isLoaded, loadCopies, loadCosts, loadFailure, loadSessions, secondLine, sessions, wantCounts, type Has } from './session-list.ts';
import { density } from './settings.ts';
import { stars, toggleStar } from './stars.ts';
import { language, texts } from './text.ts';
import type { Session, Stats } from './wire.ts';

const ROW = { compact: 44, normal: 50, roomy: 60 };

/** Whether a session passes the filters of the address. */
export function passes(session: Session, query: Record<string, string>, now: number): boolean {
  if (!query.archived && session.archived) return false;
  if (query.live && !session.live) return false;
  if (query.project && session.projectPath !== query.project) return false;
  if (query.tag && session.tag !== query.tag) return false;
  if (query.days && Date.parse(session.updatedAt ?? '') < now - Number(query.days) * 86_400_000) return false;
  const words = (query.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${session.title ?? ''} ${session.firstPrompt ?? ''} ${session.id} ${session.gitBranch ?? ''} ${session.tag ?? ''}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

export function Sessions({ at }: { at: Extract<Route, { place: 'sessions' }> }): JSX.Element {
  const t = texts.value;
  const cursor = useSignal(0);
  const { query } = at;
  const set = (name: string, value: string) => amend({ ...at, query: { ...query, [name]: value } });
  const has = (query.has ?? '').split(',').filter((name): name is Has => HAS.includes(name as Has));
  const [ofCopies, ofStars, counted] = [has.includes('copies'), has.includes('starred'), has.filter(isCounted)];
  const passing = useMemo(() => sessions.value.filter((session) => passes(session, query, Date.now())
    && (!ofStars || stars.value.has(session.id)) && (!ofCopies || copies.value?.has(textOf(session.path)))), [sessions.value, query, ofStars && stars.value, ofCopies && copies.value]);
  const shown = useMemo(() => (counted.length === 0 ? passing : passing.filter(({ id }) => {
    const stats = counts.value.get(id);
    return stats !== undefined && counted.every((name) => hasOf(stats, name));
  })), [passing, query.has, counted.length > 0 && counts.value]);
  const countedOf = counted.length === 0 ? undefined : passing.reduce((count, { id }) => count + Number(counts.value.has(id)), 0);
  const isReading = ofCopies && !copies.value;
  useEffect(() => { if (isReading) void loadCopies(); }, [isReading]);
  // Whole files are read for these filters, so all sessions that pass the others are counted, the most recent first.
  useEffect(() => { if (counted.length > 0) wantCounts(passing.map(({ id }) => id)); }, [passing, query.has]);
  const isCounting = useRef(false);
  isCounting.current = counted.length > 0;
  const projects = useMemo(() => [...new Set(sessions.value.flatMap(({ projectPath }) => projectPath ?? []))].sort(), [sessions.value]);
  const tags = useMemo(() => [...new Set(sessions.value.flatMap(({ tag }) => tag ?? []))].sort(), [sessions.value]);
  const screen = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<List | undefined>(undefined);
  const elements = useRef(new Map<string, HTMLElement>());
  const rows = useRef(shown);
  rows.current = shown;
  const draw = (element: HTMLElement, key: string) => {
    const index = rows.current.findIndex((session) => keyOf(session) === key);
    const session = rows.current[index];
    if (session) render(<SessionRow session={session} isCurrent={index === cursor.value} />, element);
  };
  useEffect(() => {
    list.current = new List(screen.current!, {
      mount: (element, _, key) => { elements.current.set(key as string, element); draw(element, key as string); },
      unmount: (element, key) => { elements.current.delete(key as string); render(null, element); },
      moved: (first, last) => { if (!isCounting.current) wantCounts(rows.current.slice(first, last).map(({ id }) => id)); },
    });
    void loadCosts();
    return () => list.current?.destroy();
  }, []);
  useEffect(() => {
    const index = new Map(shown.map((session, row) => [keyOf(session), row]));
    list.current?.replace({ count: shown.length, key: (row) => keyOf(shown[row]!), estimate: () => ROW[density.value], find: (key) => index.get(key as string) ?? 0 });
    for (const [key, element] of elements.current) draw(element, key);
  }, [shown]);
  useEffect(() => {
    for (const [key, element] of elements.current) draw(element, key);
  }, [cursor.value, costs.value, counts.value, copies.value, stars.value, texts.value]);
  useEffect(() => {
    const move = (by: number) => {
      cursor.value = Math.max(0, Math.min(rows.current.length - 1, cursor.peek() + by));
      list.current?.reveal(cursor.peek());
    };
    return register({
      nextRow: () => move(1), previousRow: () => move(-1), start: () => move(-1e9), end: () => move(1e9), find: () => field.current?.focus(),
      open: () => { const session = rows.current[cursor.peek()]; if (session) go(routeOf(session)); },
      star: () => { const session = rows.current[cursor.peek()]; if (session) toggleStar(session.id); },
    });
  }, []);
  return <main class="sessions" id="content">
    <h1 class="hidden">{t.sessions}</h1>
    <div class="filters" role="search">
      <input ref={field} type="search" value={query.q ?? ''} placeholder={t.filterSessions} aria-label={t.filterSessions} onInput={(event) => set('q', event.currentTarget.value)} />
      <select aria-label={t.project} value={query.project ?? ''} onChange={(event) => set('project', event.currentTarget.value)}><option value="">{t.allProjects}</option>{projects.map((path) => <option key={path} value={path}>{visible(baseName(path))}</option>)}</select>
      <select aria-label={t.since} value={query.days ?? ''} onChange={(event) => set('days', event.currentTarget.value)}><option value="">{t.anyTime}</option>{[1, 7, 30, 90].map((days) => <option key={days} value={days}>{t.lastDays(days)}</option>)}</select>
      {tags.length > 0 && <select aria-label={t.tagged} value={query.tag ?? ''} onChange={(event) => set('tag', event.currentTarget.value)}><option value="">{t.tagged}</option>{tags.map((tag) => <option key={tag} value={tag}>{visible(tag)}</option>)}</select>}
      <label><input type="checkbox" checked={Boolean(query.live)} onChange={(event) => set('live', event.currentTarget.checked ? '1' : '')} /> {t.onlyLive}</label>
      <label><input type="checkbox" checked={Boolean(query.archived)} onChange={(event) => set('archived', event.currentTarget.checked ? '1' : '')} /> {t.archived}</label>
      <div class="has" role="group" aria-label={t.has}>{HAS.filter((name) => name !== 'copies' || canAsk('history/copies')).map((name) => <button type="button" class="chip" key={name} aria-pressed={has.includes(name)} onClick={() => set('has', (has.includes(name) ? has.filter((other) => other !== name) : [...has, name]).join(','))}>{t.hasFilters[name]}</button>)}</div>
      <span class="count" role="status">{!isLoaded.value ? t.loading : isReading ? t.reading : t.sessionCount(shown.length)}{countedOf !== undefined && countedOf < passing.length ? ` · ${t.counted(countedOf, passing.length)}` : ''}</span>
    </div>
    <div class="session-head" aria-hidden="true"><span /><span>{t.columns.title}</span><span>{t.columns.project}</span><span>{t.columns.active}</span><span>{t.columns.turns}</span><span>{t.columns.calls}</span><span>{t.columns.cost}</span><span>{t.columns.files}</span><span>{t.columns.context}</span><span>{t.columns.marks}</span></div>
    <div class="screen" ref={screen} tabIndex={0} role="group" aria-label={t.sessions} />
    {loadFailure.value && <p class="trouble" role="alert">{t.failedToLoad} {loadFailure.value.message} <button type="button" onClick={() => void loadSessions()}>{t.retry}</button></p>}
    {isLoaded.value && !isReading && shown.length === 0 && <p class="empty">{sessions.value.length === 0 ? t.noSessions : t.noMatch}</p>}
  </main>;
}

/** What distinguishes sessions: copies in other folders have the same id. */
function keyOf(session: Session): string {
  return textOf(session.path) || session.id;
}

function routeOf(session: Session): Route {
  const isCopied = sessions.peek().some((other) => other.id === session.id && other !== session);
  return { place: 'conversation', session: session.id, level: 'work', ...(isCopied && { workspace: keyOf(session) }) };
}

/** The status of a session as a shape and a word. */
function statusOf(session: Session): [shape: string, word: string, name: string] {
  const { statuses } = texts.value;
  if (session.error) return ['▲', statuses.error, 'error'];
  if (session.writers) return ['⚠', texts.value.writersHint, 'error'];
  if (session.live) return ['●', statuses.live, 'live'];
  if (session.queued) return ['◐', statuses.queued, 'queued'];
  if (session.archived) return ['▫', statuses.archived, 'archived'];
  return ['○', statuses.quiet, 'quiet'];
}

function SessionRow({ session, isCurrent }: { session: Session; isCurrent: boolean }): JSX.Element {
  const t = texts.value;
  const [shape, word, name] = statusOf(session);
  const stats = counts.value.get(session.id);
  const cost = costs.value.get(session.id);
  const shared = copies.value?.get(textOf(session.path));
  const tools = stats ? Object.values(stats.tools) : [];
  const [calls, errors] = [tools.reduce((sum, { calls }) => sum + calls, 0), tools.reduce((sum, { errors }) => sum + errors, 0)];
  return <a class="session" href={format(routeOf(session))} aria-current={isCurrent || undefined} data-status={name}>
    <span class="status" title={word}><span aria-hidden="true">{shape}</span><span class="hidden">{word}</span></span>
    <span class="what">
      <span class="title" dir="auto">{visible(session.title ?? '') || t.untitled}{stars.value.has(session.id) && <span class="star" title={t.starred}> ★<span class="hidden">{t.starred}</span></span>}{session.tag && <span class="tag">{visible(session.tag)}</span>}{session.forkedFrom && <span class="mark-sign" title={t.forkOf}> <Icon name="branch" /><span class="hidden">{t.forkOf}</span></span>}</span>
      <span class="second" dir="auto">{visible(session.error ?? secondLine(session))}</span>
    </span>
    <span class="where"><span title={visible(session.projectPath ?? '')}>{visible(baseName(session.projectPath ?? session.projectKey))}</span><span class="second">{visible(session.gitBranch ?? '')}</span></span>
    <span class="when"><span title={session.updatedAt ? fullTime(session.updatedAt, language.value) : undefined}>{ago(session.updatedAt, Date.now(), language.value)}</span><span class="second size">{bytes(session.size)}</span><span class="second narrow" title={stats && t.turnCount(stats.turns)}>{[stats ? stats.turns : '', cost ?? ''].filter(Boolean).join(' · ') || bytes(session.size)}</span></span>
    <span class="number">{stats ? stats.turns : ''}</span>
    <span class="number"><span>{calls > 0 ? compact(calls) : ''}</span>{errors > 0 && <span class="second failed">✖ {errors}<span class="hidden">{t.failures}</span></span>}</span>
    <span class="number">{cost ?? ''}</span>
    <span class="number">{stats && stats.changedFiles > 0 && <><span>{t.files(stats.changedFiles)}</span>{stats.linesAdded + stats.linesRemoved > 0 && <span class="second"><span class="s-add">+{compact(stats.linesAdded)}</span> <span class="s-del">−{compact(stats.linesRemoved)}</span></span>}</>}</span>
    <ContextFill stats={stats} />
    <span class="marks">
      {stats && stats.compactions > 0 && <span class="compaction" title={t.compactions(stats.compactions)}>↻{stats.compactions}<span class="hidden">{t.compactions(stats.compactions)}</span></span>}
      {stats && stats.branches > 0 && <span class="branch" title={t.branches(stats.branches)}><Icon name="branch" />{stats.branches}<span class="hidden">{t.branches(stats.branches)}</span></span>}
      {shared !== undefined && <span class="branch" title={t.sharedWith(shared)}><Icon name="copy" />{shared}<span class="hidden">{t.sharedWith(shared)}</span></span>}
      {stats && stats.idlePauses > 0 && <span title={t.pauses(stats.idlePauses)}>◷{stats.idlePauses}<span class="hidden">{t.pauses(stats.idlePauses)}</span></span>}
      {session.subagents > 0 && <span title={t.subagents(session.subagents)}>◇{session.subagents}<span class="hidden">{t.subagents(session.subagents)}</span></span>}
      {stats && stats.problems > 0 && <span class="failed" title={t.problems(stats.problems)}>⚠{stats.problems}<span class="hidden">{t.problems(stats.problems)}</span></span>}
    </span>
  </a>;
}

/** How full the context was at the last reply. The size of the window is an estimate of the server, so the share is one, too. */
function ContextFill({ stats }: { stats: Stats | undefined }): JSX.Element {
  const [tokens, size] = [stats?.contextTokens, stats?.contextWindowTokens];
  if (tokens == null || !size) return <span class="number" />;
  const percent = Math.round((tokens / size) * 100);
  return <span class="number" title={texts.value.contextFill(percent, compact(tokens), compact(size))}>
    <span>≈ {percent} %</span><span class="fill" data-full={percent >= 80 || undefined} aria-hidden="true"><span style={{ width: `${Math.min(100, percent)}%` }} /></span>
  </span>;
}
