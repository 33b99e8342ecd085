/** Tokens and costs: a plot, its figures as a table, and the replies of each figure. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { baseName, compact, costOf, dollars, visible } from './format.ts';
import { InsightPanel } from './insight.tsx';
import { costsOf, namesOf } from './model-costs.ts';
import { Bars, type Bar } from './plot.tsx';
import { ReplyTable } from './replies.tsx';
import { call, has } from './rpc.ts';
import { amend, format, type Route } from './route.ts';
import { sessions } from './session-list.ts';
import { language, texts, word } from './text.ts';
import type { Insight, UsageBy, UsageParams, UsageResult, UsageRow } from './wire.ts';

const BY = ['day', 'week', 'month', 'model', 'project', 'branch'] as const satisfies readonly UsageBy[];
const DAYS = ['7', '30', '90', '365'];

/** The first day of a period that ends today. */
export function since(days: number, now: number): string {
  return new Date(now - (days - 1) * 86_400_000).toISOString().slice(0, 10);
}

export function Usage({ at }: { at: Extract<Route, { place: 'usage' }> }): JSX.Element {
  const t = texts.value;
  const { query } = at;
  const by = BY.find((by) => by === query.by) ?? 'day';
  const days = query.days ?? '30';
  const usage = useSignal<UsageResult | undefined>(undefined);
  const dearest = useSignal<readonly UsageRow[]>([]);
  const insight = useSignal<Insight | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const isTokens = query.what === 'tokens';
  const set = (name: string, value: string) => amend({ ...at, query: { ...query, [name]: value } });
  useEffect(() => {
    const limits = limitsOf(query);
    Promise.all([call('history/usage', { by, ...limits }), call('history/usage', { by: 'session', limit: 12, ...limits })]).then(([one, other]) => {
      usage.value = one;
      dearest.value = other.rows;
      failure.value = undefined;
    }, (error: Error) => { failure.value = error.message; });
    if (has('history/insight')) call('history/insight', { ...limits, limit: 50 }).then((answer) => { insight.value = answer; }, () => undefined);
  }, [by, days, query.project, has('history/insight')]);
  const projects = [...new Set(sessions.value.flatMap(({ projectPath }) => projectPath ?? []))].sort();
  const total = usage.value?.total;
  const rows = usage.value?.rows ?? [];
  const names = isTokens ? [t.input_tokens, t.cacheWrite, t.cacheRead, t.output_tokens] : namesOf(rows, word('other'));
  const hasSeveralYears = by === 'day' && new Set(rows.map(({ key }) => key.slice(0, 4))).size > 1;
  return <main class="usage" id="content">
    <h1 class="hidden">{t.usage}</h1>
    <div class="filters">
      <select aria-label={t.period} value={days} onChange={(event) => set('days', event.currentTarget.value)}>{DAYS.map((days) => <option key={days} value={days}>{t.lastDays(Number(days))}</option>)}<option value="all">{t.anyTime}</option></select>
      <select aria-label={t.project} value={query.project ?? ''} onChange={(event) => set('project', event.currentTarget.value)}><option value="">{t.allProjects}</option>{projects.map((path) => <option key={path} value={path}>{visible(baseName(path))}</option>)}</select>
      <div class="levels" role="group" aria-label={t.period}>{BY.map((name) => <button type="button" key={name} aria-pressed={by === name} onClick={() => set('by', name)}>{t.by[name]}</button>)}</div>
      <div class="levels" role="group" aria-label={t.usage}><button type="button" aria-pressed={!isTokens} onClick={() => set('what', '')}>{t.costOver}</button><button type="button" aria-pressed={isTokens} onClick={() => set('what', 'tokens')}>{t.tokensOver}</button></div>
    </div>
    {failure.value && <p class="trouble" role="alert">{t.failedToLoad} {failure.value}</p>}
    {!usage.value && !failure.value && <p class="empty">{t.loading}</p>}
    {total && <p class="totals"><b>{costOf(total)}</b> <span>{compact(total.outputTokens)} {t.output_tokens}</span> <span>{compact(total.cacheReadTokens)} {t.cacheRead}</span> <span>{compact(total.cacheCreationTokens)} {t.cacheWrite}</span> <span>{total.replies.toLocaleString(language.value)} {t.replies}</span>
      <span class="quiet">{t.countedOnce} {t.estimatedCost}{total.unpricedReplies > 0 ? ` ${t.unpriced(total.unpricedReplies)}` : ''}</span></p>}
    {usage.value && rows.length === 0 && <p class="empty">{t.noUsage}</p>}
    {rows.length > 0 && <section class="panel wide"><h2>{isTokens ? t.tokensOver : t.costOver} · {t.by[by]}</h2><Bars bars={rows.slice(0, 120).map((row) => barOf(row, isTokens, names, hasSeveralYears))} names={names} label={`${isTokens ? t.tokensOver : t.costOver}, ${t.by[by]}`} format={isTokens ? compact : dollars} />
      <details open><summary>{t.asTable}</summary><UsageTable rows={rows} total={total!} by={by} why={(key) => format({ ...at, query: { ...query, why: key } })} /></details></section>}
    {query.why && <Replies at={at} by={by} limits={limitsOf(query)} why={query.why} />}
    {dearest.value.length > 0 && <section class="panel wide"><h2>{t.dearest}</h2><UsageTable rows={dearest.value} by="session" /></section>}
    {insight.value && <InsightPanel insight={insight.value} />}
  </main>;
}

