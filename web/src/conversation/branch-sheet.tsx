/** A branch that was left beside what the conversation went on with, from the entry at which they part. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Icon, STATE_ICONS, toolIcon } from '../icons.tsx';
import { baseName, clock, visible } from '../format.ts';
import { Nodes } from '../nodes.tsx';
import { call } from '../rpc.ts';
import { SheetBox, useLeave } from '../sheet.tsx';
import { language, texts } from '../text.ts';
import type { ViewRow } from '../wire.ts';
import { changesOf } from './changes.ts';
import type { Reader } from './reader.ts';
import { fetchPart } from './rows.tsx';
import { sidesOf, type Range } from './sides.ts';
import type { Skeleton } from './skeleton.ts';

/** How many rows of a side are fetched at once. */
const PAGE = 40;

export function BranchSheet({ reader, leaf, onClose }: { reader: Reader; leaf: string; onClose(): void }): JSX.Element {
  const t = texts.value;
  const skeleton = reader.items.value?.skeleton;
  const mark = useSignal<ViewRow | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  useEffect(() => {
    if (!skeleton) return;
    findMark(reader, skeleton, leaf).then((row) => { mark.value = row; }, (error: Error) => { failure.value = error.message; });
  }, [reader, skeleton?.revision, leaf]);
  const row = mark.value;
  const sides = row && skeleton ? sidesOf(skeleton, row.row) : undefined;
  const leave = useLeave(onClose);
  const goTo = (target: number) => {
    leave();
    reader.goToRow(target);
  };
  return <SheetBox title={<><span class="branch"><Icon name="branch" /></span> {t.branchTitle}</>} onClose={onClose}>
    {failure.value && <p class="trouble" role="alert">{t.failedToLoad} {failure.value}</p>}
    {!sides && !failure.value && <p class="empty">{t.loading}</p>}
    {sides && <div class="columns">
      <Side key={`b${leaf}`} reader={reader} range={sides[0]} title={t.leftSide(row!.entries ?? 0)} goTo={goTo} />
      <Side key={`l${leaf}`} reader={reader} range={sides[1]} title={t.liveSide} goTo={goTo} />
    </div>}
  </SheetBox>;
}

/** Finds the row that begins the branch which ends in an entry. */
async function findMark(reader: Reader, skeleton: Skeleton, leaf: string): Promise<ViewRow> {
  // The branch that an entry belongs to begins at the last mark before it.
  const located = await call('history/locate', { ...reader.which, uuid: leaf });
  const at = skeleton.kinds.lastIndexOf('b', located.row);
  const { rows } = at < 0 ? { rows: [] } : await call('history/rows', { ...reader.which, revision: skeleton.revision, from: at, count: 1 });
  if (!rows[0]) throw new Error(texts.value.noBranch);
  return rows[0];
}

function Side({ reader, range: [first, last], title, goTo }: { reader: Reader; range: Range; title: string; goTo(row: number): void }): JSX.Element {
  const t = texts.value;
  const rows = useSignal<readonly ViewRow[]>([]);
  const failure = useSignal<string | undefined>(undefined);
  const next = first + rows.value.length;
  const load = () => {
    const count = Math.min(PAGE, last - next);
    if (count <= 0) return;
    call('history/rows', { ...reader.which, revision: reader.store.skeleton!.revision, from: next, count }).then((answer) => { rows.value = [...rows.value, ...answer.rows]; }, (error: Error) => { failure.value = error.message; });
  };
  useEffect(load, [first]);
  const shown = rows.value.filter(({ kind }) => kind === 'u' || kind === 'a' || kind === 'c');
  const changes = changesOf(rows.value);
  return <section class="column" aria-label={title}>
    <h3>{title}</h3>
    <p class="second">{changes.length > 0 ? changes.map(({ file, added, removed }) => <span key={file} class="changed" title={visible(file)}>{visible(baseName(file))} <span class="s-add">+{added}</span> <span class="s-del">−{removed}</span></span>) : t.noChangesHere}</p>
    {shown.map((row) => <SideRow key={row.row} reader={reader} row={row} goTo={goTo} />)}
    {failure.value && <p class="trouble">{failure.value}</p>}
    {next < last && rows.value.length > 0 && <button type="button" class="more" onClick={load}>{t.more}</button>}
    {next >= last && shown.length === 0 && <p class="empty">{t.nothingHere}</p>}
  </section>;
}

function SideRow({ reader, row, goTo }: { reader: Reader; row: ViewRow; goTo(row: number): void }): JSX.Element {
  const t = texts.value;
  if (row.kind === 'c' && row.tool) {
    return <button type="button" class="card-head" onClick={() => goTo(row.row)}><Icon name={toolIcon(row.tool.name)} /><b>{visible(row.tool.name)}</b><span class="title" dir="auto">{visible(row.tool.title)}</span>
      {row.tool.added != null && <span class="fact s-add">+{row.tool.added}</span>}{row.tool.removed != null && <span class="fact s-del">−{row.tool.removed}</span>}<span class="state" title={t.states[row.tool.state]}>{STATE_ICONS[row.tool.state]}</span></button>;
  }
  return <div class={row.kind === 'u' ? 'prompt' : 'answer'}>
    <header><b>{row.kind === 'u' ? t.you : t.claude}</b>{row.timestamp && <time dateTime={row.timestamp}>{clock(row.timestamp, language.value)}</time>}<button type="button" class="link" onClick={() => goTo(row.row)}>{t.showInConversation}</button></header>
    <div class="prose"><Nodes nodes={row.nodes ?? [{ t: 'text', text: row.summary }]} part={fetchPart(reader, row.row)} /></div>
  </div>;
}
