/**
 * A list of any length of which only the rows on the screen are elements.
 *
 * Where the reader is, is known by the anchor of the layout; the scroll bar is an input device. Whatever changes (rows are added, measured,
 * opened, resized), the list lays itself out around the anchor, so nothing that the reader looks at moves. The scroll position is
 * corrected when the reader rests, or comes near an end of the bar.
 *
 * Rows stand in normal flow in one element that is moved as a whole: they cannot overlap, whatever their heights are.
 */
import { Layout, type Key, type Source } from './layout.ts';
import { MountedRows } from './mounted.ts';
import { MAX_HEIGHT, barHeight, fromBar, toBar } from './scrollbar.ts';

export type { Key, Source };

export interface Options {
  /** Fills the element of a row. */
  mount(element: HTMLElement, row: number, key: Key): void;
  unmount(element: HTMLElement, key: Key): void;
  /** Called after every change of what is on the screen. */
  moved?(first: number, last: number): void;
}

/** How many pixels above and below the screen are kept as elements. */
const OVERSCAN = 400;
/** After how many milliseconds without a movement the reader rests. */
const REST = 150;
/**
 * The same while the browser has not said that a movement has ended: it may be scrolling smoothly to a position that it has chosen before, and would jump if
 * the position were written meanwhile. Browsers that never say so have only this.
 */
const REST_WHILE_MOVING = 'onscrollend' in window ? 1000 : REST;
/** For how many milliseconds a row that is opened or closed is kept where it is. */
const HOLD = 1000;

export class List {
  readonly #screen: HTMLElement;
  readonly #bar = document.createElement('div');
  readonly #options: Options;
  readonly #observer = new ResizeObserver((entries) => this.#resized(entries));
  readonly #rows: MountedRows;
  readonly #layout = new Layout();
  #position = 0;
  #width: number;
  #resting: ReturnType<typeof setTimeout> | undefined;
  /** Whether the reader has moved and not rested since. */
  #isMoving = false;

