/** Bars as SVG, drawn by hand: each bar is a stack, and the table below it has the same figures. */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { visible } from './format.ts';

export interface Bar { label: string; title: string; parts: { name: string; value: number }[] }

const [HEIGHT, FOOT, SIDE] = [200, 20, 60];
/** How wide a character of a label is, with some room. */
const CHARACTER = 7.5;

/** A round number that is at least as large as the highest bar. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value * (1 - 1e-12))!;
}

export function Bars({ bars, label, format, names }: { bars: readonly Bar[]; label: string; format(value: number): string; names: readonly string[] }): JSX.Element {
  const top = roundUp(Math.max(...bars.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0)), 0));
  // One unit is one pixel, so that the labels have the same size on every screen.
  const figure = useRef<HTMLElement>(null);
  const [room, setRoom] = useState(720);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => { if (entry) setRoom(Math.max(240, Math.floor(entry.contentRect.width))); });
    observer.observe(figure.current!);
    return () => observer.disconnect();
  }, []);
  const whole = room - SIDE;
  const width = whole / Math.max(1, bars.length);
  const labelWidth = Math.max(64, CHARACTER * Math.max(0, ...bars.map(({ label }) => label.length)));
  const every = Math.ceil((bars.length * labelWidth) / whole);
  return <figure class="plot" ref={figure}>
    <svg viewBox={`${-SIDE + 4} -8 ${room} ${HEIGHT + FOOT + 8}`} role="img" aria-label={label}>
      {[0, 0.5, 1].map((share) => <g key={share}><line class="grid" x1={0} x2={whole} y1={HEIGHT * (1 - share)} y2={HEIGHT * (1 - share)} /><text x={-6} y={HEIGHT * (1 - share) + 4} class="axis end">{format(top * share)}</text></g>)}
      {bars.map((bar, index) => {
        let y = HEIGHT;
        return <g key={bar.label}>
          <title>{bar.title}</title>
          <rect class="hover" x={index * width} y={0} width={width} height={HEIGHT} />
          {bar.parts.map(({ name, value }) => {
            const height = (value / top) * HEIGHT;
            y -= height;
            return <rect key={name} class={`part p${names.indexOf(name) % 6}`} x={index * width + width * 0.12} y={y} width={Math.max(1, width * 0.76)} height={Math.max(0, height)} />;
          })}
          {index % every === 0 && (index + 0.5) * width + labelWidth / 2 <= whole + 4 && <text class="axis" x={index * width + width / 2} y={HEIGHT + 15}>{bar.label}</text>}
        </g>;
      })}
    </svg>
    {names.length > 1 && <figcaption>{names.map((name, index) => <span key={name}><i class={`swatch p${index % 6}`} /> {visible(name)}</span>)}</figcaption>}
  </figure>;
}
