/** How high an item of a conversation probably is, before it is an element. */
import { density } from '../settings.ts';
import { isFold, type Item, type Items } from './items.ts';
import { MARKS, type Skeleton } from './skeleton.ts';

const CARD = { compact: 24, normal: 28, roomy: 34 };
const PROSE = 21;
const CODE = 18;
/** A long prompt is cut off at so many lines until it is opened. */
export const LONG_PROMPT = 30;

export function estimate(skeleton: Skeleton, items: Items, item: Item, open: ReadonlySet<number>): number {
  const card = CARD[density.value];
  if (isFold(item)) return card + 4;
  const kind = skeleton.kind(item);
  const lines = Math.max(1, skeleton.lines[item] ?? 1);
  if (items.level === 'raw') return card;
  if (kind === 'u') return 54 + PROSE * Math.min(lines, open.has(item) ? lines : LONG_PROMPT);
  if (kind === 'a') return 20 + PROSE * lines;
  if (MARKS.has(kind)) return card + 8;
  return open.has(item) ? card + 24 + CODE * Math.min(lines, 60) : card;
}
