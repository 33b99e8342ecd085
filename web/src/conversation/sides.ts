/** The two sides of a fork. */
import type { Skeleton } from './skeleton.ts';

/** Rows of one side: the first, and the one after the last. */
export type Range = readonly [first: number, last: number];

/** The rows of the branch that a mark begins, and the live rows after it. */
export function sidesOf(skeleton: Pick<Skeleton, 'kinds' | 'total' | 'isLeft'>, mark: number): [branch: Range, live: Range] {
  let end = mark + 1;
  while (end < skeleton.total && skeleton.kinds[end] !== 'b' && skeleton.isLeft(end)) end++;
  let live = end;
  while (live < skeleton.total && (skeleton.kinds[live] === 'b' || skeleton.isLeft(live))) live++;
  return [[mark + 1, end], [live, skeleton.total]];
}
