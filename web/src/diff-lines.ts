/** Lines of diffs with their numbers, below each other or side by side. */
import type { ViewHunk, ViewSpan } from './wire.ts';

/** A line of a diff with its numbers in both files. */
export interface NumberedLine { k: ' ' | '+' | '-'; s: ViewSpan[]; old?: number; new?: number }

export function numbered(hunk: ViewHunk): NumberedLine[] {
  let [before, after] = [hunk.old, hunk.new];
  // 0 means that the place in the file is not known.
  const isKnown = before > 0 || after > 0;
  return hunk.lines.map((line) => {
    const numbers: { old?: number; new?: number } = {};
    if (line.k !== '+') numbers.old = before++;
    if (line.k !== '-') numbers.new = after++;
    return { k: line.k, s: line.s, ...(isKnown && numbers) } as NumberedLine;
  });
}

/** Puts removed lines beside the added ones that replace them. */
export function sideBySide(lines: readonly NumberedLine[]): [NumberedLine | undefined, NumberedLine | undefined][] {
  const pairs: [NumberedLine | undefined, NumberedLine | undefined][] = [];
  let removed: NumberedLine[] = [];
  let added: NumberedLine[] = [];
  const flush = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index++) pairs.push([removed[index], added[index]]);
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.k === '-') {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.k === '+') added.push(line);
    else {
      flush();
      pairs.push([line, line]);
    }
  }
  flush();
  return pairs;
}
