/**
 * The heights of all rows of a list as a Fenwick tree: the sum of the rows above a row, and the row at a distance from the top,
 * each in O(log n). The heights are whole numbers or fractions of pixels; none is negative.
 */
export class Heights {
  #tree: Float64Array;
  #height: Float64Array;
  #count = 0;

  constructor(heights: ArrayLike<number> = []) {
    this.#tree = new Float64Array(heights.length + 1);
    this.#height = new Float64Array(heights.length);
    for (let row = 0; row < heights.length; row++) this.push(heights[row]!);
  }

  /** The number of rows. */
  get count(): number {
    return this.#count;
  }

  /** The height of all rows together. */
  get total(): number {
    return this.above(this.#count);
  }

  /** The height of one row. */
  of(row: number): number {
    return this.#height[row] ?? 0;
  }

  /** Adds a row at the end. */
  push(height: number): void {
    if (this.#count === this.#height.length) this.#grow();
    const row = this.#count++;
    this.#height[row] = height;
    // The node covers the rows from `low` on: they are the nodes that were closed before it, and this row.
    const node = row + 1;
    const low = node - (node & -node);
    let sum = height;
    for (let child = node - 1; child > low; child -= child & -child) sum += this.#tree[child]!;
    this.#tree[node] = sum;
  }

  /** Changes the height of a row. Returns by how much. */
  set(row: number, height: number): number {
    const difference = height - this.#height[row]!;
    if (difference === 0) return 0;
    this.#height[row] = height;
    for (let node = row + 1; node <= this.#count; node += node & -node) this.#tree[node]! += difference;
    return difference;
  }

  /** The height of the rows before `row`. */
  above(row: number): number {
    let sum = 0;
    for (let node = Math.min(row, this.#count); node > 0; node -= node & -node) sum += this.#tree[node]!;
    return sum;
  }

  /** The row that covers the pixel at this distance from the top; the first or the last row if the distance is outside. */
  at(distance: number): number {
    let row = 0;
    let rest = distance;
    for (let step = 2 ** Math.floor(Math.log2(Math.max(1, this.#count))); step >= 1; step /= 2) {
      const next = row + step;
      if (next <= this.#count && this.#tree[next]! <= rest) {
        row = next;
        rest -= this.#tree[next]!;
      }
    }
    return Math.max(0, Math.min(row, this.#count - 1));
  }

  #grow(): void {
    const room = Math.max(64, this.#height.length * 2);
    const tree = new Float64Array(room + 1);
    const height = new Float64Array(room);
    tree.set(this.#tree);
    height.set(this.#height);
    this.#tree = tree;
    this.#height = height;
  }
}
