/**
 * Where the rows of a list are, without a browser: heights, known or estimated, and the anchor.
 *
 * The anchor is the only truth about where the reader is: a row, and how far its top lies below the top of the screen. Whatever happens to
 * other rows, the anchor stays where it is.
 */
import { Heights } from './heights.ts';

export type Key = number | string;

/** What the rows of a list are. A key names the same row after every change. */
export interface Source {
  readonly count: number;
  key(row: number): Key;
  /** The height that a row probably has. */
  estimate(row: number): number;
  /** The row with this key, or the nearest one if there is none. */
  find(key: Key): number;
}

export class Layout {
  source: Source = { count: 0, key: (row) => row, estimate: () => 0, find: () => 0 };
  heights = new Heights();
  /** The height of the screen. */
  height = 0;
  /** Whether the end of the list is kept at the bottom of the screen when the list grows. */
  following = false;
  #anchor = { row: 0, top: 0 };
  readonly #measured = new Map<Key, number>();

  get anchor(): { key: Key; row: number; top: number } | undefined {
    const { row, top } = this.#anchor;
    return row < this.source.count ? { key: this.source.key(row), row, top } : undefined;
  }

  get total(): number {
    return this.heights.total;
  }

  /** The distance of the top of the screen from the top of the list. */
  get place(): number {
    return this.heights.above(this.#anchor.row) - this.#anchor.top;
  }

  get isAtEnd(): boolean {
    return this.place >= this.total - this.height - 2;
  }

  /** The rows on the screen and `beyond` pixels around it: the first, and the one after the last. */
  rows(beyond: number): [first: number, last: number] {
    if (this.source.count === 0) return [0, 0];
    const { place } = this;
    return [this.heights.at(place - beyond), this.heights.at(place + this.height + beyond - 1) + 1];
  }

  /** The row that is so far below the top of the screen. */
  rowAt(below: number): number {
    return this.source.count === 0 ? 0 : this.heights.at(this.place + below);
  }

  /** Where the top of a row is on the screen. */
  top(row: number): number {
    return this.heights.above(row) - this.place;
  }

  /** Replaces the rows. The anchor stays on the row that `find` gives for its key. If keys name other rows now, heights are forgotten. */
  replace(source: Source, areKeysNew = false): void {
    const key = this.anchor?.key;
    if (areKeysNew) this.#measured.clear();
    this.source = source;
    this.#build();
    if (key !== undefined) this.#anchor.row = Math.max(0, Math.min(source.find(key), source.count - 1));
  }

  /** Adds the rows that the source has at its end. */
  append(): void {
    for (let row = this.heights.count; row < this.source.count; row++) this.heights.push(this.#known(row));
  }

  /** Forgets all heights, because the width, the font or the density has changed. */
  forgetHeights(): void {
    this.moveTo(this.place);
    this.#measured.clear();
    this.#build();
  }

  /** Notes how high a row is. Returns whether that was not known. */
  measure(row: number, height: number): boolean {
    this.#measured.set(this.source.key(row), height);
    return this.heights.set(row, height) !== 0;
  }

  /** Puts a row at a distance from the top of the screen. */
  anchorAt(row: number, top: number): void {
    this.#anchor = { row: Math.max(0, Math.min(row, this.source.count - 1)), top };
  }

  /**
   * Anchors the list at a place, on the first row that begins on the screen: what is cut off at the top grows upwards. If rows of the
   * screen before are still there, the first of these is the anchor: rows above it may turn out to be higher or lower than estimated.
   */
  moveTo(place: number): void {
    const [before] = this.rows(0);
    const inside = Math.max(0, Math.min(place, this.total - this.height));
    const first = this.heights.at(inside);
    const next = this.heights.above(first + 1) - inside;
    const isNext = this.heights.above(first) < inside && next < this.height && first + 1 < this.source.count;
    const row = isNext ? first + 1 : first;
    const kept = before > row && this.heights.above(before) - inside < this.height ? before : row;
    this.#anchor = { row: kept, top: this.heights.above(kept) - inside };
  }

  /** Keeps the anchor on the screen, and the screen inside of the list. */
  settle(): void {
    const { row, top } = this.#anchor;
    if (top + this.heights.of(row) <= 0 && !this.following) this.#anchor.top = 0;
    const end = Math.max(0, this.total - this.height);
    if (this.following || this.place > end) this.moveTo(end);
    else if (this.place < 0) this.moveTo(0);
  }

  #known(row: number): number {
    return this.#measured.get(this.source.key(row)) ?? this.source.estimate(row);
  }

  #build(): void {
    this.heights = new Heights(Array.from({ length: this.source.count }, (_, row) => this.#known(row)));
  }
}
