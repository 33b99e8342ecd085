/** One file over a session, or over all of them: every read, edit and copy of it in order, with what it contained. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { STATE_ICONS, toolIcon, Icon } from '../icons.tsx';
import { bytes, clock, fullTime, visible } from '../format.ts';
import { Nodes, type FetchPart } from '../nodes.tsx';
import { call, type Which } from '../rpc.ts';
import { format } from '../route.ts';
import { sessions } from '../session-list.ts';
import { SheetBox, useLeave } from '../sheet.tsx';
import { language, texts } from '../text.ts';
import type { FileVersion, ToolCall, ViewNode, ViewRow } from '../wire.ts';
import { inOrder, isSame, isSameSession, momentsOf, type Moment } from './moments.ts';
import type { Reader } from './reader.ts';

export function FileSheet({ reader, path, onClose }: { reader: Reader; path: string; onClose(): void }): JSX.Element {
  const t = texts.value;
  const moments = useSignal<readonly Moment[] | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const chosen = useSignal(0);
  /** How many sessions were read, of those that name the file; undefined if only this one is wanted. */
  const wide = useSignal<{ done: number; of: number } | undefined>(undefined);
  const list = useRef<HTMLOListElement>(null);
  const show = (found: readonly Moment[]) => {
    const before = moments.peek()?.[chosen.peek()];
    moments.value = found;
    // The chosen moment stays chosen when moments of other sessions come between.
    const kept = before ? found.findIndex((one) => isSame(one, before)) : -1;
    chosen.value = kept >= 0 ? kept : Math.max(0, found.length - 1);
  };
  useEffect(() => {
    momentsIn(reader.which, path).then(show, (error: Error) => { failure.value = error.message; });
  }, [reader, path]);
  useEffect(() => { list.current?.children[chosen.value]?.scrollIntoView({ block: 'nearest' }); }, [chosen.value, moments.value]);
  const widen = async () => {
    wide.value = { done: 0, of: 0 };
    try {
      const others = await sessionsWith(path, reader.which);
      wide.value = { done: 0, of: others.length };
      for (const which of others) {
        const found = await momentsIn(which, path);
        wide.value = { done: wide.value.done + 1, of: others.length };
        show(inOrder([...moments.peek() ?? [], ...found]));
      }
    } catch (error) {
      failure.value = (error as Error).message;
    }
  };
  const all = moments.value ?? [];
  const moment = all[chosen.value];
  return <SheetBox title={<><Icon name="file" /> <span class="mono" dir="ltr">{visible(path)}</span></>} onClose={onClose}>
    {failure.value && <p class="trouble" role="alert">{t.failedToLoad} {failure.value}</p>}
    {!moments.value && !failure.value && <p class="empty">{t.loading}</p>}
    {moments.value && <p class="across">{wide.value ? <span class="second" role="status">{t.otherSessions(wide.value.done, wide.value.of)}</span> : <button type="button" onClick={() => void widen()}>{t.inAllSessions}</button>}</p>}
    {moments.value && all.length === 0 && <p class="empty">{t.noMoments}</p>}
    {moment && <div class="time-machine">
      <div class="moments">
        <label class="second">{t.moment(chosen.value + 1, all.length)}<input type="range" min={0} max={all.length - 1} value={chosen.value} aria-label={t.moments} onInput={(event) => { chosen.value = Number(event.currentTarget.value); }} /></label>
        <ol ref={list}>{all.map((one, index) => <li key={index}>
          {wide.value && !isSameSession(one.which, all[index - 1]?.which) && <p class="moment-session" dir="auto">{titleOf(one.which)}</p>}
          <button type="button" class="moment" data-kind={one.kind} aria-current={index === chosen.value || undefined} onClick={() => { chosen.value = index; }}><MomentLine moment={one} /></button></li>)}</ol>
      </div>
      <MomentView key={`${chosen.value} ${moment.which.sessionId}`} reader={reader} moments={all} index={chosen.value} onClose={onClose} />
    </div>}
  </SheetBox>;
}

function titleOf(which: Which): string {
  return visible(sessions.value.find(({ id }) => id === which.sessionId)?.title ?? '') || which.sessionId.slice(0, 8);
}

function MomentLine({ moment }: { moment: Moment }): JSX.Element {
  const t = texts.value;
  const time = moment.time && <time dateTime={moment.time} title={fullTime(moment.time, language.value)}>{clock(moment.time, language.value)}</time>;
  if (moment.kind === 'version') return <><span class="lane" aria-hidden="true">◆</span><b>{t.version(moment.version.version)}</b><span class="second">{t.backups[moment.version.backup]}{moment.version.size === null ? '' : `, ${bytes(moment.version.size)}`}</span>{time}</>;
  return <><span class="lane" aria-hidden="true">{moment.kind === 'edit' ? '●' : '○'}</span><Icon name={toolIcon(moment.call.name ?? '')} /><b>{visible(moment.call.name ?? '?')}</b><span class="state">{STATE_ICONS[moment.call.state]}<span class="hidden">{t.states[moment.call.state]}</span></span>{time}</>;
}

