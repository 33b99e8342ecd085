import { expect, test } from 'vitest';
import { compare } from '../src/conversation/compacted.ts';
import { inOrder, momentsOf, nextEdit } from '../src/conversation/moments.ts';
import { sidesOf } from '../src/conversation/sides.ts';
import { isUnanswered, stopsOf } from '../src/conversation/skeleton.ts';
import { hasOf } from '../src/session-list.ts';
import type { ChatMessage, FileVersion, Stats, ToolCall } from '../src/wire.ts';

const user = (id: string, content: string, more: Partial<ChatMessage> = {}) => ({ id, role: 'user', content, ...more }) as ChatMessage;
const reply = (id: string, content: string) => ({ id, role: 'assistant', content }) as ChatMessage;

test('a compaction keeps what is sent again, and the summary stands for the rest', () => {
  const before = [user('u1', 'Why does the battery drain?'), reply('a1', 'The dial draws on every frame.'), user('u2', 'And the dial?'), reply('a2', 'Stop it when hidden.')];
  const after = [user('s', 'Summary: the battery drains.', { summary: true }), reply('a2', 'Stop it when hidden.'), user('f', 'src/dial.ts')];
  const { before: left, after: right } = compare(before, after);
  expect(left.map(({ fate }) => fate)).toEqual(['summarised', 'summarised', 'summarised', 'kept']);
  expect(right.map(({ origin }) => origin)).toEqual(['summary', 'kept', 'added']);
});

test('a prompt that was joined with the summary counts as kept', () => {
  const after = [user('s', 'Summary: the battery drains.\nAnd the dial? 屏幕关着的时候不用画。')];
  const { before } = compare([user('u2', 'And the dial? 屏幕关着的时候不用画。'), user('u3', 'the')], after);
  expect(before.map(({ fate }) => fate)).toEqual(['kept', 'summarised']);
});

test('without a summary, what is not sent again is dropped', () => {
  const { before, after } = compare([user('u1', 'one and more words'), reply('a1', 'two')], [reply('a1', 'two')]);
  expect(before.map(({ fate }) => fate)).toEqual(['dropped', 'kept']);
  expect(after.map(({ origin }) => origin)).toEqual(['kept']);
});

test('the sides of a fork are the branch behind its mark and the next live rows', () => {
  const kinds = 'uabuacbuaua';
  const left = new Set([2, 3, 4, 5, 6, 7, 8]);
  const skeleton = { kinds, total: kinds.length, isLeft: (row: number) => left.has(row) };
  expect(sidesOf(skeleton, 2)).toEqual([[3, 6], [9, 11]]);
  expect(sidesOf(skeleton, 6)).toEqual([[7, 9], [9, 11]]);
  const atEnd = { kinds: 'ubu', total: 3, isLeft: (row: number) => row > 0 };
  expect(sidesOf(atEnd, 1)).toEqual([[2, 3], [3, 3]]);
});

test('reads, edits and copies of a file are in the order of time', () => {
  const call = (name: string, timestamp: string | null) => ({ name, timestamp }) as ToolCall;
  const version = (version: number, time: string | null) => ({ version, time }) as FileVersion;
  const moments = momentsOf([call('Read', '2026-01-01T10:00:00Z'), call('Edit', '2026-01-01T10:05:00Z'), call('Read', null)], [version(1, '2026-01-01T10:05:00Z'), version(2, '2026-01-01T10:06:00Z')], { sessionId: 's' }, '/a');
  expect(moments.map((moment) => (moment.kind === 'version' ? `v${moment.version.version}` : moment.kind))).toEqual(['read', 'v1', 'edit', 'read', 'v2']);
});

test('moments of several sessions are one lane, and those of each stay in order', () => {
  const call = (timestamp: string | null) => ({ name: 'Edit', timestamp, state: 'ok' }) as ToolCall;
  const first = momentsOf([call('2026-01-01T10:00:00Z'), call(null), call('2026-01-03T10:00:00Z')], [], { sessionId: 'a' }, '/x');
  const second = momentsOf([call('2026-01-02T10:00:00Z')], [], { sessionId: 'b' }, '/x');
  expect(inOrder([...first, ...second]).map(({ which, time }) => [which.sessionId, time?.slice(8, 10)])).toEqual([['a', '01'], ['a', undefined], ['b', '02'], ['a', '03']]);
});

test('the next edit of a file is the next call that changed it', () => {
  const all = ['Read', 'Edit', 'Edit', 'Read', 'Write'].map((name, index) => ({ name, index, state: index === 2 ? 'error' as const : 'ok' as const }));
  const at = (here: number, by: 1 | -1) => nextEdit(all, here, by)?.index;
  expect([at(0, 1), at(1, 1), at(4, 1), at(4, -1), at(1, -1), at(-1, 1)]).toEqual([1, 4, undefined, 1, undefined, 1]);
});

test('a turn is unanswered until text follows its last call', () => {
  const of = (kinds: string) => isUnanswered({ kinds, total: kinds.length });
  expect([of('ua'), of('uaca'), of('uacan'), of('')]).toEqual([false, false, false, false]);
  expect([of('u'), of('uac'), of('uat'), of('uau'), of('uacn')]).toEqual([true, true, true, true, true]);
});

test('the slider of the model view stops at prompts, replies, thinking and calls', () => {
  expect(stopsOf('unatckbr')).toEqual([0, 2, 3, 4]);
});

test('sessions are filtered by what their counts say', () => {
  const stats = { tools: { Bash: { calls: 2, errors: 1 } }, compactions: 0, branches: 1, problems: 0, gaps: 2 } as unknown as Stats;
  expect([hasOf(stats, 'errors'), hasOf(stats, 'compactions'), hasOf(stats, 'branches'), hasOf(stats, 'damage')]).toEqual([true, false, true, true]);
});
