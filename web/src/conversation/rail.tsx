/** The whole conversation in one column: a tick for each prompt, error, pause, compaction, branch, gap and copy. Dragging scrolls. */
import { useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { theme } from '../settings.ts';
import { texts } from '../text.ts';
import type { Reader } from './reader.ts';

/** The kinds that have ticks, in the order in which they are drawn, and the property with their colour. */
const TICKS: readonly [kind: string, colour: string][] = [['u', '--user'], ['i', '--soft'], ['o', '--error'], ['b', '--branch'], ['k', '--compaction'], ['g', '--error'], ['d', '--error']];

export function Rail({ reader }: { reader: Reader }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<HTMLDivElement>(null);
  const draw = () => {
    const element = canvas.current;
    const items = reader.items.peek();
    const context = element?.getContext('2d');
    if (!element || !items || !context) return;
    const [width, height] = [element.clientWidth, element.clientHeight];
    element.width = width;
    element.height = height;
    const style = getComputedStyle(element);
    const tick = (row: number, colour: string, from: number) => {
      context.fillStyle = style.getPropertyValue(colour);
      context.fillRect(from, Math.floor((row / Math.max(1, items.skeleton.total)) * (height - 2)), width - from, 2);
    };
    for (const [kind, colour] of TICKS) for (const row of reader.rowsOfKind(kind)) tick(row, colour, kind === 'u' ? width / 2 : 0);
    for (const { row } of reader.copies.peek()) tick(row, '--branch', 0);
    for (const row of items.skeleton.failedRows) tick(row, '--error', 0);
  };
  useSignalEffect(() => {
    void reader.items.value;
    void theme.value;
    void reader.copies.value;
    draw();
  });
  useEffect(() => {
    const observer = new ResizeObserver(draw);
    observer.observe(canvas.current!);
    return () => observer.disconnect();
  }, [reader]);
  // Where the screen is, in rows.
  const items = reader.items.value;
  const [first, last] = reader.onScreen.value;
  const share = (index: number) => (items && items.list.length > 0 && reader.level.value !== 'model' ? items.order(items.list[Math.min(index, items.list.length - 1)]!) / Math.max(1, items.skeleton.total) : 0);
  const scrub = (event: PointerEvent) => {
    if (event.buttons !== 1 || !items) return;
    const box = canvas.current!.getBoundingClientRect();
    const row = Math.round(Math.max(0, Math.min(1, (event.clientY - box.top) / box.height)) * items.skeleton.total);
    const index = items.findOrder(row);
    if (index >= items.list.length - 1) reader.toEnd();
    else reader.list?.show(index);
  };
  return <div class="rail" title={texts.value.rail} aria-hidden="true" onPointerDown={(event) => { (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId); scrub(event); }} onPointerMove={scrub}>
    <canvas ref={canvas} />
    <div class="rail-view" ref={view} style={{ top: `${share(first) * 100}%`, height: `${Math.max(1, (share(last) - share(first)) * 100)}%` }} />
  </div>;
}
