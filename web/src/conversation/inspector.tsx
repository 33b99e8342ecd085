/** Tables beside a conversation: its calls, files, agents, context and usage. */
import { useSignal, type Signal } from '@preact/signals';
import { render, type JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { STATE_ICONS } from '../icons.tsx';
import { baseName, clock, compact, costOf, duration, fullTime, shortPath, visible } from '../format.ts';
import { List } from '../list/list.ts';
import { ask, call, has } from '../rpc.ts';
import { format, route, type Route } from '../route.ts';
import { hasInspector } from '../settings.ts';
import { folderOf } from '../session-list.ts';
import { language, texts, word } from '../text.ts';
import type { Agent, ChangedFile, Stats, ToolCall, UsageResult } from '../wire.ts';
import { ReplyTable } from '../replies.tsx';
import { SHORTEST_TIME } from './rows.tsx';
import { matcher } from './call-filter.ts';
import type { Reader } from './reader.ts';
import { TABS, type Tab } from './tabs.ts';


export function Inspector({ reader, tab }: { reader: Reader; tab: Signal<Tab> }): JSX.Element {
  const t = texts.value;
  const shown = TABS.filter((name) => name !== 'context' || has('history/context'));
  const choose = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    tab.value = shown[(shown.indexOf(tab.value) + by + shown.length) % shown.length]!;
    requestAnimationFrame(() => document.getElementById(`tab-${tab.value}`)?.focus());
  };
  return <aside class="inspector" aria-label={t.inspector}>
    <div class="tabs"><div role="tablist" aria-label={t.inspector} onKeyDown={choose}>
      {shown.map((name) => <button type="button" role="tab" key={name} id={`tab-${name}`} aria-selected={tab.value === name} aria-controls="tab-panel" tabIndex={tab.value === name ? 0 : -1} onClick={() => { tab.value = name; }}>{t.tabs[name]}</button>)}
      </div><button type="button" class="quiet close" aria-label={t.close} onClick={() => { hasInspector.value = 'no'; }}>✕</button>
    </div>
    <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab.value}`} tabIndex={-1}>
      {tab.value === 'calls' && <Calls reader={reader} />}
      {tab.value === 'files' && <Files reader={reader} />}
      {tab.value === 'agents' && <Agents reader={reader} />}
      {tab.value === 'context' && <Context reader={reader} />}
      {tab.value === 'usage' && <SessionUsage reader={reader} />}
    </div>
  </aside>;
}

/** Loads something when the conversation changes; undefined until it is there. */
function useAnswer<T>(reader: Reader, load: () => Promise<T>): { value: T | undefined; error: Error | undefined } {
  const answer = useSignal<{ value?: T; error?: Error }>({});
  const isThere = reader.items.value !== undefined;
  useEffect(() => {
    if (!isThere) return undefined;
    let isGone = false;
    load().then((value) => { if (!isGone) answer.value = { value }; }, (error: Error) => { if (!isGone) answer.value = { error }; });
    return () => { isGone = true; };
  }, [reader, isThere, reader.grown.value]);
  return { value: answer.value.value, error: answer.value.error };
}

function Missing({ error, isEmpty, text }: { error: Error | undefined; isEmpty?: boolean; text?: string }): JSX.Element {
  return <p class="quiet empty">{error ? `${texts.value.failedToLoad} ${error.message}` : isEmpty ? text : texts.value.loading}</p>;
}

type Order = 'time' | 'length' | 'tool' | 'state';

const CALL_ROW = 44;

function Calls({ reader }: { reader: Reader }): JSX.Element {
  const { value: calls, error } = useAnswer(reader, () => reader.calls());
  const words = useSignal('');
  const order = useSignal<Order>('time');
  const t = texts.value;
  const shown = useMemo(() => {
    const list = (calls ?? []).filter(matcher(words.value));
    if (order.value === 'length') list.sort((one, other) => (other.durationMs ?? -1) - (one.durationMs ?? -1));
    if (order.value === 'tool') list.sort((one, other) => (one.name ?? '').localeCompare(other.name ?? ''));
    if (order.value === 'state') list.sort((one, other) => Number(one.state === 'ok') - Number(other.state === 'ok'));
    return list;
  }, [calls, words.value, order.value]);
  const screen = useRef<HTMLDivElement>(null);
  const list = useRef<List | undefined>(undefined);
  const bounds = useMemo(() => timeBounds(calls ?? []), [calls]);
  useEffect(() => {
    if (!screen.current) return undefined;
    list.current = new List(screen.current, {
      mount: (element, row) => render(<CallRow call={shown[row]!} bounds={bounds} reader={reader} />, element),
      unmount: (element) => render(null, element),
    });
    list.current.replace({ count: shown.length, key: (row) => row, estimate: () => CALL_ROW, find: Number });
    return () => list.current?.destroy();
  }, [shown]);
  return <div class="calls">
    <input type="search" value={words.value} placeholder={t.callFilter} aria-label={t.callFilter} onInput={(event) => { words.value = event.currentTarget.value; }} />
    <div class="sorts" role="group">
      {(['time', 'length', 'tool', 'state'] as const).map((name) => <button type="button" class="quiet" key={name} aria-pressed={order.value === name} onClick={() => { order.value = name; }}>{t.callColumns[name]}</button>)}
      <span class="count">{calls ? `${shown.length}/${calls.length}` : ''}</span>
    </div>
    {(!calls || shown.length === 0) && <Missing error={error} isEmpty={calls !== undefined} text={t.noCalls} />}
    <div class="screen" ref={screen} tabIndex={0} role="group" aria-label={t.tabs.calls} />
  </div>;
}

function timeBounds(calls: readonly ToolCall[]): [first: number, length: number] {
  let [first, last] = [Infinity, -Infinity];
  for (const { timestamp, durationMs } of calls) {
    if (!timestamp) continue;
    const start = Date.parse(timestamp);
    first = Math.min(first, start);
    last = Math.max(last, start + (durationMs ?? 0));
  }
  return [first, Math.max(1, last - first)];
}

function CallRow({ call: one, bounds: [first, length], reader }: { call: ToolCall; bounds: [number, number]; reader: Reader }): JSX.Element {
  const t = texts.value;
  const start = one.timestamp ? (Date.parse(one.timestamp) - first) / length : 0;
  const width = (one.durationMs ?? 0) / length;
  return <button type="button" class="call-row" data-state={one.state} onClick={() => void reader.goToRecord(one.uuid ?? `L${one.line}`)}>
    <span class="top"><b>{visible(one.name ?? '?')}</b><span class="subject" dir="auto" title={visible(one.subject)}>{visible(shortPath(one.subject, folderOf(reader.which.sessionId)))}</span><span class="state" title={t.states[one.state]}>{STATE_ICONS[one.state]}<span class="hidden">{t.states[one.state]}</span></span></span>
    <span class="bottom">{one.timestamp && <time dateTime={one.timestamp}>{clock(one.timestamp, language.value)}</time>}<span class="time">{(one.durationMs ?? 0) >= SHORTEST_TIME ? duration(one.durationMs!) : ''}</span>
      <span class="waterfall" aria-hidden="true"><i style={{ left: `${start * 100}%`, width: `${Math.max(0.5, width * 100)}%` }} /></span></span>
  </button>;
}

function Files({ reader }: { reader: Reader }): JSX.Element {
  const { sessionId, workspacePath } = reader.which;
  const { value, error } = useAnswer(reader, () => call('history/files', { sessionId, ...(workspacePath && { workspacePath }) }));
  const t = texts.value;
  if (!value || value.files.length === 0) return <Missing error={error} isEmpty={value !== undefined} text={t.noFiles} />;
  return <ul class="files">{value.files.map((file) => <FileEntry key={file.path} file={file} reader={reader} />)}</ul>;
}

/** One file over the session: its versions on a lane, each a link to the message at which it held. */
function FileEntry({ file, reader }: { file: ChangedFile; reader: Reader }): JSX.Element {
  const t = texts.value;
  return <li>
    <p class="path" title={visible(file.path)}><a href={format({ ...(route.value as Extract<Route, { place: 'conversation' }>), sheet: { kind: 'file', of: file.path } })}>{visible(baseName(file.path))}</a> <span dir="ltr">{visible(file.path)}</span></p>
    <p class="facts">{t.edits(file.edits)} · {t.versions(file.versions.length)}</p>
    <p class="lane">{file.versions.map((version) => <button type="button" key={version.version} class="quiet" data-state={version.backup} disabled={!version.messageId} onClick={() => version.messageId && void reader.goToRecord(version.messageId)}
      title={`${t.backups[version.backup]}${version.time ? ` · ${fullTime(version.time, language.value)}` : ''}`}>v{version.version}</button>)}</p>
  </li>;
}

function Agents({ reader }: { reader: Reader }): JSX.Element {
  const { sessionId, workspacePath } = reader.which;
  const { value, error } = useAnswer(reader, () => call('history/agents', { sessionId, ...(workspacePath && { workspacePath }) }));
  const t = texts.value;
  if (!value || value.agents.length === 0) return <Missing error={error} isEmpty={value !== undefined} text={t.noAgents} />;
  return <ul class="agents">{value.agents.map((agent) => <AgentEntry key={agent.agentId} agent={agent} isHere={agent.agentId === reader.which.agentId} />)}</ul>;
}

function AgentEntry({ agent, isHere }: { agent: Agent; isHere: boolean }): JSX.Element {
  const { record: _, find: __, ...here } = route.value as Extract<Route, { place: 'conversation' }>;
  const facts = [agent.state && word(agent.state), agent.durationMs ? duration(agent.durationMs) : '', agent.usage ? `${compact(agent.usage.outputTokens)} ${texts.value.tokens}` : '', agent.model ?? ''].filter(Boolean);
  return <li class={`depth-${Math.min(4, agent.spawnDepth ?? 1)}`}>
    <a href={format({ ...here, agent: agent.agentId })} aria-current={isHere || undefined}><b>{visible(agent.name ?? agent.agentType ?? agent.agentId)}</b> <span dir="auto">{visible(agent.description ?? '')}</span></a>
    <p class="facts">{facts.map(visible).join(' · ')}</p>
  </li>;
}

/** What `history/context` answers, as far as it is shown. */
interface ContextUse { tokens: number | null; windowTokens: number | null; filledPercent: number | null; peakTokens: number | null; restTokens: number | null; parts: { kind: string; name?: string | null; estimatedTokens: number }[] }

/** What filled the context at the last reply; the parts are estimates of the server. */
function Context({ reader }: { reader: Reader }): JSX.Element {
  const { value, error } = useAnswer(reader, () => ask('history/context', reader.which) as Promise<ContextUse>);
  const t = texts.value;
  if (!value) return <Missing error={error} />;
  const most = Math.max(1, ...value.parts.map(({ estimatedTokens }) => estimatedTokens));
  return <div class="session-usage">
    <p><b>{value.filledPercent === null ? '–' : `${Math.round(value.filledPercent)} %`}</b> {value.tokens === null ? '' : `${compact(value.tokens)} / ${value.windowTokens === null ? '?' : `≈ ${compact(value.windowTokens)}`} ${t.tokens}`}</p>
    <table><tbody>{value.parts.map((part, index) => <tr key={index}>
      <th scope="row">{visible(`${word(part.kind)} ${part.name ?? ''}`)}</th><td class="right">≈ {compact(part.estimatedTokens)}</td><td><span class="weight-bar" style={{ width: `${Math.round((part.estimatedTokens / most) * 80)}px` }} /></td>
    </tr>)}</tbody></table>
  </div>;
}

function SessionUsage({ reader }: { reader: Reader }): JSX.Element {
  const { sessionId, workspacePath } = reader.which;
  const { value, error } = useAnswer<[UsageResult, Stats]>(reader, () => Promise.all([call('history/usage', { sessionId, by: 'model' }), call('history/stats', { ...reader.which, ...(workspacePath && { workspacePath }) })]));
  const t = texts.value;
  const why = useSignal<string | undefined>(undefined);
  if (!value) return <Missing error={error} />;
  const [usage, stats] = value;
  const figures: [string, string][] = [
    [t.cost, costOf(usage.total)], [t.replies, usage.total.replies.toLocaleString(language.value)],
    [t.input_tokens, compact(usage.total.inputTokens)], [t.output_tokens, compact(usage.total.outputTokens)], [t.cacheRead, compact(usage.total.cacheReadTokens)], [t.cacheWrite, compact(usage.total.cacheCreationTokens)],
    [t.columns.turns, String(stats.turns)], ['', [t.compactions(stats.compactions), t.branches(stats.branches), t.gaps(stats.gaps), t.problems(stats.problems)].join(' · ')],
  ];
  return <div class="session-usage">
    <dl class="kv">{figures.map(([name, figure], index) => <div key={index}><dt>{name}</dt><dd>{figure}</dd></div>)}</dl>
    <p class="quiet">{t.countedOnce} {usage.total.costKind === 'calculated' || usage.total.costKind === 'mixed' ? t.estimatedCost : ''}</p>
    <table><thead><tr><th>{t.by.model}</th><th class="right">{t.replies}</th><th class="right">{t.output_tokens}</th><th class="right">{t.cost}</th></tr></thead>
      <tbody>{usage.rows.map((row) => <tr key={row.key}><td>{visible(row.key)}</td><td class="right"><button type="button" class="link" aria-expanded={why.value === row.key} onClick={() => { why.value = why.value === row.key ? undefined : row.key; }}>{row.replies}</button></td><td class="right">{compact(row.outputTokens)}</td><td class="right">{costOf(row)}</td></tr>)}</tbody></table>
    {why.value && <><h3>{t.whyReplies(visible(why.value))}</h3><ReplyTable params={{ sessionId, by: 'model', why: why.value }} /></>}
    <table><thead><tr><th>{t.toolUse}</th><th class="right">{t.calls}</th><th class="right">{t.failures}</th></tr></thead>
      <tbody>{Object.entries(stats.tools).sort(([, one], [, other]) => other.calls - one.calls).map(([name, count]) => <tr key={name}><td>{visible(name)}</td><td class="right">{count.calls}</td><td class="right">{count.errors}</td></tr>)}</tbody></table>
  </div>;
}
