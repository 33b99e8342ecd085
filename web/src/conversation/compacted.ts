/** What a compaction did to the context: the messages before and after it, each with what became of it. */
import type { ChatMessage } from '../wire.ts';

/** `kept`: sent again as it was. `summarised`: only the summary stands for it. `dropped`: nothing does. */
export type Fate = 'kept' | 'summarised' | 'dropped';
/** `summary`: stands for what was compacted. `kept`: was there before. `added`: came with the compaction, such as files that are read again. */
export type Origin = 'summary' | 'kept' | 'added';

export interface Compacted {
  before: { message: ChatMessage; fate: Fate }[];
  after: { message: ChatMessage; origin: Origin }[];
}

/** A shorter text may be part of another one by chance. */
const SHORTEST_PART = 12;

/**
 * Compares what would have been sent before a compaction with what is sent after it. Claude Code joins messages of the user that follow each other, so a prompt
 * that was kept may be a part of the message that begins with the summary.
 */
export function compare(before: readonly ChatMessage[], after: readonly ChatMessage[]): Compacted {
  const isSame = (one: ChatMessage, other: ChatMessage) => one.id !== '' && one.id === other.id && one.role === other.role;
  const isPart = (part: ChatMessage, whole: ChatMessage) => part.role === whole.role && part.content.length >= SHORTEST_PART && whole.content.includes(part.content);
  const isKept = (message: ChatMessage) => after.some((other) => isSame(message, other) || isPart(message, other));
  const isOld = (message: ChatMessage) => before.some((other) => isSame(message, other));
  const known = new Set(before.map(({ id }) => id));
  const summary = after.find((message) => message.summary || (message.role === 'user' && !known.has(message.id)));
  return {
    before: before.map((message) => ({ message, fate: isKept(message) ? 'kept' : summary ? 'summarised' : 'dropped' })),
    after: after.map((message) => ({ message, origin: isOld(message) ? 'kept' : message === summary ? 'summary' : 'added' })),
  };
}
