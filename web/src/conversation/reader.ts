/**
 * One reader in one conversation: which rows are shown, which cards are open, where the reader is. Components show it, keys and
 * links move it.
 */
import { batch, computed, signal, type Signal } from '@preact/signals';
import { List, type Key } from '../list/list.ts';
import { Refusal, SEVERAL_SESSIONS, call, follow, type Which } from '../rpc.ts';
import type { Level } from '../route.ts';
import type { ChatMessage, Relation, ToolCall, Turn, ViewRow } from '../wire.ts';
import { Items, foldOf, isFold, turnOfFold, type Item } from './items.ts';
import { estimate } from './estimate.ts';
import { neighbour } from './skeleton.ts';
import { loadModel } from './model-messages.ts';
import { nextEdit } from './moments.ts';
import { Store } from './store.ts';

/** How far below the top edge a row is shown: the pinned prompt covers that much. */
export const TOP = 36;

/** After how many milliseconds new entries are asked for: several events that follow each other are one change. */
const CHANGE_DELAY = 60;
/** After how many milliseconds figures of a session that grows are asked for again. */
const FIGURES_DELAY = 2_000;

/** After how many milliseconds the place of the reader is remembered. */
const PLACE_DELAY = 200;

export interface ReaderOptions {
  /** Draws an item into its element. */
  draw(element: HTMLElement, item: Item): void;
  drawMessage(element: HTMLElement, index: number): void;
  clear(element: HTMLElement): void;
}

/** Up to which row other sessions have the same entries, and which they are. */
export interface SharedPart { row: number; relations: readonly Relation[] }

interface Place { item: Item; top: number; level: Level; isAtEnd: boolean }

/** The reader of the conversation that is shown, for what is beside it: the palette. */
export const currentReader = signal<Reader | undefined>(undefined);

