/** Calls that have to do with each other, as far as the transcript says so: they name the same file, or make the same call again. */
import type { ToolCall } from '../wire.ts';
import { changesFile, isEdit } from './moments.ts';

/** What another call is to the one that was asked about. */
export type Relationship = 'readBefore' | 'editBefore' | 'failedBefore' | 'succeededLater';

type Call = Pick<ToolCall, 'name' | 'state' | 'files' | 'subject'>;

export interface RelatedCall<T> { relationship: Relationship; call: T }

/** The calls that the call at an index has to do with: what was known of the file that it changes, and another attempt at the same. */
export function relatedCalls<T extends Call>(all: readonly T[], here: number): RelatedCall<T>[] {
  const call = all[here];
  if (!call) return [];
  const before = all.slice(0, here);
  const found: [Relationship, T | undefined][] = [];
  if (changesFile(call)) {
    found.push(['readBefore', before.findLast((other) => other.name === 'Read' && other.state === 'ok' && namesSameFile(other, call))]);
    found.push(['editBefore', before.findLast((other) => isEdit(other) && namesSameFile(other, call))]);
  }
  if (call.state === 'error') found.push(['succeededLater', all.slice(here + 1).find((other) => other.state === 'ok' && isSameAttempt(other, call))]);
  if (call.state === 'ok') {
    const last = before.findLast((other) => isSameAttempt(other, call));
    found.push(['failedBefore', last?.state === 'error' ? last : undefined]);
  }
  return found.flatMap(([relationship, call]) => (call ? [{ relationship, call }] : []));
}

function namesSameFile(one: Call, other: Call): boolean {
  return one.files.some((file) => other.files.includes(file));
}

/** Whether a call attempts what another one does: a change of the same file, or the same tool with the same subject, such as a command. */
function isSameAttempt(one: Call, other: Call): boolean {
  if (changesFile(one) && changesFile(other)) return namesSameFile(one, other);
  return one.name === other.name && one.subject !== '' && one.subject === other.subject;
}
