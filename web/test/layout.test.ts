import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Layout, type Source } from '../src/list/layout.ts';

/** Rows that are named by numbers, with the heights that they really have. */
class Rows implements Source {
  constructor(public keys: number[]) {}
  get count() { return this.keys.length; }
  key(row: number) { return this.keys[row]!; }
  estimate() { return 60; }
  find(key: number | string) { return Math.max(0, this.keys.indexOf(key as number)); }
}

const SCREEN = 800;
const keys = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);
/** The height of a row when it is measured: anything but the estimate. */
const real = (key: number) => 20 + ((Math.abs(key) * 7919) % 400);

function start(count: number, place: number): Layout {
  const layout = new Layout();
  layout.height = SCREEN;
  layout.replace(new Rows(keys(0, count)));
  layout.moveTo(place);
  measureScreen(layout);
  return layout;
}

/** Measures the rows on the screen, as the list does, until nothing is new. */
function measureScreen(layout: Layout): void {
  for (let round = 0; round < 20; round++) {
    layout.settle();
    const [first, last] = layout.rows(400);
    let isNew = false;
    for (let row = first; row < last; row++) isNew = layout.measure(row, real(layout.source.key(row) as number)) || isNew;
    if (!isNew) return;
  }
  throw new Error('the layout does not come to rest');
}

/** Where the rows on the screen are, by their keys. */
function screen(layout: Layout): Map<number, number> {
  const [first, last] = layout.rows(0);
  return new Map(keys(first, last - first).map((row) => [layout.source.key(row) as number, layout.top(row)]));
}

const change = fc.oneof(
  fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 1, max: 50 }) }),
  fc.record({ kind: fc.constant('prepend' as const), count: fc.integer({ min: 1, max: 50 }) }),
  fc.record({ kind: fc.constant('far' as const), row: fc.nat(10_000), height: fc.integer({ min: 1, max: 3000 }) }),
);

test('what is on the screen in the middle of a list does not move, whatever happens elsewhere', () => {
  fc.assert(fc.property(fc.double({ min: 0.1, max: 0.9, noNaN: true }), fc.array(change, { maxLength: 20 }), (share, changes) => {
    const layout = start(1_000, share * 60_000);
    const before = screen(layout);
    let [low, high] = [0, 1_000];
    for (const step of changes) {
      if (step.kind === 'append') {
        high += step.count;
        layout.source = new Rows(keys(low, high - low));
        layout.append();
      } else if (step.kind === 'prepend') {
        low -= step.count;
        layout.replace(new Rows(keys(low, high - low)));
      } else {
        const row = step.row % layout.source.count;
        const [first, last] = layout.rows(400);
        if (row < first || row >= last) layout.measure(row, step.height);
      }
      measureScreen(layout);
    }
    const after = screen(layout);
    for (const [key, top] of before) if (after.has(key)) expect(Math.abs(after.get(key)! - top)).toBeLessThan(1e-6);
    expect([...before.keys()].some((key) => after.has(key))).toBe(true);
  }));
});

test('scrolling moves all rows by the same distance, although rows turn out higher or lower than estimated', () => {
  fc.assert(fc.property(fc.array(fc.integer({ min: -600, max: 600 }), { maxLength: 60 }), (steps) => {
    const layout = start(5_000, 150_000);
    for (const step of steps) {
      const before = screen(layout);
      layout.moveTo(layout.place + step);
      measureScreen(layout);
      const after = screen(layout);
      for (const [key, top] of before) if (after.has(key)) expect(Math.abs(after.get(key)! - (top - step))).toBeLessThan(1e-6);
    }
  }));
});

test('rows that were on the screen keep their distances when rows above them are measured', () => {
  const layout = start(5_000, 150_000);
  for (const step of [-337, -114, -195, -406, -116, -600]) {
    const before = screen(layout);
    layout.moveTo(layout.place + step);
    measureScreen(layout);
    const after = screen(layout);
    for (const [key, top] of before) if (after.has(key)) expect(Math.abs(after.get(key)! - (top - step))).toBeLessThan(1e-6);
  }
});

test('who follows stays at the end', () => {
  const layout = start(100, 0);
  layout.following = true;
  measureScreen(layout);
  for (let round = 1; round <= 50; round++) {
    layout.source = new Rows(keys(0, 100 + 3 * round));
    layout.append();
    measureScreen(layout);
    expect(Math.abs(layout.place - (layout.total - SCREEN))).toBeLessThan(1e-6);
  }
});

test('a short list starts at the top, and an empty one has no rows', () => {
  const layout = start(3, 500);
  expect([layout.place, layout.rows(0)]).toEqual([0, [0, 3]]);
  const empty = start(0, 10);
  expect([empty.rows(400), empty.anchor]).toEqual([[0, 0], undefined]);
});

test('a row that is closed while its top is above the screen comes back to the top', () => {
  const layout = start(1_000, 30_000);
  const row = layout.rows(0)[0];
  layout.measure(row, 5_000);
  layout.anchorAt(row, -3_000);
  layout.measure(row, 28);
  layout.settle();
  expect(layout.top(row)).toBe(0);
});

test('the row below the top of the screen is the one that is there', () => {
  const layout = start(100, 3000);
  for (const below of [0, 36, 400]) {
    const row = layout.rowAt(below);
    expect(layout.top(row)).toBeLessThanOrEqual(below);
    expect(layout.top(row) + real(row)).toBeGreaterThan(below);
  }
  layout.anchorAt(50, 36);
  expect([layout.rowAt(35), layout.rowAt(36)]).toEqual([49, 50]);
  expect(new Layout().rowAt(36)).toBe(0);
});
