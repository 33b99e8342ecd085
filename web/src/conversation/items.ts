/**
 * What the list of a conversation shows in a reading level: rows, and one fold line for the work of each turn.
 *
 * A turn is a unit: the prompt, a fold line, the work of the agent (if the turn is open), and the answer. Failed calls are shown even
 * if the turn is closed, and marks such as compactions always are.
 */
import type { Level } from '../route.ts';
import { MARKS, type Skeleton } from './skeleton.ts';

/** A row if it is 0 or more; otherwise the fold line of the turn with the index `-item - 1`. */
export type Item = number;

export const foldOf = (turn: number): Item => -turn - 1;
export const turnOfFold = (item: Item): number => -item - 1;
export const isFold = (item: Item): boolean => item < 0;

/** What a fold line stands for. */
export interface Fold {
  turn: number;
  /** The first row of the work. */
  row: number;
  calls: number;
  failed: number;
  thinking: number;
  context: number;
  texts: number;
}

/** So many rows of context that follow each other are one line until a reader opens it. */
const LONG_RUN = 3;

export class Items {
  readonly list: Int32Array;
  readonly folds = new Map<number, Fold>();
  /** The rows that stand for themselves and the rows of context after them, with the number of all of these. */
  readonly runs = new Map<number, number>();

  /**
   * `flipped` are the turns that are open although the level closes them, or closed although it opens them; `unrolled` the first rows of runs of
   * context that a reader has opened.
   */
  constructor(readonly skeleton: Skeleton, readonly level: Level, readonly flipped: ReadonlySet<number>, readonly unrolled: ReadonlySet<number> = new Set()) {
    const list: Item[] = [];
    if (level === 'raw') for (let row = 0; row < skeleton.total; row++) list.push(row);
    else for (let turn = -1; turn < skeleton.turns.length; turn++) this.#addTurn(turn, list);
    this.list = Int32Array.from(list);
  }

  isOpen(turn: number): boolean {
    return (this.level === 'work') !== this.flipped.has(turn);
  }

  /** The place of an item in the conversation: a row, or just before one. */
  order(item: Item): number {
    return isFold(item) ? (this.folds.get(turnOfFold(item))?.row ?? this.skeleton.turns[turnOfFold(item)] ?? 0) - 0.5 : item;
  }

  /** The index of an item in the list, or of the nearest one before it. */
  find(item: Item): number {
    return this.findOrder(this.order(item));
  }

  /** The index of the last item that is not after this place. */
  findOrder(order: number): number {
    let [low, high] = [0, this.list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.order(this.list[middle]!) <= order) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  has(item: Item): boolean {
    return this.list[this.find(item)] === item;
  }

  #addTurn(turn: number, list: Item[]): void {
    const { skeleton } = this;
    const [first, last] = skeleton.rowsOf(turn);
    const answer = answerOf(skeleton.kinds, first, last);
    const isOpen = turn < 0 || this.isOpen(turn);
    let fold: Fold | undefined;
    for (let row = first; row < last; row++) {
      const kind = skeleton.kind(row);
      if (kind === 'r') continue;
      const isWork = kind !== 'u' && !MARKS.has(kind) && !(kind === 'a' && row >= answer);
      if (!isWork) {
        list.push(row);
        continue;
      }
      if (!fold && turn >= 0) {
        fold = { turn, row, calls: 0, failed: 0, thinking: 0, context: 0, texts: 0 };
        this.folds.set(turn, fold);
        list.push(foldOf(turn));
      }
      const run = kind === 'x' && isOpen && (row === first || skeleton.kind(row - 1) !== 'x') ? runFrom(skeleton, row, last) : 0;
      if (run >= LONG_RUN && !this.unrolled.has(row)) {
        this.runs.set(row, run);
        if (fold) fold.context += run;
        list.push(row);
        row += run - 1;
        continue;
      }
      const isFailed = skeleton.failed.has(row);
      if (fold) {
        if (kind === 'c') fold.calls++;
        else if (kind === 't') fold.thinking++;
        else if (kind === 'a') fold.texts++;
        else fold.context++;
        if (isFailed) fold.failed++;
      }
      if (isOpen || isFailed) list.push(row);
    }
  }
}

/** How many rows of context stand together from a row on. */
function runFrom(skeleton: Skeleton, row: number, last: number): number {
  let end = row;
  while (end < last && skeleton.kind(end) === 'x') end++;
  return end - row;
}

/** The row from which text of a turn is its answer: after the last call, or the last text if none is after it. */
function answerOf(kinds: string, first: number, last: number): number {
  let lastText = last;
  for (let row = last - 1; row >= first; row--) {
    if (kinds[row] === 'c') return lastText < last ? lastText : lastTextBefore(kinds, first, row);
    if (kinds[row] === 'a') lastText = row;
  }
  return first;
}

function lastTextBefore(kinds: string, first: number, row: number): number {
  const text = kinds.lastIndexOf('a', row);
  return text >= first ? text : row + 1;
}
