/** The conversation of a subagent inside of the card of its call: a list of its own, as high as its rows up to a part of the screen. */
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { texts } from '../text.ts';
import { Transcript } from './page.tsx';
import { Reader } from './reader.ts';

/** How high it is before its rows are here. */
const FIRST_HEIGHT = 120;

/** Calls `onMissing` if the transcript of the subagent cannot be read, or has no rows. */
export function InlineAgent({ reader, agent, onMissing }: { reader: Reader; agent: string; onMissing(): void }): JSX.Element {
  const inner = useMemo(() => new Reader({ ...reader.which, agentId: agent }, 'work', reader), [reader, agent]);
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    // The card has the height that it had when it left the screen, so that nothing moves when it comes back.
    box.current!.style.height = `${reader.inlineHeights.get(agent) ?? FIRST_HEIGHT}px`;
    return inner.onScreen.subscribe(() => {
      const total = inner.items.peek() && inner.list ? Math.ceil(inner.list.total) + 2 : undefined;
      if (total === undefined || !box.current) return;
      box.current.style.height = `${total}px`;
      reader.inlineHeights.set(agent, box.current.getBoundingClientRect().height);
    });
  }, [inner]);
  const isMissing = inner.failure.value !== undefined || inner.items.value?.list.length === 0;
  useEffect(() => { if (isMissing) onMissing(); }, [isMissing]);
  return <section class="inline-agent" ref={box} aria-label={texts.value.subagent(agent.slice(0, 8))}><Transcript reader={inner} isLive={false} isPart /></section>;
}
