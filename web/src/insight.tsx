/** What the work was: when, with which tools, what failed, which files were edited. */
import type { ComponentChildren, JSX } from 'preact';
import { baseName, compact, duration, visible } from './format.ts';
import { format } from './route.ts';
import { language, texts, word } from './text.ts';
import type { Insight } from './wire.ts';

/** The most rows of a table. */
const ROWS = 12;

export function InsightPanel({ insight }: { insight: Insight }): JSX.Element {
  const t = texts.value;
  const tools = Object.entries(insight.tools).sort(([, one], [, other]) => other.calls - one.calls).slice(0, ROWS);
  const files = Object.entries(insight.files).sort(([, one], [, other]) => other.edits - one.edits).slice(0, ROWS);
  const names = Object.entries({ ...insight.commands, ...insight.skills, ...insight.mcpServers, ...insight.agents }).sort(([, one], [, other]) => other - one).slice(0, 2 * ROWS);
  return <section class="panel wide insight"><h2>{t.insight}</h2>
    <p class="second">{t.sessionCount(insight.sessions)} · {t.turnCount(insight.turns)} · {duration(insight.activeMs)}{insight.cacheHitPercent === null ? '' : ` · ${t.cacheHits(Math.round(insight.cacheHitPercent))}`}</p>
    <div class="insight-parts">
      <Hours hours={insight.hours} />
      {tools.length > 0 && <Table title={t.toolUse} head={[t.toolUse, t.calls, t.failures, t.averageTime]} rows={tools.map(([name, work]) => [visible(name), compact(work.calls), work.errors > 0 ? <span class="failed">{compact(work.errors)}</span> : '', work.timed > 0 ? duration(work.totalMs / work.timed) : ''])} />}
      {insight.errors.length > 0 && <Table title={t.whyFailed} head={[t.whyFailed, t.failures, t.example]} rows={insight.errors.slice(0, ROWS).map((error) => {
        const [example] = error.examples;
        return [visible(word(error.class)), compact(error.count), example?.session ? <a href={format({ place: 'conversation', session: example.session, level: 'work', ...(example.agentId && { agent: example.agentId }), ...(example.uuid && { record: example.uuid }) })} title={visible(example.text)}>{t.example}</a> : ''];
      })} />}
      {files.length > 0 && <Table title={t.editedFiles} head={[t.editedFiles, t.edited, '+', '−']} rows={files.map(([path, work]) => [<span key="f" title={visible(path)}>{visible(baseName(path))}</span>, compact(work.edits), compact(work.added), compact(work.removed)])} />}
    </div>
    {names.length > 0 && <p class="names">{names.map(([name, count]) => <span class="tag" key={name}>{visible(name)} {compact(count)}</span>)}</p>}
  </section>;
}

function Table({ title, head, rows }: { title: string; head: string[]; rows: ComponentChildren[][] }): JSX.Element {
  return <div class="table" tabIndex={0} role="group" aria-label={title}><table class="numbers">
    <thead><tr>{head.map((name, column) => <th key={column} scope="col">{name}</th>)}</tr></thead>
    <tbody>{rows.map(([first, ...rest], index) => <tr key={index}><th scope="row" dir="auto">{first}</th>{rest.map((cell, column) => <td key={column}>{cell}</td>)}</tr>)}</tbody>
  </table></div>;
}

/** How many turns started in each hour of the week. */
function Hours({ hours }: { hours: readonly (readonly number[])[] }): JSX.Element {
  const t = texts.value;
  const most = Math.max(1, ...hours.flat());
  // 5 January 2026 was a Monday.
  const dayName = (day: number) => new Date(Date.UTC(2026, 0, 5 + day)).toLocaleDateString(language.value, { weekday: 'short', timeZone: 'UTC' });
  return <figure class="hours"><svg viewBox="0 0 424 146" role="img" aria-label={t.turnsByHour}>
    {hours.map((day, row) => <g key={row}><text x={34} y={row * 17 + 13} class="axis end">{dayName(row)}</text>
      {day.map((count, hour) => <rect key={hour} class={count > 0 ? 'p0' : 'no-turns'} x={40 + hour * 16} y={row * 17 + 2} width={14} height={14} rx={2} opacity={count > 0 ? 0.25 + (0.75 * count) / most : 1}><title>{`${dayName(row)} ${hour}:00 · ${t.turnCount(count)}`}</title></rect>)}</g>)}
    {[0, 6, 12, 18].map((hour) => <text key={hour} x={47 + hour * 16} y={138} class="axis">{hour}</text>)}
  </svg><figcaption class="second">{t.turnsByHour}</figcaption></figure>;
}
