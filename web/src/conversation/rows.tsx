/** The rows of a conversation as elements: prompts, answers, cards of calls, fold lines, marks. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Icon, STATE_ICONS, toolIcon } from '../icons.tsx';
import { clock, compact, duration, fullTime, textOf, visible, withoutColours } from '../format.ts';
import { Nodes, type FetchPart } from '../nodes.tsx';
import { call } from '../rpc.ts';
import { format, type Beside, type Sheet } from '../route.ts';
import { isWide } from '../settings.ts';
import { language, texts, word } from '../text.ts';
import { complain, say } from '../toast.tsx';
import { textOfNodes } from '../plain.ts';
import { sessions } from '../session-list.ts';
import type { Relation, ViewNode, ViewRow, ViewTool } from '../wire.ts';
import { changesOf, type FileChange } from './changes.ts';
import { LONG_PROMPT } from './estimate.ts';
import { factsOf } from './facts.ts';
import { foldOf, isFold, turnOfFold, type Item } from './items.ts';
import type { Reader } from './reader.ts';
import { Running } from './running.tsx';

/** Shorter times, in milliseconds, are noise. */
export const SHORTEST_TIME = 100;

/** Longer facts do not fit beside the others. */
const SHORT_FACT = 24;

interface RowProps { reader: Reader; item: Item }

/** The element of one item, with its place in the feed. */
export function ItemView({ reader, item }: RowProps): JSX.Element {
  const items = reader.items.value!;
  const index = items.find(item);
  const isCurrent = reader.cursor.value === item;
  const kind = isFold(item) ? 'fold' : items.skeleton.kind(item);
  const isLeft = !isFold(item) && items.skeleton.isLeft(item);
  const before = items.list[index - 1];
  const unread = reader.unread.value;
  const isFirstUnread = unread !== undefined && unread > 0 && items.order(item) >= unread && (before === undefined || items.order(before) < unread);
  return <>
    {isFirstUnread && <div class="unread" role="separator" aria-label={texts.value.fromHere}><span>{texts.value.fromHere}</span></div>}
    <article class={`row k-${kind}`} data-item={item} data-current={isCurrent || undefined} data-left={isLeft || undefined} tabIndex={-1} title={isLeft ? texts.value.notLive : undefined}
      aria-posinset={index + 1} aria-setsize={items.list.length} aria-current={isCurrent || undefined} aria-label={labelOf(reader, item)}
      onClick={() => { reader.cursor.value = item; }}>
      {isFold(item) ? <FoldLine reader={reader} turn={turnOfFold(item)} /> : <RowView reader={reader} item={item} />}
    </article>
    {reader.copiesBehind(item).map((copy) => <CopyLine key={copy.row} relations={copy.relations} />)}
  </>;
}

/** So many sessions that have the same entries are named. */
const MOST_COPIES = 5;

/** Says that what is above is in other sessions, too. */
function CopyLine({ relations }: { relations: readonly Relation[] }): JSX.Element {
  const t = texts.value;
  const titleOf = (id: string) => visible(sessions.value.find((session) => session.id === id)?.title ?? '') || id.slice(0, 8);
  return <p class="mark branch copies"><span><Icon name="copy" /> {t.alsoIn(relations.length)}: {relations.slice(0, MOST_COPIES).map(({ session, kinship, path }, index) => session && <span key={index}>{index > 0 ? ', ' : ''}
    <a href={format({ place: 'conversation', session, level: 'work', workspace: textOf(path) })} dir="auto">{titleOf(session)}</a> ({t.kinships[kinship]})</span>)}{relations.length > MOST_COPIES ? ` + ${relations.length - MOST_COPIES}` : ''}</span></p>;
}

/** Who wrote the prompts of a conversation: those of a subagent come from the agent that started it. */
export function authorOf(reader: Reader): string {
  return reader.which.agentId ? texts.value.task : texts.value.you;
}

