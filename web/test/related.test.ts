import { expect, test } from 'vitest';
import { relatedCalls } from '../src/conversation/related.ts';
import type { ToolCall } from '../src/wire.ts';

const call = (name: string, subject: string, state: ToolCall['state'] = 'ok') => ({ name, subject, state, files: name === 'Bash' ? [] : [subject] });
/** What the call at an index is related to, by the indices of these calls. */
const related = (calls: readonly ReturnType<typeof call>[], here: number) => relatedCalls(calls, here).map(({ relationship, call: other }) => [relationship, calls.indexOf(other)]);

test('an edit leads to the last read and the last edit of its file', () => {
  const calls = [call('Read', 'dial.ts'), call('Edit', 'dial.ts'), call('Read', 'dial.ts'), call('Read', 'dial.ts', 'error'), call('Read', 'other.ts'), call('Write', 'dial.ts')];
  expect(related(calls, 5)).toEqual([['readBefore', 2], ['editBefore', 1]]);
  expect(related(calls, 1)).toEqual([['readBefore', 0]]);
});

test('a failed command leads to the next run of it that succeeded, and that one leads back', () => {
  const calls = [call('Bash', 'npm test', 'error'), call('Bash', 'npm run lint'), call('Bash', 'npm test', 'denied'), call('Bash', 'npm test')];
  expect(related(calls, 0)).toEqual([['succeededLater', 3]]);
  expect(related(calls, 1)).toEqual([]);
  expect(related(calls, 3)).toEqual([]);
  expect(related([calls[0]!, calls[3]!], 1)).toEqual([['failedBefore', 0]]);
});

test('a failed edit leads to the edit of the same file that succeeded, whatever its tool', () => {
  const calls = [call('Edit', 'dial.ts', 'error'), call('Write', 'other.ts'), call('Write', 'dial.ts')];
  expect(related(calls, 0)).toEqual([['succeededLater', 2]]);
  expect(related(calls, 2)).toEqual([['failedBefore', 0]]);
});

test('calls without a subject, and an index outside of the calls, are related to nothing', () => {
  expect(related([call('Bash', '', 'error'), call('Bash', '')], 0)).toEqual([]);
  expect(related([call('Bash', 'npm test')], -1)).toEqual([]);
});