export class Reader {
  readonly store: Store;
  readonly level = signal<Level>('work');
  /** The item on which keys act. */
  readonly cursor = signal<Item | undefined>(undefined);
  readonly items = signal<Items | undefined>(undefined);
  readonly turns = signal<readonly Turn[]>([]);
  /** How many messages Claude Code would not restore although they can be read. */
  readonly lostMessages = signal(0);
  readonly failure = signal<Error | undefined>(undefined);
  readonly isConnected = signal(false);
  /** Whether Claude Code has the session open. */
  readonly isLive = signal(false);
  /** How many rows were added below since the reader left the end. */
  readonly unseen = signal(0);
  /** The first row that was not there when the reader was here last. */
  readonly unread = signal<number | undefined>(undefined);
  readonly isAtEnd = signal(false);
  /** The rows on the screen. */
  readonly onScreen = signal<[first: number, last: number]>([0, 0]);
  /** The row below the pinned prompt: what is above it is covered. */
  readonly topRow = signal(0);
  /** The messages of the model view; undefined until they are loaded. */
  readonly messages = signal<readonly ChatMessage[] | undefined>(undefined);
  /** The line that the file ended with in the model view; undefined for its end. */
  readonly until = signal<number | undefined>(undefined);
  readonly modelFailure = signal<Error | undefined>(undefined);
  /** The rows up to which other sessions have the same entries. */
  readonly copies = signal<readonly SharedPart[]>([]);
  readonly turn = computed(() => this.#turnOnScreen());
  readonly openRows = new Set<number>();
  readonly #flipped = new Set<number>();
  readonly #unrolled = new Set<number>();
  readonly #elements = new Map<Key, HTMLElement>();
  /** What is drawn again when something about an item changes that is no signal. */
  readonly #versions = new Map<Key, Signal<number>>();
  #list: List | undefined;
  #options: ReaderOptions | undefined;
  #unfollow: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasChanged = false;
  #isStopped = false;
  #figuresTimer: ReturnType<typeof setTimeout> | undefined;
  #isSaving = false;
  #placeTimer: ReturnType<typeof setTimeout> | undefined;
  /** Counts up some time after the session has grown: tables beside the conversation are loaded again. */
  readonly grown = signal(0);

  /** How high the rows of subagents were that are shown inside of their cards. */
  readonly inlineHeights = new Map<string, number>();
  #calls: { revision: string; found: Promise<readonly ToolCall[]> } | undefined;

  /** A reader inside of another one has no connection of its own: it looks for new rows when the outer one has some. */
  constructor(readonly which: Which, level: Level, readonly outer?: Reader) {
    this.level.value = level;
    this.store = new Store(which, (rows) => this.#arrived(rows), (error) => { this.failure.value = error; }, () => this.#changed());
  }

  /** Loads the rows and shows the place of a record, or the place where the reader was last. */
  async start(record?: string, isLive = false): Promise<void> {
    try {
      await this.store.refresh();
    } catch (error) {
      this.failure.value = error as Error;
      return;
    }
    // The card of a subagent may have left the screen meanwhile.
    if (this.#isStopped) return;
    this.#rebuild();
    const seen = Number(localStorage.getItem(this.#memory('seen')) ?? Number.NaN);
    const total = this.store.skeleton!.total;
    if (seen < total) this.unread.value = seen;
    localStorage.setItem(this.#memory('seen'), String(total));
    if (!(record && await this.goToRecord(record)) && !this.#restorePlace() && isLive) this.toEnd();
    if (this.#isStopped) return;
    this.#isSaving = true;
    addEventListener('pagehide', this.#savePlace);
    if (this.level.value === 'model') void this.loadModel();
    void this.#loadTurns();
    if (this.outer) {
      let isFirst = true;
      this.#unfollow = this.outer.grown.subscribe(() => {
        if (!isFirst) this.#changed();
        isFirst = false;
      });
      return;
    }
    this.#unfollow = follow({ sessionId: this.which.sessionId, workspacePath: this.which.workspacePath, agentId: this.which.agentId, offset: String(this.store.skeleton!.offset) }, {
      connected: () => { this.isConnected.value = true; },
      lost: () => { this.isConnected.value = false; },
      event: ({ name }) => { if (name === 'appended' || name === 'reset') this.#changed(); },
    });
  }

  get severalPaths(): string[] | undefined {
    const error = this.failure.value;
    if (!(error instanceof Refusal) || error.code !== SEVERAL_SESSIONS) return undefined;
    return (error.data as { candidates?: string[] } | undefined)?.candidates?.filter((path) => typeof path === 'string');
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#figuresTimer);
    if (this.#placeTimer) this.#savePlace();
    removeEventListener('pagehide', this.#savePlace);
    this.#unfollow?.();
    this.detach();
  }

  /** Shows the list in an element. */
  attach(screen: HTMLElement, options: ReaderOptions): void {
    this.#options = options;
    this.#list = new List(screen, {
      mount: (element, _, key) => {
        this.#elements.set(key, element);
        this.#versions.set(key, signal(0));
        this.#draw(element, key);
      },
      unmount: (element, key) => {
        this.#elements.delete(key);
        this.#versions.delete(key);
        options.clear(element);
      },
      moved: (first, last) => this.#moved(first, last),
    });
    this.#show();
  }

  detach(): void {
    this.#list?.destroy();
    this.#list = undefined;
  }

  get list(): List | undefined {
    return this.#list;
  }

  // What is shown

  setLevel(level: Level): void {
    const cursor = this.cursor.value;
    const [first] = this.onScreen.value;
    const before = this.level.value;
    this.level.value = level;
    this.#flipped.clear();
    if (level === 'model') {
      this.#show();
      void this.loadModel();
    } else {
      this.#rebuild();
      if (before === 'model' && cursor !== undefined) this.#reveal(cursor);
      else if (before === 'model') this.list?.show(this.items.value!.findOrder(first));
      this.redraw();
    }
  }

  /** The row, if it is here. A component that asks is drawn again when that changes. */
  row(row: number): ViewRow | undefined {
    void this.#versions.get(row)?.value;
    return this.store.row(row);
  }

  /** The row with its content. */
  opened(row: number): ViewRow | undefined {
    void this.#versions.get(row)?.value;
    return this.store.opened(row);
  }

  isOpen(item: Item): boolean {
    void this.#versions.get(item)?.value;
    return isFold(item) ? this.items.value?.isOpen(turnOfFold(item)) ?? false : this.openRows.has(item);
  }

  /** Opens or closes a card, or the work of a turn. */
  async toggle(item: Item, isOpen = !this.isOpen(item)): Promise<void> {
    if (isFold(item)) {
      this.toggleTurn(turnOfFold(item), isOpen);
      return;
    }
    if (this.items.value?.runs.has(item)) {
      this.#unroll(item);
      return;
    }
    if (isOpen) this.openRows.add(item);
    else this.openRows.delete(item);
    const index = this.items.value?.find(item);
    if (index !== undefined) this.#list?.hold(index);
    this.redraw([item]);
    if (isOpen) await this.store.open(item);
  }

  /** Shows each row of a run of context, until the turn is closed. */
  #unroll(first: number): void {
    this.#list?.hold(this.items.value!.find(first));
    this.#unrolled.add(first);
    this.#rebuild();
    this.redraw([first]);
  }

  toggleTurn(turn: number, isOpen?: boolean): void {
    const items = this.items.value;
    if (!items || turn < 0 || (isOpen !== undefined && items.isOpen(turn) === isOpen)) return;
    const fold = items.find(foldOf(turn));
    this.#list?.hold(fold);
    if (this.#flipped.has(turn)) this.#flipped.delete(turn);
    else this.#flipped.add(turn);
    for (const row of this.#unrolled) if (items.skeleton.turnOf(row) === turn) this.#unrolled.delete(row);
    this.#rebuild();
    this.redraw([foldOf(turn)]);
  }

  toggleAllTurns(): void {
    const { skeleton } = this.store;
    if (!skeleton) return;
    const isAnyFlipped = this.#flipped.size > 0;
    this.#flipped.clear();
    if (!isAnyFlipped) for (let turn = 0; turn < skeleton.turns.length; turn++) this.#flipped.add(turn);
    this.#rebuild();
    this.redraw();
  }

  // Where the reader is

  /** Moves the cursor by one item. */
  step(by: 1 | -1): void {
    const items = this.items.value;
    if (this.level.value === 'model') {
      const [first] = this.onScreen.value;
      this.#list?.show(first + by, 0);
      return;
    }
    if (!items || items.list.length === 0) return;
    const [first, last] = this.onScreen.value;
    const at = this.cursor.value === undefined ? undefined : items.find(this.cursor.value);
    const isOnScreen = at !== undefined && at >= first && at < last;
    const index = isOnScreen ? Math.max(0, Math.min(items.list.length - 1, at + by)) : by > 0 ? first : Math.max(first, last - 1);
    this.cursor.value = items.list[index]!;
    this.#list?.reveal(index, TOP);
  }

  /** Goes to the next row of some kind after the cursor, or before it. Returns whether there is one. */
  stepTo(rows: readonly number[], by: 1 | -1): boolean {
    const items = this.items.value;
    if (!items) return false;
    const [first] = this.onScreen.value;
    const cursor = this.cursor.value;
    const from = cursor !== undefined ? items.order(cursor) : items.order(items.list[first] ?? 0) - (by > 0 ? 1 : 0);
    const row = neighbour(rows, by > 0 ? Math.floor(from) : Math.ceil(from), by);
    if (row !== undefined) this.goToRow(row);
    return row !== undefined;
  }

  /** The calls of the transcript, in its order and without their arguments. They are asked for again when the transcript has grown. */
  calls(): Promise<readonly ToolCall[]> {
    const revision = this.store.skeleton?.revision ?? '';
    if (this.#calls?.revision !== revision) {
      const found = this.#loadCalls();
      this.#calls = { revision, found };
      found.catch(() => { this.#calls = undefined; });
    }
    return this.#calls!.found;
  }

  async #loadCalls(): Promise<readonly ToolCall[]> {
    const found: ToolCall[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await call('history/tools', { ...this.which, limit: 10_000, ...(cursor && { cursor }) });
      // Arguments may be large, and no table shows them.
      found.push(...page.calls.map(({ input: _, ...rest }) => rest));
      cursor = page.nextCursor;
    } while (cursor);
    return found;
  }

  /** Goes to the next edit of the file that a row is about, or to the one before. Returns whether there is one. */
  async stepToEdit(row: ViewRow, by: 1 | -1): Promise<boolean> {
    const file = row.tool?.file;
    if (!file) return false;
    const all = (await this.calls()).filter((one) => one.files.includes(file));
    const wanted = nextEdit(all, this.indexOfCall(all, row), by);
    if (wanted) await this.goToCall(wanted);
    return wanted !== undefined;
  }

  /** The index of the call that a row shows; -1 if it is not one of these. */
  indexOfCall(calls: readonly ToolCall[], row: ViewRow): number {
    return calls.findIndex(({ id, line }) => (row.tool?.id ? id === row.tool.id : line === row.line));
  }

  async goToCall({ id, line }: Pick<ToolCall, 'id' | 'line'>): Promise<void> {
    const { row } = await call('history/locate', { ...this.which, ...(id ? { callId: id } : { line }) });
    this.goToRow(row);
  }

  /** The row at which the turn of a row begins, and the number of that turn; undefined before the first turn. */
  promptOf(row: number): { row: number; turn: number } | undefined {
    const { skeleton } = this.store;
    const turn = skeleton?.turnOf(row) ?? -1;
    return turn < 0 ? undefined : { row: skeleton!.turns[turn]!, turn: turn + 1 };
  }

  /** Marks the row of the cursor. Returns whether it has a name. */
  mark(): boolean {
    const item = this.cursor.value;
    const record = item !== undefined && !isFold(item) ? this.recordOf(item) : undefined;
    if (record) sessionStorage.setItem(this.#memory('mark'), record);
    return record !== undefined;
  }

  async goToMark(): Promise<boolean> {
    const record = sessionStorage.getItem(this.#memory('mark'));
    return record !== null && this.goToRecord(record);
  }

  rowsOfKind(kind: string): number[] {
    const kinds = this.store.skeleton?.kinds ?? '';
    const rows = [];
    for (let row = kinds.indexOf(kind); row >= 0; row = kinds.indexOf(kind, row + 1)) rows.push(row);
    return rows;
  }

  /** Shows a row, opening the turn that hides it. */
  goToRow(row: number): void {
    const { skeleton } = this.store;
    if (!skeleton || row >= skeleton.total) return;
    if (this.level.value === 'model') this.setLevel('work');
    if (skeleton.kind(row) === 'r' && this.level.value !== 'raw') this.setLevel('raw');
    if (!this.items.value!.has(row)) this.toggleTurn(skeleton.turnOf(row), true);
    const items = this.items.value!;
    const first = items.list[items.find(row)]!;
    if (items.runs.has(first)) this.#unroll(first);
    this.#reveal(row);
  }

  #reveal(item: Item): void {
    const index = this.items.value!.find(item);
    batch(() => {
      this.cursor.value = this.items.value!.list[index];
    });
    this.#list?.show(index, TOP);
  }

  /** Goes to a record as links name it: a uuid with the number of its row, `L` and a line, or `T` and a turn. */
  async goToRecord(record: string): Promise<boolean> {
    const [, letter, number] = /^([LT])(\d+)$/.exec(record) ?? [];
    const [uuid, part] = record.split('.');
    const place = letter === 'L' ? { line: Number(number) } : letter === 'T' ? { turn: Number(number) } : { uuid: uuid! };
    try {
      const { row } = await call('history/locate', { ...this.which, ...place });
      this.goToRow(row + Number(part ?? 0));
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return false;
    }
  }

  /** The name of a row in links. */
  recordOf(row: number): string | undefined {
    const known = this.store.row(row);
    if (!known?.uuid) return known?.line ? `L${known.line}` : undefined;
    let part = 0;
    while (this.store.row(row - part - 1)?.uuid === known.uuid) part++;
    return part > 0 ? `${known.uuid}.${part}` : known.uuid;
  }

  toStart(): void {
    this.#list?.show(0);
    this.cursor.value = this.items.value?.list[0];
  }

  toEnd(): void {
    this.#list?.showEnd();
    this.unseen.value = 0;
    const items = this.items.value;
    this.cursor.value = items?.list[items.list.length - 1];
  }

  /** Draws items again; all of them if none are named. */
  redraw(items?: readonly Item[]): void {
    batch(() => {
      for (const key of items ?? [...this.#versions.keys()]) {
        const version = this.#versions.get(key);
        if (version) version.value++;
      }
    });
  }

  mountedElements(): HTMLElement[] {
    return [...this.#elements.values()];
  }

  #draw(element: HTMLElement, key: Key): void {
    if (typeof key === 'string') this.#options?.drawMessage(element, Number(key.slice(1)));
    else this.#options?.draw(element, key);
  }

  #arrived(rows: readonly number[]): void {
    this.redraw(rows);
    // A fold line has figures of the rows of its turn.
    const turns = new Set(rows.map((row) => this.store.skeleton!.turnOf(row)));
    this.redraw([...turns].map(foldOf));
  }

  /** Makes the items anew, because there are more rows, or another level. */
  #rebuild(moved?: (item: Item) => Item): void {
    const { skeleton } = this.store;
    if (!skeleton) return;
    const level = this.level.value === 'model' ? 'work' : this.level.value;
    this.items.value = new Items(skeleton, level, new Set(this.#flipped), new Set(this.#unrolled));
    this.#show(moved);
  }

  /** Gives the list its rows. `moved` says which item an item is now, if items have other numbers than before. */
  #show(moved?: (item: Item) => Item): void {
    const items = this.items.value;
    if (this.level.value === 'model') {
      const count = this.messages.value?.length ?? 0;
      this.#list?.replace({ count, key: (row) => `m${row}`, estimate: () => 120, find: (key) => (typeof key === 'string' ? Number(key.slice(1)) : 0) });
    } else if (items) {
      const { skeleton } = items;
      this.#list?.replace({
        count: items.list.length,
        key: (row) => items.list[row]!,
        estimate: (row) => estimate(skeleton, items, items.list[row]!, this.openRows),
        find: (key) => (typeof key === 'number' ? items.find(moved?.(key) ?? key) : 0),
      }, moved !== undefined);
    }
  }

  #moved(first: number, last: number): void {
    batch(() => {
      this.onScreen.value = [first, last];
      this.topRow.value = this.#list?.rowAt(TOP) ?? first;
      this.isAtEnd.value = this.#list?.isAtEnd ?? true;
      if (this.isAtEnd.value) this.unseen.value = 0;
    });
    const items = this.items.value;
    if (this.level.value === 'model' || !items) return;
    const rows = [...items.list.subarray(first, last)].filter((item) => !isFold(item));
    if (rows.length > 0) this.store.want(rows[0]!, rows[rows.length - 1]! + 1);
    this.#savePlaceSoon();
  }

  #turnOnScreen(): number {
    const items = this.items.value;
    if (!items || this.level.value === 'model') return -1;
    const item = items.list[this.topRow.value];
    return item === undefined ? -1 : isFold(item) ? turnOfFold(item) : items.skeleton.turnOf(item);
  }

  /** New entries: asks for the rows once, however many events arrive, and again if more arrive meanwhile. */
  #changed(): void {
    this.#hasChanged = true;
    this.#timer ??= setTimeout(async () => {
      while (this.#hasChanged && !this.#isStopped) {
        this.#hasChanged = false;
        await this.#update();
      }
      this.#timer = undefined;
    }, CHANGE_DELAY);
  }

  async #update(): Promise<void> {
    const before = this.store.skeleton!.total;
    const isFollowing = this.#list?.following ?? false;
    try {
      const change = await this.store.refresh(this.#nearRow());
      if (change.kind === 'same') return;
      if (change.kind === 'new' && change.by !== 0) this.#shift(change.by);
      else this.#rebuild();
    } catch (error) {
      this.failure.value = error as Error;
      return;
    }
    this.redraw();
    const { total } = this.store.skeleton!;
    if (isFollowing) localStorage.setItem(this.#memory('seen'), String(total));
    else if (total > before) {
      if (this.unseen.value === 0) this.unread.value = before;
      this.unseen.value += total - before;
    }
    this.#loadFiguresSoon();
  }

  /** Figures of turns need the whole session, so they are asked for at most every few seconds while it grows. */
  #loadFiguresSoon(): void {
    this.#figuresTimer ??= setTimeout(async () => {
      await this.#loadTurns();
      if (this.level.value === 'model') await this.loadModel();
      this.#figuresTimer = undefined;
      this.grown.value++;
    }, FIGURES_DELAY);
  }

