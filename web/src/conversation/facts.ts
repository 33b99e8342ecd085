/** What came out of calls, in the words of a language. */
import type { Texts } from '../text/en.ts';
import type { ViewTool } from '../wire.ts';

/** The facts of a call. What is no known fact, such as the first line of an error, stays as the server sent it. */
export function factsOf({ facts, knownFacts }: Pick<ViewTool, 'facts' | 'knownFacts'>, words: Texts['facts']): string[] {
  return facts.map((fact, index) => {
    const known = knownFacts?.[index];
    return (known && words[known.kind]?.(known.count ?? 0)) ?? fact;
  });
}