/** What the file contained, or what a call did with it. */
function MomentView({ reader, moments, index, onClose }: { reader: Reader; moments: readonly Moment[]; index: number; onClose(): void }): JSX.Element {
  const t = texts.value;
  const moment = moments[index]!;
  const { which } = moment;
  // The copies of a session are numbered by it, and only they can be compared.
  const before = useMemo(() => moments.slice(0, index).flatMap((one) => (one.kind === 'version' && isSameSession(one.which, which) ? [one.version] : [])).at(-1), [moments, index]);
  const record = moment.kind === 'version' ? moment.version.messageId : moment.call.uuid ?? `L${moment.call.line}`;
  const leave = useLeave(onClose);
  const isHere = isSameSession(which, reader.which) && which.agentId === reader.which.agentId;
  const { agentId, workspacePath } = which;
  return <div class="moment-view">
    <p class="moment-head">{record && (isHere ? <button type="button" class="link" onClick={() => { leave(); void reader.goToRecord(record); }}>{t.showInConversation}</button>
      : <a href={format({ place: 'conversation', session: which.sessionId, level: 'work', record, ...(agentId && { agent: agentId }), ...(workspacePath && { workspace: workspacePath }) })}>{titleOf(which)} →</a>)}</p>
    {moment.kind === 'version' ? <VersionView which={which} path={moment.path} version={moment.version} before={before} /> : <CallView moment={moment} />}
  </div>;
}

function VersionView({ which: { sessionId, workspacePath }, path, version, before }: { which: Which; path: string; version: FileVersion; before: FileVersion | undefined }): JSX.Element {
  const t = texts.value;
  const isDiff = useSignal(before !== undefined);
  const answer = useSignal<{ nodes: ViewNode[]; next?: number | null } | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
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

function CallView({ moment: { call: made, which } }: { moment: Extract<Moment, { call: ToolCall }> }): JSX.Element {
  const t = texts.value;
  const opened = useSignal<{ row: ViewRow; part: FetchPart } | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  useEffect(() => {
    openCall(which, made).then((found) => { opened.value = found; }, (error: Error) => { failure.value = error.message; });
  }, []);
  if (failure.value) return <p class="trouble">{failure.value}</p>;
  if (!opened.value) return <p class="quiet">{t.loading}</p>;
  const { row, part } = opened.value;
  return <><Nodes nodes={row.input ?? []} part={part} /><Nodes nodes={row.output ?? []} part={part} /></>;
}

async function openCall(which: Which, { id, uuid, line }: ToolCall): Promise<{ row: ViewRow; part: FetchPart } | undefined> {
  const place = id ? { callId: id } : uuid ? { uuid } : { line };
  const { row, revision } = await call('history/locate', { ...which, ...place });
  const { rows } = await call('history/rows', { ...which, revision, from: row, count: 1, open: [row] });
  const part: FetchPart = (part, from, count) => call('history/part', { ...which, revision, row, part, ...(from !== undefined && { from }), ...(count !== undefined && { count }) });
  return rows[0] && { row: rows[0], part };
}

/** At most so many other sessions are read. */
const MOST_SESSIONS = 50;

/** The other sessions that read or changed a file, most recent first. */
async function sessionsWith(path: string, here: Which): Promise<Which[]> {
  const { sessions: found } = await call('history/list', { filePath: path, limit: MOST_SESSIONS + 1 });
  return found.map(({ id, path }) => ({ sessionId: id, ...(typeof path === 'string' && { workspacePath: path }) })).filter((which) => which.sessionId !== here.sessionId).slice(0, MOST_SESSIONS);
}

async function momentsIn(which: Which, path: string): Promise<Moment[]> {
  const { sessionId, workspacePath } = which;
  const calls: ToolCall[] = [];
  let cursor: string | null | undefined;
  const files = call('history/files', { sessionId, ...(workspacePath && { workspacePath }) });
  do {
    const page = await call('history/tools', { ...which, limit: 10_000, ...(cursor && { cursor }) });
    calls.push(...page.calls.filter((one) => one.files.includes(path)).map(({ input: _, ...rest }) => rest));
    cursor = page.nextCursor;
  } while (cursor);
  const file = (await files).files.find((one) => one.path === path);
  return momentsOf(calls, file?.versions ?? [], which, path);
}
