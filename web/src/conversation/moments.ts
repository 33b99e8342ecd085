/** What happened to one file, in the order of time. */
import type { Which } from '../rpc.ts';
import type { FileVersion, ToolCall } from '../wire.ts';

/** `which` is the transcript that it is in. */
export type Moment = { time: string | null; which: Which; path: string } & ({ kind: 'read' | 'edit'; call: ToolCall } | { kind: 'version'; version: FileVersion });

const EDITS = new Set(['Edit', 'MultiEdit', 'Write', 'NotebookEdit']);

/** Whether a call would change a file, also if it failed. */
export function changesFile({ name }: Pick<ToolCall, 'name'>): boolean {
  return EDITS.has(name ?? '');
}

export function isEdit(call: Pick<ToolCall, 'name' | 'state'>): boolean {
  return changesFile(call) && call.state === 'ok';
}

/** The next call that changed a file after the call at an index, or before it; `all` are the calls that name the file. */
export function nextEdit<T extends Pick<ToolCall, 'name' | 'state'>>(all: readonly T[], here: number, by: 1 | -1): T | undefined {
  return by > 0 ? all.slice(here + 1).find(isEdit) : all.slice(0, Math.max(0, here)).findLast(isEdit);
}

/** Brings calls and versions of a file into one order. What has no time stays after what was recorded before it. */
export function momentsOf(calls: readonly ToolCall[], versions: readonly FileVersion[], which: Which, path: string): Moment[] {
  const ofCalls = withTimes(calls.map((call): Moment => ({ kind: changesFile(call) ? 'edit' : 'read', call, time: call.timestamp, which, path })));
  const ofVersions = withTimes(versions.map((version): Moment => ({ kind: 'version', version, time: version.time, which, path })));
  // The sort is stable, and a copy is made before the edit at the same time.
  return sorted([...ofVersions, ...ofCalls]);
}

/** Brings moments of several sessions into one order; the moments of each are in order. */
export function inOrder(moments: readonly Moment[]): Moment[] {
  const sessions = new Map<string, Moment[]>();
  for (const moment of moments) sessions.set(moment.which.sessionId, [...(sessions.get(moment.which.sessionId) ?? []), moment]);
  return sorted([...sessions.values()].flatMap(withTimes));
}

export function isSameSession(one: Which, other: Which | undefined): boolean {
  return one.sessionId === other?.sessionId && one.workspacePath === other.workspacePath;
}

export function isSame(one: Moment, other: Moment): boolean {
  const name = (moment: Moment) => (moment.kind === 'version' ? `v${moment.version.version}` : `${moment.call.line} ${moment.call.id ?? ''}`);
  return isSameSession(one.which, other.which) && name(one) === name(other);
}

function sorted(moments: { moment: Moment; order: string }[]): Moment[] {
  return moments.sort((one, other) => (one.order < other.order ? -1 : Number(one.order > other.order))).map(({ moment }) => moment);
}

function withTimes(moments: readonly Moment[]): { moment: Moment; order: string }[] {
  let last = '';
  return moments.map((moment) => {
    last = moment.time ?? last;
    return { moment, order: last };
  });
}
