/** One file over a session: every read, edit and copy of it in order, with what it contained. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { STATE_ICONS, toolIcon, Icon } from '../icons.tsx';
import { bytes, clock, fullTime, visible } from '../format.ts';
import { Nodes } from '../nodes.tsx';
import { call } from '../rpc.ts';
import { SheetBox } from '../sheet.tsx';
import { language, texts } from '../text.ts';
import type { FileVersion, ToolCall, ViewNode, ViewRow } from '../wire.ts';
import { momentsOf, type Moment } from './moments.ts';
import type { Reader } from './reader.ts';
import { fetchPart } from './rows.tsx';

export function FileSheet({ reader, path, onClose }: { reader: Reader; path: string; onClose(): void }): JSX.Element {
  const t = texts.value;
  const moments = useSignal<readonly Moment[] | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const chosen = useSignal(0);
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    load(reader, path).then((found) => {
      moments.value = found;
      chosen.value = Math.max(0, found.length - 1);
    }, (error: Error) => { failure.value = error.message; });
  }, [reader, path]);
  useEffect(() => { list.current?.children[chosen.value]?.scrollIntoView({ block: 'nearest' }); }, [chosen.value]);
  const all = moments.value ?? [];
  const moment = all[chosen.value];
  return <SheetBox title={<><Icon name="file" /> <span class="mono" dir="ltr">{visible(path)}</span></>} onClose={onClose}>
    {failure.value && <p class="trouble" role="alert">{t.failedToLoad} {failure.value}</p>}
    {!moments.value && !failure.value && <p class="empty">{t.loading}</p>}
    {moments.value && all.length === 0 && <p class="empty">{t.noMoments}</p>}
    {moment && <div class="time-machine">
      <div class="moments">
        <label class="second">{t.moment(chosen.value + 1, all.length)}<input type="range" min={0} max={all.length - 1} value={chosen.value} aria-label={t.moments} onInput={(event) => { chosen.value = Number(event.currentTarget.value); }} /></label>
        <ol ref={list}>{all.map((one, index) => <li key={index}><button type="button" class="moment" data-kind={one.kind} aria-current={index === chosen.value || undefined} onClick={() => { chosen.value = index; }}><MomentLine moment={one} /></button></li>)}</ol>
      </div>
      <MomentView key={chosen.value} reader={reader} path={path} moments={all} index={chosen.value} onClose={onClose} />
    </div>}
  </SheetBox>;
}

function MomentLine({ moment }: { moment: Moment }): JSX.Element {
  const t = texts.value;
  const time = moment.time && <time dateTime={moment.time} title={fullTime(moment.time, language.value)}>{clock(moment.time, language.value)}</time>;
  if (moment.kind === 'version') return <><span class="lane" aria-hidden="true">◆</span><b>{t.version(moment.version.version)}</b><span class="second">{t.backups[moment.version.backup]}{moment.version.size === null ? '' : `, ${bytes(moment.version.size)}`}</span>{time}</>;
  return <><span class="lane" aria-hidden="true">{moment.kind === 'edit' ? '●' : '○'}</span><Icon name={toolIcon(moment.call.name ?? '')} /><b>{visible(moment.call.name ?? '?')}</b><span class="state">{STATE_ICONS[moment.call.state]}<span class="hidden">{t.states[moment.call.state]}</span></span>{time}</>;
}

/** What the file contained, or what a call did with it. */
function MomentView({ reader, path, moments, index, onClose }: { reader: Reader; path: string; moments: readonly Moment[]; index: number; onClose(): void }): JSX.Element {
  const t = texts.value;
  const moment = moments[index]!;
  const before = useMemo(() => moments.slice(0, index).filter((one) => one.kind === 'version').at(-1)?.version, [moments, index]);
  const record = moment.kind === 'version' ? moment.version.messageId : moment.call.uuid ?? `L${moment.call.line}`;
  return <div class="moment-view">
    <p class="moment-head">{record && <button type="button" class="link" onClick={() => { onClose(); void reader.goToRecord(record); }}>{t.showInConversation}</button>}</p>
    {moment.kind === 'version' ? <VersionView reader={reader} path={path} version={moment.version} before={before} /> : <CallView reader={reader} moment={moment} />}
  </div>;
}