  /** A row that the reader sees. */
  #nearRow(): number | undefined {
    const anchor = this.#list?.anchor?.key;
    const items = this.items.value;
    return typeof anchor === 'number' && items ? Math.ceil(items.order(anchor)) : undefined;
  }

  /** Gives all rows other numbers, because rows were added or removed before what the reader sees. */
  #shift(by: number): void {
    const rows = [...this.openRows];
    const turnsBefore = this.items.value!.skeleton.turnOf(this.#nearRow() ?? 0);
    const turnsBy = this.store.skeleton!.turnOf((this.#nearRow() ?? 0) + by) - turnsBefore;
    this.openRows.clear();
    for (const row of rows) this.openRows.add(row + by);
    const unrolled = [...this.#unrolled];
    this.#unrolled.clear();
    for (const row of unrolled) this.#unrolled.add(row + by);
    const turns = [...this.#flipped];
    this.#flipped.clear();
    for (const turn of turns) this.#flipped.add(turn + turnsBy);
    const moved = (item: Item) => (isFold(item) ? foldOf(turnOfFold(item) + turnsBy) : item + by);
    if (this.cursor.value !== undefined) this.cursor.value = moved(this.cursor.value);
    if (this.unread.value !== undefined) this.unread.value += by;
    this.copies.value = this.copies.peek().map(({ row, relations }) => ({ row: row + by, relations }));
    this.#rebuild(moved);
  }

  async #loadTurns(): Promise<void> {
    const turns: Turn[] = [];
    let lost = 0;
    let cursor: string | null | undefined;
    try {
      do {
        const page = await call('history/turns', { ...this.which, limit: 10_000, ...(cursor && { cursor }) });
        turns.push(...page.turns);
        lost += page.lostMessages ?? 0;
        cursor = page.nextCursor;
      } while (cursor);
      this.turns.value = turns;
      this.lostMessages.value = lost;
      this.redraw([...this.#elements.keys()].filter((key): key is number => typeof key === 'number' && isFold(key)));
    } catch { /* The conversation is readable without figures of turns. */ }
  }

  /** Asks which other sessions have entries of this one, and up to which row. */
  async loadCopies(): Promise<void> {
    const { agentId, ...session } = this.which;
    if (agentId) return;
    try {
      const { relations } = await call('history/lineage', session);
      const places = new Map<string, Relation[]>();
      for (const relation of relations) if (relation.lastShared) places.set(relation.lastShared, [...(places.get(relation.lastShared) ?? []), relation]);
      const found = [...places].map(async ([uuid, relations]) => ({ row: (await call('history/locate', { ...session, uuid })).row, relations }));
      if (!this.#isStopped) this.copies.value = (await Promise.allSettled(found)).flatMap((place) => (place.status === 'fulfilled' ? [place.value] : []));
    } catch { /* The conversation is whole without its copies. */ }
  }

  /** What other sessions share up to an item: also of rows that are folded into it. */
  copiesBehind(item: Item): readonly SharedPart[] {
    const items = this.items.value;
    return items ? this.copies.value.filter(({ row }) => items.list[items.findOrder(row)] === item) : [];
  }

  /** Loads what a resume would send: now, or when the file ended with the line `until`. */
  async loadModel(): Promise<void> {
    const until = this.until.value;
    try {
      const messages = await loadModel(this.which, until);
      // The reader may have moved on meanwhile.
      if (until !== this.until.value) return;
      this.messages.value = messages;
      this.modelFailure.value = undefined;
    } catch (error) {
      this.messages.value = [];
      this.modelFailure.value = error as Error;
    }
    if (this.level.value === 'model') {
      this.#show();
      this.redraw();
    }
  }

  /** Shows the model view as it was when the file ended with a line; undefined means now. */
  setUntil(line: number | undefined): void {
    if (line === this.until.peek()) return;
    this.until.value = line;
    this.messages.value = undefined;
    if (this.level.peek() === 'model') void this.loadModel();
  }

  #memory(what: string): string {
    return `annals-${what}-${this.which.sessionId}-${this.which.agentId ?? ''}`;
  }

  /** Remembers where the reader is, soon: writing it in every frame would take a tenth of the time that scrolling takes. */
  #savePlaceSoon(): void {
    this.#placeTimer ??= setTimeout(this.#savePlace, PLACE_DELAY);
  }

  /** Remembers in this tab where the reader is, for the back button and for a reload. */
  readonly #savePlace = (): void => {
    clearTimeout(this.#placeTimer);
    this.#placeTimer = undefined;
    const anchor = this.#list?.anchor;
    if (!this.#isSaving || !anchor || typeof anchor.key !== 'number') return;
    const place: Place = { item: anchor.key, top: anchor.top, level: this.level.value, isAtEnd: this.#list!.following };
    sessionStorage.setItem(this.#memory('place'), JSON.stringify(place));
  };

  #restorePlace(): boolean {
    const stored = sessionStorage.getItem(this.#memory('place'));
    if (!stored || this.level.value === 'model') return false;
    const place = JSON.parse(stored) as Place;
    if (place.isAtEnd) this.toEnd();
    else this.#list?.show(this.items.value!.find(place.item), place.top);
    return true;
  }
}