  /** `screen` scrolls, and has a height of its own. */
  constructor(screen: HTMLElement, options: Options) {
    this.#screen = screen;
    this.#options = options;
    this.#rows = new MountedRows(screen, options, this.#observer);
    this.#bar.className = 'list-bar';
    this.#bar.append(this.#rows.flow);
    screen.append(this.#bar);
    screen.style.overflowAnchor = 'none';
    [this.#layout.height, this.#width] = [screen.clientHeight, screen.clientWidth];
    screen.addEventListener('scroll', this.#scrolled, { passive: true });
    screen.addEventListener('scrollend', this.#ended, { passive: true });
    this.#observer.observe(screen);
  }

  destroy(): void {
    clearTimeout(this.#resting);
    this.#screen.removeEventListener('scroll', this.#scrolled);
    this.#screen.removeEventListener('scrollend', this.#ended);
    this.#rows.clear();
    this.#observer.disconnect();
    this.#bar.remove();
  }

  get anchor(): { key: Key; top: number } | undefined {
    return this.#layout.anchor;
  }

  /** The row that is so far below the top of the screen. */
  rowAt(below: number): number {
    return this.#layout.rowAt(below);
  }

  get isAtEnd(): boolean {
    return this.#layout.isAtEnd;
  }

  /** How high all rows are together; those that were never on the screen are estimated. */
  get total(): number {
    return this.#layout.total;
  }

  /** Whether the end of the list stays at the bottom of the screen when the list grows. */
  get following(): boolean {
    return this.#layout.following;
  }

  /** Replaces the rows. The anchor stays on the row that `find` gives for its key. If keys now name other rows, what is known is forgotten. */
  replace(source: Source, areKeysNew = false): void {
    this.#catchUp();
    if (areKeysNew) this.#rows.clear();
    this.#layout.replace(source, areKeysNew);
    this.#update();
  }

  /** Forgets all heights, because the width, the font or the density has changed. */
  forgetHeights(): void {
    this.#catchUp();
    this.#layout.forgetHeights();
    for (const [row, element] of this.#rows.entries(this.#layout.source)) this.#layout.measure(row, element.getBoundingClientRect().height);
    this.#update();
  }

  /** Shows a row with its top at this distance below the top of the screen. */
  show(row: number, top = 0): void {
    this.#catchUp();
    this.#layout.following = false;
    this.#layout.anchorAt(row, top);
    this.#update();
    this.#rest();
  }

  showEnd(): void {
    this.#layout.following = true;
    this.#update();
    this.#rest();
  }

  /** Moves by as little as shows the whole row, `margin` pixels below the top; a row that is too high is shown from its top. */
  reveal(row: number, margin = 0): void {
    const [top, height, screen] = [this.#layout.top(row), this.#layout.heights.of(row), this.#layout.height];
    if (top < margin || height > screen - margin) this.show(row, margin);
    else if (top + height > screen) this.show(row, screen - height);
  }

  /** Keeps the top of this row where it is for a moment: it is about to be opened or closed. */
  hold(row: number): void {
    this.#catchUp();
    this.#layout.anchorAt(row, this.#layout.top(row));
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      this.#layout.moveTo(this.#layout.place);
      this.#rest();
    }, HOLD);
  }

  readonly #scrolled = (): void => {
    if (this.#catchUp()) this.#update();
  };

  /** Moves the anchor by as much as the reader has scrolled since the last look. */
  #catchUp(): boolean {
    const position = this.#screen.scrollTop;
    const distance = position - this.#position;
    if (distance === 0) return false;
    const { height, place, total } = this.#layout;
    const isJump = Math.abs(distance) > 4 * height && (total > MAX_HEIGHT || position <= 0);
    this.#layout.moveTo(isJump ? fromBar(position, total, height) : place + distance);
    this.#position = position;
    this.#layout.following = distance > 0 && this.#layout.isAtEnd;
    this.#isMoving = true;
    this.#restIn(REST_WHILE_MOVING);
    return true;
  }

  readonly #ended = (): void => {
    if (this.#isMoving) this.#restIn(REST);
  };

  #restIn(ms: number): void {
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => this.#rest(), ms);
  }

  /** Brings the scroll position in line with the place of the reader, which moves nothing on the screen. */
  #rest(): void {
    if (this.#catchUp()) this.#update();
    this.#isMoving = false;
    const { height, place, total } = this.#layout;
    const target = toBar(place, total, height);
    this.#bar.style.height = `${barHeight(total)}px`;
    if (Math.abs(target - this.#position) >= 1) this.#screen.scrollTop = target;
    this.#position = this.#screen.scrollTop;
    this.#put();
  }

  /** Makes elements of the rows on the screen, and puts them where they belong. */
  #update(): void {
    // A row that is higher or lower than estimated changes which rows are on the screen; two or three rounds are enough in practice.
    for (let round = 0; round < 8; round++) {
      this.#layout.settle();
      if (!this.#mountRows()) break;
    }
    const { height, isAtEnd, place, total } = this.#layout;
    const isNearTop = Math.min(this.#position, place) < 2 * height;
    const isNearEnd = isAtEnd || (total > MAX_HEIGHT && this.#position > MAX_HEIGHT - 3 * height);
    if (isNearTop || isNearEnd) this.#rest();
    else {
      // Until the reader rests, the bar is as long as brings them to the end of the list.
      this.#bar.style.height = `${total > MAX_HEIGHT ? MAX_HEIGHT : total + this.#position - place}px`;
      this.#put();
    }
    this.#options.moved?.(...this.#layout.rows(0));
  }

  /** Returns whether a height was different from what was known. */
  #mountRows(): boolean {
    let isDifferent = false;
    // All is written, then all is read.
    for (const [row, element] of this.#rows.show(this.#layout.source, ...this.#layout.rows(OVERSCAN))) {
      isDifferent = this.#layout.measure(row, element.getBoundingClientRect().height) || isDifferent;
    }
    return isDifferent;
  }

  /** Places the elements so that the anchor is where it belongs. */
  #put(): void {
    this.#rows.flow.style.transform = `translateY(${this.#position + this.#layout.top(this.#rows.first)}px)`;
  }

  /** Reads all new sizes, then lays the list out once. */
  #resized(entries: ResizeObserverEntry[]): void {
    this.#catchUp();
    const { clientHeight, clientWidth } = this.#screen;
    const isWider = clientWidth !== this.#width;
    let isDifferent = clientHeight !== this.#layout.height;
    [this.#layout.height, this.#width] = [clientHeight, clientWidth];
    if (isWider) {
      this.forgetHeights();
      return;
    }
    const rows = new Map([...this.#rows.entries(this.#layout.source)].map(([row, element]) => [element as Element, row]));
    for (const { target, borderBoxSize } of entries) {
      const row = rows.get(target);
      if (row !== undefined) isDifferent = this.#layout.measure(row, borderBoxSize[0]!.blockSize) || isDifferent;
    }
    if (isDifferent) this.#update();
  }
}