function labelOf(reader: Reader, item: Item): string {
  const t = texts.value;
  if (isFold(item)) return t.turn(turnOfFold(item) + 1);
  const row = reader.row(item);
  const names: Record<string, string> = { u: authorOf(reader), a: t.claude, t: t.thinking };
  const who = names[row?.kind ?? ''] ?? row?.tool?.name ?? '';
  return `${who} ${visible(row?.summary ?? '')}`.trim().slice(0, 120) || t.loading;
}

function RowView({ reader, item }: RowProps): JSX.Element {
  const row = reader.row(item);
  const { skeleton, runs } = reader.items.value!;
  const run = runs.get(item);
  if (run !== undefined) return <Run reader={reader} first={item} count={run} />;
  if (!row) return <Waiting kind={skeleton.kind(item)} lines={skeleton.lines[item] ?? 1} />;
  if (reader.level.value === 'raw') return <RawRow reader={reader} row={row} />;
  switch (row.kind) {
    case 'u': return <Prompt reader={reader} row={row} />;
    case 'a': return <Answer reader={reader} row={row} />;
    case 'c': return <CallCard reader={reader} row={row} />;
    case 'k': return <CompactionLine reader={reader} row={row} />;
    case 'i': return <p class="mark idle"><span>{texts.value.idle(duration(row.idleMs ?? 0))}</span></p>;
    case 'b': return <p class="mark branch"><span><Icon name="branch" /> {row.entries ? texts.value.branch(row.entries) : texts.value.branchUnknown} {row.leaf && <SheetLink reader={reader} sheet={{ kind: 'branch', of: row.leaf }} label={texts.value.compareBranch} />}</span></p>;
    case 'g': return <p class="mark gap" title={texts.value.gapHint}><span>⚠ {texts.value.gap}</span></p>;
    case 'o': return <p class="mark gap"><span>{texts.value.root}{row.cause ? ` (${word(row.cause)})` : ''}</span></p>;
    case 'd': return <Line reader={reader} row={row} icon={<Icon name="warning" />} name={`${texts.value.damage}${row.line ? `, ${texts.value.line} ${row.line}` : ''}`} />;
    case 't': return <Line reader={reader} row={row} icon={<Icon name="thinking" />} name={texts.value.thinking} />;
    default: return <Line reader={reader} row={row} icon={<Icon name="note" />} name={word(row.cause ?? '')} />;
  }
}

/** So many rows of a run are named. */
const NAMED = 12;

/** Rows of context that follow each other as one line: what they are, as far as they are here. */
function Run({ reader, first, count }: { reader: Reader; first: number; count: number }): JSX.Element {
  const names = Array.from({ length: Math.min(count, NAMED) }, (_, index) => reader.row(first + index)?.summary).filter(Boolean);
  return <div class="card quiet-card"><button type="button" class="card-head" aria-expanded={false} onClick={() => void reader.toggle(first)}>
    <span class="arrow" aria-hidden="true">▸</span><Icon name="note" /><b>{texts.value.notes(count)}</b><span class="title" dir="auto">{visible(names.join(', '))}</span>
  </button></div>;
}

/** A row that is not here yet, about as high as it will be. */
function Waiting({ kind, lines }: { kind: string; lines: number }): JSX.Element {
  const isProse = kind === 'u' || kind === 'a';
  const height = isProse ? 20 + 21 * Math.max(1, Math.min(lines, LONG_PROMPT)) : undefined;
  return <div class={isProse ? 'waiting prose' : 'waiting'} style={height ? { height: `${height}px` } : undefined} aria-hidden="true" />;
}

export function fetchPart(reader: Reader, row: number): FetchPart {
  return (part, from, count) => call('history/part', {
    ...reader.which, revision: reader.store.skeleton!.revision, row, part, ...(from !== undefined && { from }), ...(count !== undefined && { count }),
  });
}

function Time({ time }: { time: string | null | undefined }): JSX.Element | null {
  return time ? <time dateTime={time} title={fullTime(time, language.value)}>{clock(time, language.value)}</time> : null;
}

