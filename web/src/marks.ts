/** Marks words on the page without changing it (CSS Custom Highlight API). */

const NAME = 'found';

/** The plain words of a query: without filters, operators and words that must not occur. */
export function wordsOf(query: string): string[] {
  const parts = query.match(/-?[\p{L}_]+:"[^"]*"|-?[\p{L}_]+:\S+|-?"[^"]*"|\S+/gu) ?? [];
  return parts
    .filter((part) => !part.startsWith('-') && !/^[\p{L}_]+:\S/u.test(part) && part !== 'OR' && part !== 'AND')
    .map((part) => part.replace(/^"|"$/g, '').replace(/\*$/, '').toLowerCase())
    .filter((word) => word.length > 0);
}

/** Marks all places of these words in some elements, and no others. */
export function markWords(elements: readonly HTMLElement[], words: readonly string[]): void {
  if (!('highlights' in CSS)) return;
  const ranges: Range[] = [];
  for (const element of elements) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.nodeValue!.toLowerCase();
      // Some letters become longer in lower case; then positions would be wrong.
      if (text.length !== node.nodeValue!.length) continue;
      for (const word of words) {
        for (let at = text.indexOf(word); at >= 0 && ranges.length < 5_000; at = text.indexOf(word, at + word.length)) {
          const range = document.createRange();
          range.setStart(node, at);
          range.setEnd(node, at + word.length);
          ranges.push(range);
        }
      }
    }
  }
  CSS.highlights.set(NAME, new Highlight(...ranges));
}

export function unmark(): void {
  if ('highlights' in CSS) CSS.highlights.delete(NAME);
}
