/** The messages of the model view, and about how many tokens they have. */
import { call, type Which } from '../rpc.ts';
import type { ChatMessage, ChatToolCall } from '../wire.ts';

/** Loads what Claude Code would send if it resumed the session: now, or when its file ended with a line. */
export async function loadModel(which: Which, lastLine?: number): Promise<ChatMessage[]> {
  const messages: ChatMessage[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await call('history/load', { ...which, view: 'model', ...(lastLine !== undefined && { lastLine }), ...(cursor && { cursor }) });
    messages.push(...page.messages);
    cursor = page.nextCursor;
  } while (cursor);
  return messages;
}

/** About how many tokens a text has. */
export function tokensOf(text: string): number {
  const wide = text.match(/[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]/g)?.length ?? 0;
  return Math.ceil((text.length - wide) / 4 + wide);
}

export function callText({ name, input, result, error }: ChatToolCall): [input: string, output: string] {
  const json = (value: unknown) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2));
  return [`${name} ${json(input)}`, error ?? json(result)];
}

export function weight(message: ChatMessage): number {
  const calls = (message.toolCalls ?? []).flatMap((call) => callText(call));
  return [message.content, message.thought ?? '', ...calls].reduce((sum, text) => sum + tokensOf(text), 0);
}

export function totalWeight(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + weight(message), 0);
}
