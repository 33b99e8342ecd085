/** What is known of all rows of a conversation without their texts: kinds, lengths, turns, failures. */
import type { SkeletonResult, ViewRowKind } from '../wire.ts';

/** Rows that mark something between messages, and are lines in every reading level. */
export const MARKS = new Set<string>(['k', 'b', 'g', 'o', 'd', 'i']);

export class Skeleton {
  readonly revision: string;
  readonly offset: number;
  readonly kinds: string;
  readonly lines: readonly number[];
  /** The row at which each turn begins. */
  readonly turns: readonly number[];
  readonly failed: ReadonlySet<number>;
  readonly failedRows: readonly number[];
  readonly #left: readonly [number, number][];

  constructor(answer: SkeletonResult, before?: Skeleton) {
    const kept = answer.from > 0 && before ? before : undefined;
    this.revision = answer.revision;
    this.offset = answer.offset;
    this.kinds = (kept ? kept.kinds.slice(0, answer.from) : '') + answer.kinds;
    this.lines = kept ? [...kept.lines.slice(0, answer.from), ...answer.lines] : answer.lines;
    this.turns = answer.turns;
    this.failedRows = answer.failed;
    this.failed = new Set(answer.failed);
    this.#left = answer.left as [number, number][];
  }

  get total(): number {
    return this.kinds.length;
  }

  kind(row: number): ViewRowKind {
    return this.kinds[row] as ViewRowKind;
  }

  /** The index of the turn that a row belongs to; -1 before the first turn. */
  turnOf(row: number): number {
    return lastAtMost(this.turns, row);
  }

  /** The rows of a turn: the first, and the one after the last. */
  rowsOf(turn: number): [first: number, last: number] {
    return [turn < 0 ? 0 : this.turns[turn]!, this.turns[turn + 1] ?? this.total];
  }

  /** Whether a resume would leave the row out, because it lies on another branch. */
  isLeft(row: number): boolean {
    const range = lastAtMost(this.#left, row, ([first]) => first);
    return range >= 0 && row < this.#left[range]![1];
  }
}

/** The index of the last element of a sorted list that is at most `limit`; -1 if all are greater. */
export function lastAtMost<T>(sorted: readonly T[], limit: number, value: (element: T) => number = Number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value(sorted[middle]!) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The next element of a sorted list after a value, or before it. */
export function neighbour(sorted: readonly number[], from: number, step: 1 | -1): number | undefined {
  const index = lastAtMost(sorted, step > 0 ? from : from - 1);
  return step > 0 ? sorted[index + 1] : sorted[index];
}

/** The rows at which the slider stops: prompts, replies and calls. */
export function stopsOf(kinds: string): number[] {
  return [...kinds].flatMap((kind, row) => ('uatc'.includes(kind) ? [row] : []));
}

/** Whether the last turn waits for Claude: its last row is not an answer. */
export function isUnanswered({ kinds, total }: Pick<Skeleton, 'kinds' | 'total'>): boolean {
  for (let row = total - 1; row >= 0; row--) {
    const kind = kinds[row]!;
    if (kind === 'a') return false;
    if (kind === 'u' || kind === 'c' || kind === 't') return true;
  }
  return false;
}