function Masked({ count }: { count: number | undefined }): JSX.Element | null {
  return count ? <span class="masked" title={texts.value.masked(count)}>⧉ {count}<span class="hidden">{texts.value.masked(count)}</span></span> : null;
}

function Prompt({ reader, row }: { reader: Reader; row: ViewRow }): JSX.Element {
  const lines = reader.items.value!.skeleton.lines[row.row] ?? 1;
  const isLong = lines > LONG_PROMPT;
  const isOpen = !isLong || reader.isOpen(row.row);
  const t = texts.value;
  return <div class="prompt">
    <header><b>{authorOf(reader)}</b>{row.cause && row.cause !== 'prompt' ? <span class="cause">{word(row.cause)}</span> : null}<Time time={row.timestamp} />{row.turn ? <a class="turn" href={linkTo(reader, row)}>{t.turn(row.turn)}</a> : null}<Masked count={row.masked} /></header>
    <div class={isOpen ? 'prose' : 'prose cut'}><Nodes nodes={row.nodes ?? [{ t: 'text', text: row.summary }]} part={fetchPart(reader, row.row)} /></div>
    {isLong && <button type="button" class="more" aria-expanded={isOpen} onClick={() => void reader.toggle(row.row)}>{isOpen ? t.close : t.showFirst(lines - LONG_PROMPT)}</button>}
  </div>;
}

function Answer({ reader, row }: { reader: Reader; row: ViewRow }): JSX.Element {
  return <div class="answer">
    {row.model && <header><b>{texts.value.claude}</b><span class="cause">{visible(row.model)}</span><Time time={row.timestamp} /><Masked count={row.masked} /></header>}
    <div class="prose"><Nodes nodes={row.nodes ?? [{ t: 'text', text: row.summary }]} part={fetchPart(reader, row.row)} /></div>
  </div>;
}

/** One line that opens: the head of every card. */
function Head({ reader, row, children }: { reader: Reader; row: ViewRow; children: ComponentChildren }): JSX.Element {
  const isOpen = reader.isOpen(row.row);
  return <button type="button" class="card-head" aria-expanded={isOpen} onClick={() => void reader.toggle(row.row)}>
    <span class="arrow" aria-hidden="true">{isOpen ? '▾' : '▸'}</span>{children}
  </button>;
}

/** The content of an open card. If it is alone, what the card has besides says what input and output would say. */
function Body({ reader, row, isAlone, children }: { reader: Reader; row: ViewRow; isAlone?: boolean; children?: ComponentChildren }): JSX.Element | null {
  if (!reader.isOpen(row.row)) return null;
  const opened = reader.opened(row.row);
  const part = fetchPart(reader, row.row);
  if (!opened) return <div class="card-body"><p class="quiet">{texts.value.loading}</p></div>;
  return <div class="card-body">
    {opened.nodes && opened.nodes.length > 0 && <div class="prose"><Nodes nodes={opened.nodes} part={part} /></div>}
    {!isAlone && opened.input && opened.input.length > 0 && <div role="group" aria-label={texts.value.input} class="in"><Nodes nodes={opened.input} part={part} /></div>}
    {!isAlone && opened.output && opened.output.length > 0 && <div role="group" aria-label={texts.value.output} class="out"><Nodes nodes={opened.output} part={part} /></div>}
    <Masked count={opened.masked} />
    {children}
  </div>;
}

/** The summary of reasoning of which the file has no text. */
const NOT_STORED = 'not stored';

function thoughtOf({ summary }: ViewRow): string {
  return summary && summary !== NOT_STORED ? withoutColours(summary) : texts.value.notStored;
}

function Line({ reader, row, icon, name }: { reader: Reader; row: ViewRow; icon: JSX.Element; name: string }): JSX.Element {
  return <div class="card quiet-card">
    <Head reader={reader} row={row}>{icon}<b>{name}</b><span class="title" dir="auto">{visible(row.kind === 't' ? thoughtOf(row) : withoutColours(row.summary))}</span></Head>
    <Body reader={reader} row={row} />
  </div>;
}

