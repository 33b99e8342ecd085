import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Items, foldOf, isFold } from '../src/conversation/items.ts';
import { Skeleton, lastAtMost, neighbour } from '../src/conversation/skeleton.ts';
import { LEVELS } from '../src/route.ts';

function skeleton(kinds: string, turns: number[], failed: number[] = []): Skeleton {
  return new Skeleton({ revision: '1', total: kinds.length, from: 0, kinds, lines: [...kinds].map(() => 1), turns, failed, left: [[2, 4]], offset: 0 });
}

const shown = (kinds: string, turns: number[], level: 'read' | 'work' | 'raw', failed: number[] = [], flipped: number[] = []) =>
  [...new Items(skeleton(kinds, turns, failed), level, new Set(flipped)).list];

test('work shows a prompt, a fold line, the work and the answer', () => {
  expect(shown('utcacau', [0, 6], 'work')).toEqual([0, foldOf(0), 1, 2, 3, 4, 5, 6]);
});

test('rows of context that follow each other are one line until it is opened', () => {
  const kinds = 'uxxxxaxxau';
  const closed = new Items(skeleton(kinds, [0, 9]), 'work', new Set());
  expect([...closed.list]).toEqual([0, foldOf(0), 1, 5, 6, 7, 8, 9]);
  expect([...closed.runs]).toEqual([[1, 4]]);
  expect(closed.folds.get(0)!.context).toBe(6);
  expect([closed.has(3), closed.list[closed.find(3)]]).toEqual([false, 1]);
  const open = new Items(skeleton(kinds, [0, 9]), 'work', new Set(), new Set([1]));
  expect([...open.list]).toEqual([0, foldOf(0), 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(open.folds.get(0)!.context).toBe(6);
  expect([...new Items(skeleton(kinds, [0, 9]), 'raw', new Set()).list]).toHaveLength(10);
});

test('read folds the work, but shows failed calls and marks', () => {
  expect(shown('utcacka', [0], 'read', [4])).toEqual([0, foldOf(0), 4, 5, 6]);
});

test('the last text is the answer if a turn ends with a call', () => {
  expect(shown('uacacu', [0, 5], 'read')).toEqual([0, foldOf(0), 3, 5]);
});

test('a turn without work has no fold line, and records are in raw only', () => {
  expect(shown('urar', [0], 'work')).toEqual([0, 2]);
  expect(shown('urar', [0], 'raw')).toEqual([0, 1, 2, 3]);
});

test('flipping a turn opens or closes it alone', () => {
  expect(shown('ucaucau', [0, 3, 6], 'work', [], [0])).toEqual([0, foldOf(0), 2, 3, foldOf(1), 4, 5, 6]);
  expect(shown('ucaucau', [0, 3, 6], 'read', [], [0])).toEqual([0, foldOf(0), 1, 2, 3, foldOf(1), 5, 6]);
});

test('in every level, items are in order, each is found, and no conversation is lost without a fold line', () => {
  const kinds = fc.array(fc.constantFrom(...'uatcnxxxxkbgodri'), { maxLength: 120 }).map((kinds) => kinds.join(''));
  fc.assert(fc.property(kinds, fc.array(fc.nat(150)), fc.array(fc.nat(20)), fc.constantFrom(...LEVELS), (kinds, failed, flipped, level) => {
    const turns = [...kinds].flatMap((kind, row) => (kind === 'u' ? [row] : []));
    const items = new Items(skeleton(kinds, turns, failed.filter((row) => kinds[row] === 'c')), level, new Set(flipped));
    const orders = [...items.list].map((item) => items.order(item));
    expect(orders).toEqual([...orders].sort((one, other) => one - other));
    items.list.forEach((item, index) => expect(items.find(item)).toBe(index));
    const rows = new Set([...items.list].filter((item) => !isFold(item)));
    [...kinds].forEach((kind, row) => {
      const turn = items.skeleton.turnOf(row);
      const first = items.list[items.find(row)]!;
      const isInRun = row < first + (items.runs.get(first) ?? 0);
      if (!rows.has(row) && kind !== 'r' && !isInRun) expect(items.has(foldOf(turn))).toBe(true);
    });
  }));
});

test('a skeleton grows behind what is known', () => {
  const before = skeleton('ua', [0]);
  const after = new Skeleton({ revision: '1', total: 4, from: 2, kinds: 'uc', lines: [2, 3], turns: [0, 2], failed: [3], left: [], offset: 9 }, before);
  expect([after.kinds, after.lines, after.total, after.turnOf(3), after.rowsOf(0)]).toEqual(['uauc', [1, 1, 2, 3], 4, 1, [0, 2]]);
});

test('rows beside the live conversation are known', () => {
  const { isLeft } = { isLeft: (row: number) => skeleton('uaaaa', [0]).isLeft(row) };
  expect([0, 1, 2, 3, 4].map(isLeft)).toEqual([false, false, true, true, false]);
});

test('neighbours in a sorted list', () => {
  expect(lastAtMost([2, 4, 4, 8], 4)).toBe(2);
  expect([neighbour([2, 5, 9], 5, 1), neighbour([2, 5, 9], 5, -1), neighbour([2, 5, 9], 9, 1), neighbour([2, 5, 9], 1, -1)]).toEqual([9, 2, undefined, undefined]);
});