type Limits = Pick<UsageParams, 'timezone' | 'dateFrom' | 'workspacePath'>;

/** What the address says about which replies count. */
function limitsOf({ days = '30', project }: Record<string, string>): Limits {
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return { timezone, ...(days !== 'all' && { dateFrom: since(Number(days), Date.now()) }), ...(project && { workspacePath: project }) };
}

/** The replies of a row, each with a link to it. */
function Replies({ at, by, limits, why }: { at: Extract<Route, { place: 'usage' }>; by: UsageBy; limits: Limits; why: string }): JSX.Element {
  const t = texts.value;
  const { why: _, ...query } = at.query;
  return <section class="panel wide" id="replies"><h2>{t.whyReplies(visible(why))} <a class="second" href={format({ place: 'usage', query })}>{t.close}</a></h2><ReplyTable params={{ by, why, ...limits }} /></section>;
}

function barOf(row: UsageRow, isTokens: boolean, names: readonly string[], hasSeveralYears: boolean): Bar {
  const parts = isTokens
    ? [row.inputTokens, row.cacheCreationTokens, row.cacheReadTokens, row.outputTokens].map((value, index) => ({ name: names[index]!, value }))
    : costsOf(row, names);
  const label = /^\d{4}-\d\d-\d\d$/.test(row.key) ? hasSeveralYears ? row.key : row.key.slice(5) : baseName(row.key).slice(0, 14);
  return { label: visible(label), title: `${visible(row.key)}: ${costOf(row)}, ${compact(row.totalTokens)}`, parts };
}

/** `why` gives the address of the replies of a row. */
function UsageTable({ rows, total, by, why }: { rows: readonly UsageRow[]; total?: UsageRow; by: UsageBy; why?(key: string): string }): JSX.Element {
  const t = texts.value;
  const title = (row: UsageRow) => {
    if (by === 'session') return <a href={format({ place: 'conversation', session: row.key, level: 'work' })}>{visible(sessions.value.find(({ id }) => id === row.key)?.title ?? '') || row.key.slice(0, 8)}</a>;
    if (by === 'project') return <a href={format({ place: 'sessions', query: { project: row.key } })}>{visible(row.key)}</a>;
    return visible(row.key);
  };
  const line = (row: UsageRow, first: JSX.Element | string) => <tr key={row.key}>
    <th scope="row" dir="auto">{first}</th><td>{why && row.key !== 'total' ? <a href={why(row.key)} title={t.whyReplies(visible(row.key))}>{row.replies.toLocaleString(language.value)}</a> : row.replies.toLocaleString(language.value)}</td><td>{compact(row.inputTokens)}</td><td>{row.outputAtLeast ? '≥ ' : ''}{compact(row.outputTokens)}</td><td>{compact(row.cacheReadTokens)}</td><td>{compact(row.cacheCreationTokens)}</td>
    <td>{costOf(row)}</td></tr>;
  return <div class="table" tabIndex={0} role="group" aria-label={t.asTable}><table class="numbers">
    <thead><tr><th scope="col">{t.by[by === 'block' ? 'day' : by]}</th><th scope="col">{t.replies}</th><th scope="col">{t.input_tokens}</th><th scope="col">{t.output_tokens}</th><th scope="col">{t.cacheRead}</th><th scope="col">{t.cacheWrite}</th><th scope="col">{t.cost}</th></tr></thead>
    <tbody>{rows.map((row) => line(row, title(row)))}</tbody>
    {total && <tfoot>{line(total, t.total)}</tfoot>}
  </table></div>;
}