function CallCard({ reader, row }: { reader: Reader; row: ViewRow }): JSX.Element {
  const tool = row.tool ?? { name: '?', title: row.summary, state: 'pending', facts: [] } as ViewTool;
  const t = texts.value;
  const [isMissing, setMissing] = useState(false);
  const isFailed = tool.state !== 'ok' && tool.state !== 'pending';
  // A reason that is a sentence has a line of its own; an exit code is short enough for the first one.
  const facts = factsOf(tool, t.facts);
  const reason = isFailed ? facts.find((fact) => fact.length > SHORT_FACT) : undefined;
  const isRunning = tool.state === 'pending' && isRunningNow(reader, row);
  return <div class="card" data-state={isRunning ? 'running' : tool.state}>
    <Head reader={reader} row={row}>
      <Icon name={toolIcon(tool.name)} /><b>{visible(tool.name)}</b>
      <span class="title" dir="auto" title={visible(tool.file ?? tool.title)}>{visible(tool.subject ?? tool.title)}</span>
      {tool.moreLines ? <span class="fact">{t.moreLines(tool.moreLines)}</span> : null}
      {tool.added !== undefined && tool.added !== null && <span class="fact s-add">+{tool.added}</span>}
      {tool.removed !== undefined && tool.removed !== null && <span class="fact s-del">−{tool.removed}</span>}
      {facts.filter((fact) => fact !== reason).map((fact, index) => <span key={index} class="fact">{visible(fact)}</span>)}
      {(tool.durationMs ?? 0) >= SHORTEST_TIME && <span class="fact time">{duration(tool.durationMs!)}</span>}
      {isRunning ? <Running since={row.timestamp ?? undefined} /> : <span class="state" role="img" aria-label={t.states[tool.state]} title={t.states[tool.state]}>{STATE_ICONS[tool.state]}</span>}
    </Head>
    {isFailed && reason && !reader.isOpen(row.row) && <p class="reason" dir="auto">{visible(reason)}</p>}
    <Body reader={reader} row={row} isAlone={tool.agentId !== undefined && tool.agentId !== null && !isMissing}>{tool.agentId && <AgentRows reader={reader} agent={tool.agentId} onMissing={() => setMissing(true)} />}<CallActions reader={reader} row={row} tool={tool} /></Body>
    {tool.agentId && <a class="agent-link" href={format({ place: 'conversation', session: reader.which.sessionId, level: reader.level.value, agent: tool.agentId, ...(reader.which.workspacePath && { workspace: reader.which.workspacePath }) })}>{t.openAgent} →</a>}
  </div>;
}

/** Whether a call without a result still runs: the session is open, and nothing came after the turn of the call. */
function isRunningNow(reader: Reader, row: ViewRow): boolean {
  const { skeleton } = reader.items.value!;
  return reader.isLive.value && skeleton.turnOf(row.row) === skeleton.turns.length - 1;
}

/** The rows of a subagent in the card of its call, with the same cards: its prompt, its work and its answer. */
function AgentRows({ reader, agent, onMissing }: { reader: Reader; agent: string; onMissing(): void }): JSX.Element {
  const [module, setModule] = useState<typeof import('./agent-rows.tsx')>();
  useEffect(() => { import('./agent-rows.tsx').then(setModule, complain); }, []);
  const Inline = module?.InlineAgent;
  return Inline ? <Inline reader={reader} agent={agent} onMissing={onMissing} /> : <p class="quiet">{texts.value.loading}</p>;
}