function VersionView({ reader, path, version, before }: { reader: Reader; path: string; version: FileVersion; before: FileVersion | undefined }): JSX.Element {
  const t = texts.value;
  const isDiff = useSignal(before !== undefined);
  const answer = useSignal<{ nodes: ViewNode[]; next?: number | null } | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const { sessionId, workspacePath } = reader.which;
  const ask = (from: number) => call('history/file', { sessionId, ...(workspacePath && { workspacePath }), path, version: version.version, from, ...(isDiff.value && before && { against: before.version }) });
  useEffect(() => {
    answer.value = undefined;
    failure.value = undefined;
    ask(0).then((found) => { answer.value = found; }, (error: Error) => { failure.value = error.message; });
  }, [isDiff.value]);
  const more = async () => {
    const known = answer.value!;
    const found = await ask(known.next!);
    answer.value = { nodes: [...known.nodes, ...found.nodes], next: found.next ?? null };
  };
  return <>
    {before && <div class="levels" role="group"><button type="button" aria-pressed={isDiff.value} onClick={() => { isDiff.value = true; }}>{t.sinceVersion(before.version)}</button><button type="button" aria-pressed={!isDiff.value} onClick={() => { isDiff.value = false; }}>{t.wholeFile}</button></div>}
    {failure.value && <p class="trouble">{failure.value}</p>}
    {!answer.value && !failure.value && <p class="quiet">{t.loading}</p>}
    {answer.value && (answer.value.nodes.length > 0 ? <Nodes nodes={answer.value.nodes} part={() => Promise.reject(new Error(t.none))} /> : <p class="note">{t.backups[version.backup]}</p>)}
    {answer.value && isDiff.value && answer.value.nodes.every((node) => node.t === 'diff' && node.hunks.length === 0) && <p class="note">{t.noDifference}</p>}
    {answer.value?.next != null && <button type="button" class="more" onClick={() => void more()}>{t.more}</button>}
  </>;
}

function CallView({ reader, moment }: { reader: Reader; moment: Extract<Moment, { call: ToolCall }> }): JSX.Element {
  const t = texts.value;
  const row = useSignal<ViewRow | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  useEffect(() => {
    openCall(reader, moment.call).then((found) => { row.value = found; }, (error: Error) => { failure.value = error.message; });
  }, []);
  if (failure.value) return <p class="trouble">{failure.value}</p>;
  if (!row.value) return <p class="quiet">{t.loading}</p>;
  const part = fetchPart(reader, row.value.row);
  return <><Nodes nodes={row.value.input ?? []} part={part} /><Nodes nodes={row.value.output ?? []} part={part} /></>;
}

async function openCall(reader: Reader, { id, uuid, line }: ToolCall): Promise<ViewRow | undefined> {
  const place = id ? { callId: id } : uuid ? { uuid } : { line };
  const { row, revision } = await call('history/locate', { ...reader.which, ...place });
  const { rows } = await call('history/rows', { ...reader.which, revision, from: row, count: 1, open: [row] });
  return rows[0];
}

async function load(reader: Reader, path: string): Promise<Moment[]> {
  const { sessionId, workspacePath } = reader.which;
  const calls: ToolCall[] = [];
  let cursor: string | null | undefined;
  const files = call('history/files', { sessionId, ...(workspacePath && { workspacePath }) });
  do {
    const page = await call('history/tools', { ...reader.which, limit: 10_000, ...(cursor && { cursor }) });
    calls.push(...page.calls.filter((one) => one.files.includes(path)));
    cursor = page.nextCursor;
  } while (cursor);
  const file = (await files).files.find((one) => one.path === path);
  return momentsOf(calls, file?.versions ?? []);
}
