/** The rows of a list that are elements, in the order of the list. */
import type { Key, Options, Source } from './list.ts';

export class MountedRows {
  /** Contains the elements; it is moved as a whole. */
  readonly flow = document.createElement('div');
  readonly #screen: HTMLElement;
  readonly #options: Options;
  readonly #observer: ResizeObserver;
  readonly #elements = new Map<Key, HTMLElement>();
  /** The first row that is an element, and the one after the last. */
  first = 0;
  last = 0;

  constructor(screen: HTMLElement, options: Options, observer: ResizeObserver) {
    this.flow.className = 'list-flow';
    this.#screen = screen;
    this.#options = options;
    this.#observer = observer;
  }

  get(key: Key): HTMLElement | undefined {
    return this.#elements.get(key);
  }

  *entries(source: Source): Generator<[row: number, element: HTMLElement]> {
    for (let row = this.first; row < Math.min(this.last, source.count); row++) {
      const element = this.#elements.get(source.key(row));
      if (element) yield [row, element];
    }
  }

  /** Makes elements of these rows and of no others. Returns the new ones. */
  show(source: Source, first: number, last: number): [row: number, element: HTMLElement][] {
    const wanted = new Set<Key>();
    for (let row = first; row < last; row++) wanted.add(source.key(row));
    for (const [key, element] of this.#elements) if (!wanted.has(key)) this.#drop(key, element);
    const added: [row: number, element: HTMLElement][] = [];
    let next: ChildNode | null = this.flow.firstChild;
    for (let row = first; row < last; row++) {
      const key = source.key(row);
      let element = this.#elements.get(key);
      if (!element) {
        element = document.createElement('div');
        this.#elements.set(key, element);
        this.#options.mount(element, row, key);
        this.#observer.observe(element);
        added.push([row, element]);
      }
      if (element === next) next = next.nextSibling;
      else this.flow.insertBefore(element, next);
    }
    [this.first, this.last] = [first, last];
    return added;
  }

  clear(): void {
    for (const [key, element] of this.#elements) this.#drop(key, element);
  }

  #drop(key: Key, element: HTMLElement): void {
    // Keys must still reach the list when the focused row leaves it.
    if (element.contains(document.activeElement)) this.#screen.focus({ preventScroll: true });
    this.#observer.unobserve(element);
    this.#elements.delete(key);
    this.#options.unmount(element, key);
    element.remove();
  }
}