function CallActions({ reader, row, tool }: { reader: Reader; row: ViewRow; tool: ViewTool }): JSX.Element {
  const t = texts.value;
  const opened = reader.opened(row.row);
  const [isRelatedShown, showRelated] = useState(false);
  const copy = (nodes: readonly ViewNode[]) => () => void copyNodes(nodes, fetchPart(reader, row.row));
  return <><div class="card-actions">
    {opened?.input && <button type="button" class="quiet" onClick={copy(opened.input)}>{t.copyInput}</button>}
    {opened?.output && <button type="button" class="quiet" onClick={copy(opened.output)}>{t.copyOutput}</button>}
    {tool.file && <button type="button" class="quiet" onClick={() => void copyText(tool.file!)}>{t.copyPath}</button>}
    {tool.file && <SheetLink reader={reader} sheet={{ kind: 'file', of: tool.file }} label={t.fileHistory} />}
    {isWide.value && !reader.outer && (tool.agentId || tool.file) && <a class="sheet-link" href={besideAddress(reader, tool)}>{t.openBeside}</a>}
    <button type="button" class="quiet" onClick={() => void copyText(new URL(linkTo(reader, row), location.href).href)}>{t.copyLink}</button>
    <button type="button" class="quiet" aria-expanded={isRelatedShown} onClick={() => showRelated(!isRelatedShown)}>{t.related}</button>
  </div>{isRelatedShown && <Related reader={reader} row={row} />}</>;
}

/** What a call has to do with. It needs all calls of the transcript, so it is loaded when a reader asks for it. */
function Related({ reader, row }: { reader: Reader; row: ViewRow }): JSX.Element {
  const [module, setModule] = useState<typeof import('./related-calls.tsx')>();
  useEffect(() => { import('./related-calls.tsx').then(setModule, complain); }, []);
  return module ? <module.RelatedCalls reader={reader} row={row} /> : <p class="quiet">{texts.value.loading}</p>;
}

export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  say(texts.value.copied);
}

/** Copies content with what was left out of it; says how much is still missing if it is too long. */
export async function copyNodes(nodes: readonly ViewNode[], part: FetchPart, fallback = ''): Promise<void> {
  const { whole } = await import('../whole.ts');
  try {
    const { nodes: all, missing } = await whole(nodes, part);
    await navigator.clipboard.writeText(textOfNodes(all) || fallback);
    say(missing > 0 ? texts.value.copiedWithout(missing) : texts.value.copied);
  } catch (error) {
    complain(error);
  }
}

/** The address of a row. */
export function linkTo(reader: Reader, row: ViewRow): string {
  const record = reader.recordOf(row.row);
  const { sessionId, agentId, workspacePath } = reader.which;
  return format({
    place: 'conversation', session: sessionId, level: reader.level.value,
    ...(agentId && { agent: agentId }), ...(workspacePath && { workspace: workspacePath }), ...(record && { record }),
  });
}

/** The address that shows the subagent or the file of a call beside its conversation. */
function besideAddress(reader: Reader, tool: ViewTool): string {
  const { sessionId, agentId, workspacePath } = reader.which;
  const beside: Beside = tool.agentId ? { kind: 'agent', of: tool.agentId } : { kind: 'file', of: tool.file! };
  return format({ place: 'conversation', session: sessionId, level: reader.level.value, beside, ...(agentId && { agent: agentId }), ...(workspacePath && { workspace: workspacePath }) });
}

/** A link to what is shown over the conversation. */
function SheetLink({ reader, sheet, label }: { reader: Reader; sheet: Sheet; label: string }): JSX.Element {
  const { sessionId, agentId, workspacePath } = reader.which;
  return <a class="sheet-link" href={format({ place: 'conversation', session: sessionId, level: reader.level.value, sheet, ...(agentId && { agent: agentId }), ...(workspacePath && { workspace: workspacePath }) })}>{label}</a>;
}

function CompactionLine({ reader, row }: { reader: Reader; row: ViewRow }): JSX.Element {
  const { compaction } = row;
  const t = texts.value;
  const facts = [
    word(compaction?.trigger ?? ''),
    compaction?.preTokens ? `${compact(compaction.preTokens)} → ${compaction.postTokens ? compact(compaction.postTokens) : '?'}` : '',
    compaction?.preserved ? t.kept(compaction.preserved) : '',
  ].filter(Boolean);
  return <div class="card mark-card compaction">
    <div class="mark-line"><Head reader={reader} row={row}><span class="rule">↻ <b>{t.compacted}</b> <Time time={row.timestamp} /> {facts.map((fact, index) => <span class="fact" key={index}>{fact}</span>)}</span></Head>
      {row.uuid && <SheetLink reader={reader} sheet={{ kind: 'compaction', of: row.uuid }} label={t.beforeAfter} />}</div>
    <Body reader={reader} row={row} />
  </div>;
}

