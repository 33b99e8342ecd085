/** What happened to one file, in the order of time. */
import type { FileVersion, ToolCall } from '../wire.ts';

export type Moment = { time: string | null } & ({ kind: 'read' | 'edit'; call: ToolCall } | { kind: 'version'; version: FileVersion });

const EDITS = new Set(['Edit', 'MultiEdit', 'Write', 'NotebookEdit']);

/** Brings calls and versions of a file into one order. What has no time stays behind what was recorded before it. */
export function momentsOf(calls: readonly ToolCall[], versions: readonly FileVersion[]): Moment[] {
  const ofCalls = withTimes(calls.map((call): Moment => ({ kind: EDITS.has(call.name ?? '') ? 'edit' : 'read', call, time: call.timestamp })));
  const ofVersions = withTimes(versions.map((version): Moment => ({ kind: 'version', version, time: version.time })));
  // The sort is stable, and a copy is made before the edit at the same time.
  return [...ofVersions, ...ofCalls].sort((one, other) => (one.order < other.order ? -1 : Number(one.order > other.order))).map(({ moment }) => moment);
}

function withTimes(moments: readonly Moment[]): { moment: Moment; order: string }[] {
  let last = '';
  return moments.map((moment) => {
    last = moment.time ?? last;
    return { moment, order: last };
  });
}
