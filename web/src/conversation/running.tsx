/** Shows that something runs, and for how long. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { duration } from '../format.ts';
import { texts } from '../text.ts';
import type { Reader } from './reader.ts';
import { isUnanswered } from './skeleton.ts';

export function Running({ since }: { since: string | undefined }): JSX.Element {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => { now.value = Date.now(); }, 1_000);
    return () => clearInterval(timer);
  }, []);
  const ms = since ? now.value - Date.parse(since) : 0;
  // A clock that is slow, or a call of another day that was never answered, has no time that means something.
  return <span class="running"><span class="dot" aria-hidden="true">◌</span> {texts.value.running}{ms > 0 && ms < 86_400_000 ? ` ${duration(ms)}` : ''}</span>;
}

/** A line below the conversation while a turn runs. */
export function RunningTurn({ reader }: { reader: Reader }): JSX.Element | null {
  const skeleton = reader.items.value?.skeleton;
  if (!reader.isLive.value || !skeleton || !isUnanswered(skeleton)) return null;
  const last = reader.store.row(skeleton.total - 1);
  return <p class="running-turn" role="status"><Running since={last?.timestamp ?? undefined} /> <span class="second">{texts.value.turn(skeleton.turns.length)}</span></p>;
}
