/** The line above the model view: how much it is, and a slider to any earlier entry. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { compact } from '../format.ts';
import { call } from '../rpc.ts';
import { amend, route } from '../route.ts';
import { texts } from '../text.ts';
import { complain } from '../toast.tsx';
import { totalWeight } from './model-messages.ts';
import type { Reader } from './reader.ts';
import { lastAtMost, stopsOf } from './skeleton.ts';

export function ModelNote({ reader }: { reader: Reader }): JSX.Element {
  const t = texts.value;
  const messages = reader.messages.value;
  const skeleton = reader.items.value?.skeleton;
  const until = reader.until.value;
  const stops = useMemo(() => stopsOf(skeleton?.kinds ?? ''), [skeleton]);
  /** The stop that is shown; while it is dragged, the one under the finger. */
  const at = useSignal<number | undefined>(undefined);
  useEffect(() => {
    if (until === undefined) at.value = undefined;
    else if (at.peek() === undefined) call('history/locate', { ...reader.which, line: until }).then(({ row }) => { at.value = Math.max(0, lastAtMost(stops, row)); }, () => undefined);
  }, [until, stops]);
  const setUntil = (line: number | undefined) => {
    const { until: _, ...rest } = route.peek() as Extract<ReturnType<typeof route.peek>, { place: 'conversation' }>;
    amend({ ...rest, ...(line !== undefined && { until: line }) });
  };
  const choose = async (stop: number) => {
    if (stop >= stops.length - 1) {
      setUntil(undefined);
      return;
    }
    try {
      const { rows } = await call('history/rows', { ...reader.which, revision: skeleton!.revision, from: stops[stop]!, count: 1 });
      if (rows[0]?.line) setUntil(rows[0].line);
    } catch (error) {
      complain(error);
    }
  };
  const shown = Math.min(at.value ?? stops.length - 1, stops.length - 1);
  const turn = skeleton && shown >= 0 ? skeleton.turnOf(stops[shown] ?? 0) + 1 : 0;
  return <div class="model-note">
    <span>{messages ? (until === undefined ? t.modelMessages : t.modelMessagesThen)(messages.length, compact(totalWeight(messages))) : t.loading}</span>
    {stops.length > 1 && <label><span class="second">{until === undefined && at.value === undefined ? t.modelNow : t.modelAt(turn, shown + 1, stops.length)}</span>
      <input type="range" min={0} max={stops.length - 1} value={shown} aria-label={t.modelSlider} onInput={(event) => { at.value = Number(event.currentTarget.value); }} onChange={(event) => void choose(Number(event.currentTarget.value))} /></label>}
    {until !== undefined && <button type="button" class="quiet" onClick={() => setUntil(undefined)}>{t.modelToNow}</button>}
  </div>;
}
