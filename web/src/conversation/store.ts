/** The rows of one conversation as they are needed: fetched in pages around the screen, and forgotten when there are too many. */
import { GONE_REVISION, Refusal, call, type Which } from '../rpc.ts';
import type { ViewRow } from '../wire.ts';
import { Skeleton } from './skeleton.ts';

/** How the rows differ from before. Of a new revision, `by` is how much further down the rows around the reader are. */
export type Change = { kind: 'same' } | { kind: 'grown' } | { kind: 'new'; by: number };

/** How many rows one request asks for. */
const PAGE = 60;
/** How many rows are kept; the ones that were fetched first are forgotten first. */
const KEPT = 3_000;
const REQUESTS_AT_ONCE = 3;

export class Store {
  skeleton: Skeleton | undefined;
  readonly #rows = new Map<number, ViewRow>();
  readonly #stale = new Set<number>();
  readonly #opened = new Map<number, ViewRow>();
  readonly #asked = new Set<number>();
  #running = 0;
  /** Counts the times that rows got other numbers or contents. */
  #generation = 0;
  #wanted: [first: number, last: number] = [0, 0];

  /** `arrived` is called with rows that are new or different, `replaced` if the session has other rows than those that were asked for. */
  constructor(readonly which: Which, readonly arrived: (rows: readonly number[]) => void, readonly failed: (error: Error) => void, readonly replaced: () => void) {}

  row(row: number): ViewRow | undefined {
    return this.#opened.get(row) ?? this.#rows.get(row);
  }

  /** The row with its content, if that was fetched. */
  opened(row: number): ViewRow | undefined {
    return this.#opened.get(row);
  }

  /** Asks which rows there are. `near` is a row that the reader sees: it is found again if rows were added or removed before it. */
  async refresh(near?: number): Promise<Change> {
    const before = this.skeleton;
    const known = before && { from: before.total, revision: before.revision };
    let answer = await call('history/skeleton', { ...this.which, ...known });
    const isGrown = before !== undefined && answer.from === before.total;
    // Results of calls may have arrived, which are part of earlier rows.
    for (const [row, { tool }] of this.#rows) if (tool?.state === 'pending') this.#stale.add(row);
    if (isGrown && answer.total === before.total && answer.revision === before.revision) {
      this.#pump();
      return { kind: 'same' };
    }
    let by = 0;
    // The session may change again between two answers; they must be of one revision.
    for (let round = 0; !isGrown && near !== undefined && round < 10; round++) {
      const found = await this.#moved(near);
      by = found.by;
      if (found.revision === undefined || found.revision === answer.revision) break;
      answer = await call('history/skeleton', this.which);
    }
    this.skeleton = new Skeleton(answer, before);
    if (isGrown) return { kind: 'grown' };
    this.#generation++;
    if (by !== 0) for (const rows of [this.#rows, this.#opened]) shift(rows, by);
    // Rows keep their numbers in most changes, such as a result that arrives: what is known is shown until it is fetched again.
    for (const row of this.#rows.keys()) this.#stale.add(row);
    for (const row of this.#opened.keys()) this.#stale.add(row);
    return { kind: 'new', by };
  }

  /** By how many rows a row is further down than before, in which revision. */
  async #moved(near: number): Promise<{ by: number; revision?: string }> {
    const uuid = this.#rows.get(near)?.uuid;
    if (!uuid) return { by: 0 };
    let first = near;
    while (this.#rows.get(first - 1)?.uuid === uuid) first--;
    try {
      const { row, revision } = await call('history/locate', { ...this.which, uuid });
      return { by: row - first, revision };
    } catch {
      return { by: 0 };
    }
  }

  /** Says which rows are on the screen. */
  want(first: number, last: number): void {
    this.#wanted = [first, last];
    this.#pump();
  }

  /** Fetches the content of a row. */
  async open(row: number): Promise<ViewRow | undefined> {
    const known = this.#opened.get(row);
    if (known && !this.#stale.has(row)) return known;
    await this.#fetch(row, 1, [row]);
    return this.#opened.get(row);
  }

  /** Fetches the content of all rows of a range. */
  async openRange(first: number, last: number): Promise<void> {
    for (let from = first; from < last; from += PAGE) await this.#fetch(from, Math.min(PAGE, last - from), true);
  }

  #isMissing(row: number): boolean {
    return !this.#asked.has(row) && (this.#stale.has(row) || !this.#rows.has(row));
  }

  #pump(): void {
    if (!this.skeleton) return;
    const [first, last] = this.#wanted;
    const bound = [Math.max(0, first - PAGE / 3), Math.min(this.skeleton.total, last + PAGE / 3)] as const;
    // What is on the screen first, then what is near.
    for (const [from, to] of [[first, last], bound] as const) {
      for (let row = Math.max(0, Math.floor(from)); row < Math.min(to, this.skeleton.total) && this.#running < REQUESTS_AT_ONCE; row++) {
        if (!this.#isMissing(row)) continue;
        let count = 1;
        while (count < PAGE && row + count < this.skeleton.total && this.#isMissing(row + count)) count++;
        void this.#fetch(row, count).finally(() => this.#pump());
        row += count;
      }
    }
  }

  async #fetch(from: number, count: number, open?: number[] | true): Promise<void> {
    const { skeleton } = this;
    if (!skeleton) return;
    const isPage = open === undefined;
    if (isPage) for (let row = from; row < from + count; row++) this.#asked.add(row);
    this.#running++;
    const generation = this.#generation;
    try {
      const { rows } = await call('history/rows', { ...this.which, revision: skeleton.revision, from, count, ...(open !== undefined && { open }) });
      // Numbers of rows may mean other rows by now.
      if (generation !== this.#generation) return;
      for (const row of rows) {
        this.#rows.set(row.row, row);
        this.#stale.delete(row.row);
        if (open !== undefined) this.#opened.set(row.row, row);
        else if (this.#opened.delete(row.row)) void this.open(row.row);
      }
      this.#forget();
      this.arrived(rows.map(({ row }) => row));
    } catch (error) {
      // The session was rewritten meanwhile: the new rows are asked for, and the screen is filled again.
      if (generation !== this.#generation) return;
      if (error instanceof Refusal && error.code === GONE_REVISION) this.replaced();
      else this.failed(error as Error);
    } finally {
      this.#running--;
      if (isPage) for (let row = from; row < from + count; row++) this.#asked.delete(row);
    }
  }

  #forget(): void {
    const [first, last] = this.#wanted;
    for (const rows of [this.#rows, this.#opened]) {
      if (rows.size <= KEPT) continue;
      for (const row of rows.keys()) {
        if (rows.size <= KEPT) break;
        if (row < first - PAGE || row > last + PAGE) rows.delete(row);
      }
    }
  }
}

/** Moves all rows of a map by some rows. */
function shift(rows: Map<number, ViewRow>, by: number): void {
  const moved = [...rows].map(([row, value]): [number, ViewRow] => [row + by, { ...value, row: row + by }]);
  rows.clear();
  for (const [row, value] of moved) rows.set(row, value);
}
