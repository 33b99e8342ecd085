/** What a turn is called where there is one line for it. */
import type { Turn } from '../wire.ts';

/** The prompt of a turn. A notification is written for the model, between tags: its summary says what happened. */
export function headingOf({ prompt, startedBy }: Pick<Turn, 'prompt' | 'startedBy'>, word: (name: string) => string): string {
  if (startedBy !== 'task_notification') return prompt;
  const summary = /<summary>([^<]*)<\/summary>/.exec(prompt)?.[1]?.trim();
  return summary ? `${word(startedBy)}: ${summary}` : word(startedBy);
}
