/** The prompts of a conversation, with what went wrong in each turn. */
import { render, type JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { visible } from '../format.ts';
import { List } from '../list/list.ts';
import { hasOutline } from '../settings.ts';
import { texts, word } from '../text.ts';
import { headingOf } from './heading.ts';
import type { Reader } from './reader.ts';

const ROW = 30;

export function Outline({ reader }: { reader: Reader }): JSX.Element | null {
  const screen = useRef<HTMLDivElement>(null);
  const list = useRef<List | undefined>(undefined);
  const elements = useRef(new Map<number, HTMLElement>());
  const isShown = hasOutline.value === 'yes';
  const current = reader.turn.value;
  const count = reader.items.value?.skeleton.turns.length ?? 0;
  const figures = reader.turns.value;
  const draw = (element: HTMLElement, turn: number) => render(<Entry reader={reader} turn={turn} />, element);
  useEffect(() => {
    if (!screen.current) return undefined;
    list.current = new List(screen.current, {
      mount: (element, row) => { elements.current.set(row, element); draw(element, row); },
      unmount: (element, key) => { elements.current.delete(key as number); render(null, element); },
    });
    return () => list.current?.destroy();
  }, [reader, isShown]);
  useEffect(() => {
    list.current?.replace({ count, key: (row) => row, estimate: () => ROW, find: Number });
  }, [reader, count, isShown]);
  useEffect(() => {
    for (const [turn, element] of elements.current) draw(element, turn);
  }, [figures, texts.value]);
  useEffect(() => {
    if (current >= 0) list.current?.reveal(current);
  }, [current]);
  if (!isShown) return null;
  return <nav class="outline" aria-label={texts.value.outline}><div class="screen" ref={screen} tabIndex={0} /></nav>;
}

function Entry({ reader, turn }: { reader: Reader; turn: number }): JSX.Element {
  const figures = reader.turns.value[turn];
  const isCurrent = reader.turn.value === turn;
  const { skeleton } = reader.items.value!;
  return <button type="button" class="entry" aria-current={isCurrent ? 'location' : undefined} onClick={() => reader.goToRow(skeleton.turns[turn]!)} title={visible(figures ? headingOf(figures, word).slice(0, 400) : '')}>
    <span class="number">{turn + 1}</span><span class="words" dir="auto">{visible(figures ? headingOf(figures, word).slice(0, 120).split('\n')[0]! : '…')}</span>
    {figures?.compacted && <span class="compaction" title={texts.value.compacted}>↻</span>}
    {figures && figures.errors > 0 && <span class="failed" title={texts.value.errors(figures.errors)}>✖</span>}
  </button>;
}