function FoldLine({ reader, turn }: { reader: Reader; turn: number }): JSX.Element {
  const items = reader.items.value!;
  const fold = items.folds.get(turn);
  const isOpen = reader.isOpen(foldOf(turn));
  const t = texts.value;
  const figures = reader.turns.value[turn];
  const context = figures ? figures.usage.inputTokens + figures.usage.cacheReadTokens + figures.usage.cacheCreationTokens : 0;
  const facts = fold ? [
    fold.calls > 0 && t.tools(fold.calls), changesOfTurn(reader, turn),
    fold.thinking > 0 && t.thoughts(fold.thinking), fold.texts > 0 && t.texts(fold.texts), fold.context > 0 && t.notes(fold.context),
    figures?.durationMs ? duration(figures.durationMs) : '', context > 0 && `${compact(context)} ${t.tokens}`,
  ].filter(Boolean) : [];
  return <button type="button" class="fold" aria-expanded={isOpen} onClick={() => reader.toggleTurn(turn)}>
    <span class="arrow" aria-hidden="true">{isOpen ? '▾' : '▸'}</span>
    <span class="facts">{facts.join(' · ')}</span>
    {fold && fold.failed > 0 && <span class="failed">✖ {t.errors(fold.failed)}</span>}
  </button>;
}

/** What a turn changed, if all of its calls are known: "2 files +10 −3". */
function changesOfTurn(reader: Reader, turn: number): string | undefined {
  const { skeleton } = reader.items.value!;
  const [first, last] = skeleton.rowsOf(turn);
  if (last - first > 400) return undefined;
  const calls: ViewRow[] = [];
  for (let row = first; row < last; row++) {
    if (skeleton.kind(row) !== 'c') continue;
    const known = reader.store.row(row);
    if (!known) return undefined;
    calls.push(known);
  }
  const changes = changesOf(calls);
  const sum = (count: (change: FileChange) => number) => changes.reduce((sum, change) => sum + count(change), 0);
  return changes.length > 0 ? `${texts.value.files(changes.length)} +${sum(({ added }) => added)} −${sum(({ removed }) => removed)}` : undefined;
}

/** What rows of messages are called among records. */
const RECORDS: Partial<Record<ViewRow['kind'], string>> = { a: 'reply', t: 'thinking' };

/** A record as it is in the file, after masking. */
function RawRow({ reader, row }: { reader: Reader; row: ViewRow }): JSX.Element {
  const isOpen = reader.isOpen(row.row);
  const [record, setRecord] = useState<string>();
  const around = row.uuid ?? row.line;
  if (isOpen && record === undefined && around !== undefined && around !== null) {
    const which = reader.which;
    call('history/read', { ...which, around, limit: 1 }).then(({ items }) => {
      const item = items.find((item) => item.uuid === row.uuid || item.line === row.line) ?? items[0];
      setRecord(JSON.stringify(item, null, 2) ?? '');
    }, (error: Error) => setRecord(error.message));
  }
  const name = row.tool?.name ?? (row.cause ?? RECORDS[row.kind] ?? row.kind).replaceAll('_', ' ');
  // Records that are no messages have nothing but their type on this line.
  const summary = row.tool?.title || (row.summary === row.cause ? '' : row.kind === 't' ? thoughtOf(row) : row.summary);
  return <div class="card raw">
    <Head reader={reader} row={row}>
      <span class="fact number">{row.line ?? ''}</span><b>{visible(name)}</b>
      <span class="title" dir="auto">{visible(summary)}</span><Time time={row.timestamp} />
    </Head>
    {isOpen && <div class="card-body"><pre class="block json" tabIndex={0} aria-label={texts.value.rawRecord}>{visible(record ?? texts.value.loading)}</pre></div>}
  </div>;
}
