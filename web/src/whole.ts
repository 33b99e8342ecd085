/** Content without what was left out of it, for the clipboard. */
import type { FetchPart } from './nodes.tsx';
import type { ViewNode } from './wire.ts';

/** At most so many lines are fetched for a copy. */
const MOST_LINES = 50_000;
/** How many lines a request asks for. */
const LINES_AT_ONCE = 5_000;

/** Fetches what was left out, up to some lines. Returns how many lines are still missing, too. */
export async function whole(nodes: readonly ViewNode[], part: FetchPart): Promise<{ nodes: ViewNode[]; missing: number }> {
  const all: ViewNode[] = [];
  let missing = 0;
  for (const node of nodes) {
    if (node.t !== 'more') {
      add(all, node);
      continue;
    }
    const end = node.from + Math.min(node.lines, MOST_LINES);
    missing += node.from + node.lines - end;
    for (let next: number | null | undefined = node.from; next != null && next < end;) {
      const answer = await part(node.part, next, Math.min(LINES_AT_ONCE, end - next));
      for (const one of answer.nodes ?? []) add(all, one);
      next = answer.next;
    }
  }
  return { nodes: all, missing };
}

/** Adds a node. The lines of one text that came in several answers are one node again. */
function add(all: ViewNode[], node: ViewNode): void {
  const last = all.at(-1);
  if (last?.t === 'ansi' && node.t === 'ansi') all[all.length - 1] = { ...last, lines: [...last.lines, ...node.lines] };
  else if (last?.t === 'code' && node.t === 'code') all[all.length - 1] = { ...last, lines: [...last.lines, ...node.lines] };
  else if (last?.t === 'text' && node.t === 'text') all[all.length - 1] = { ...last, text: `${last.text}\n${node.text}` };
  else if (last?.t === 'json' && node.t === 'json') all[all.length - 1] = { ...last, text: `${last.text}\n${node.text}` };
  else if (last?.t === 'diff' && node.t === 'diff') all[all.length - 1] = { ...last, hunks: [...last.hunks, ...node.hunks] };
  else all.push(node);
}
