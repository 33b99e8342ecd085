/** How well words match a text: all words must occur, beginnings of words and early places count more. */
export function score(query: string, text: string): number {
  const lower = text.toLowerCase();
  let points = 0;
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = lower.indexOf(word);
    if (at < 0) {
      if (!isSubsequence(word, lower)) return 0;
      points += 1;
      continue;
    }
    const isStart = at === 0 || /[^\p{L}\p{N}]/u.test(lower[at - 1]!);
    points += (isStart ? 20 : 10) + 5 / (1 + at);
  }
  return points;
}

/** Whether the letters occur in this order, of a word that is long enough for that to mean something. */
function isSubsequence(word: string, text: string): boolean {
  if (word.length < 3) return false;
  let at = 0;
  for (const letter of word) {
    at = text.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
