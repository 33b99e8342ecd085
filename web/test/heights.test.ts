import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Heights } from '../src/list/heights.ts';
import { MAX_HEIGHT, barHeight, fromBar, toBar } from '../src/list/scrollbar.ts';

const rows = fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 200 });
const sum = (heights: number[], end: number) => heights.slice(0, end).reduce((all, height) => all + height, 0);

test('sums and rows agree with a plain array after any changes', () => {
  const change = fc.oneof(
    fc.record({ push: fc.integer({ min: 0, max: 5_000 }) }),
    fc.record({ row: fc.nat(300), height: fc.integer({ min: 0, max: 5_000 }) }),
  );
  fc.assert(fc.property(rows, fc.array(change), (start, changes) => {
    const plain = [...start];
    const heights = new Heights(plain);
    for (const step of changes) {
      if ('push' in step) {
        plain.push(step.push);
        heights.push(step.push);
      } else if (step.row < plain.length) {
        expect(heights.set(step.row, step.height)).toBe(step.height - plain[step.row]!);
        plain[step.row] = step.height;
      }
    }
    expect(heights.count).toBe(plain.length);
    expect(heights.total).toBe(sum(plain, plain.length));
    for (let row = 0; row <= plain.length; row++) expect(heights.above(row)).toBe(sum(plain, row));
  }));
});

test('the row at a distance covers it', () => {
  fc.assert(fc.property(fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 200 }), fc.double({ min: -1, max: 2, noNaN: true }), (plain, fraction) => {
    const heights = new Heights(plain);
    const distance = fraction * heights.total;
    const row = heights.at(distance);
    const inside = Math.max(0, Math.min(distance, heights.total - 1e-6));
    expect(heights.above(row)).toBeLessThanOrEqual(inside);
    expect(heights.above(row + 1)).toBeGreaterThan(inside - 1e-6);
  }));
});

test('an empty list has no height', () => {
  const heights = new Heights();
  expect([heights.count, heights.total, heights.at(100), heights.above(7), heights.of(3)]).toEqual([0, 0, 0, 0, 0]);
});

test('a place survives the way to the scroll bar and back, at any height', () => {
  const total = fc.integer({ min: 1_000, max: 200_000_000 });
  fc.assert(fc.property(total, fc.double({ min: 0, max: 1, noNaN: true }), (total, fraction) => {
    const place = fraction * (total - 800);
    const position = toBar(place, total, 800);
    expect(position).toBeGreaterThanOrEqual(0);
    expect(position).toBeLessThanOrEqual(barHeight(total) - 800 + 1e-3);
    expect(Math.abs(fromBar(position, total, 800) - place)).toBeLessThan(0.01);
  }));
});

test('the mapping is monotonic, and exact at both ends', () => {
  const total = 60_000_000;
  expect(toBar(0, total, 800)).toBe(0);
  expect(toBar(500, total, 800)).toBe(500);
  expect(toBar(total - 800, total, 800)).toBe(MAX_HEIGHT - 800);
  expect(toBar(total - 900, total, 800)).toBe(MAX_HEIGHT - 900);
  fc.assert(fc.property(fc.nat(total - 800), fc.nat(total - 800), (one, other) => {
    expect(Math.sign(toBar(one, total, 800) - toBar(other, total, 800))).toBe(Math.sign(one - other));
  }));
});
