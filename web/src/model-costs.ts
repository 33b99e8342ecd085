/** The costs of models as parts of bars. */
import type { Bar } from './plot.tsx';
import type { UsageRow } from './wire.ts';

/** How many models have a colour of their own in a plot. */
const MOST_MODELS = 5;

/** The models of a plot, the most expensive first; if there are more than colours, the others are one part, which is called `other`. */
export function namesOf(rows: readonly Pick<UsageRow, 'models'>[], other: string): string[] {
  const sums = new Map<string, number>();
  for (const { models } of rows) for (const [name, { costUsd }] of Object.entries(models)) sums.set(name, (sums.get(name) ?? 0) + (costUsd ?? 0));
  const names = [...sums].sort(([one, cost], [two, more]) => more - cost || (one < two ? -1 : 1)).map(([name]) => name);
  return names.length > MOST_MODELS + 1 ? [...names.slice(0, MOST_MODELS), other] : names;
}

/** The parts of a bar; the last name has what no other name has. */
export function costsOf({ models }: Pick<UsageRow, 'models'>, names: readonly string[]): Bar['parts'] {
  const parts = names.map((name) => ({ name, value: models[name]?.costUsd ?? 0 }));
  const rest = Object.entries(models).reduce((sum, [name, { costUsd }]) => (names.includes(name) ? sum : sum + (costUsd ?? 0)), 0);
  const last = parts.at(-1);
  if (last) last.value += rest;
  return parts;
}
