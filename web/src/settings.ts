/** What a reader chose about how the page looks; kept in this browser. */
import { effect, signal } from '@preact/signals';

export const THEMES = ['auto', 'light', 'dark', 'contrast'] as const;
export const DENSITIES = ['compact', 'normal', 'roomy'] as const;

function stored<T extends string>(name: string, values: readonly T[], fallback: T) {
  const value = signal<T>(values.find((value) => value === localStorage.getItem(`annals-${name}`)) ?? fallback);
  effect(() => {
    localStorage.setItem(`annals-${name}`, value.value);
    document.documentElement.dataset[name] = value.value;
  });
  return value;
}

export const theme = stored('theme', THEMES, 'auto');
export const density = stored('density', DENSITIES, 'normal');
// A small screen has no room for it unless the reader asks.
export const hasInspector = stored('inspector', ['yes', 'no'] as const, innerWidth > 900 ? 'yes' : 'no');
export const hasOutline = stored('outline', ['yes', 'no'] as const, 'yes');
export const diffs = stored('diffs', ['unified', 'split'] as const, 'unified');

/** Whether there is room for something beside a conversation. */
const wide = matchMedia('(min-width: 1100px)');
export const isWide = signal(wide.matches);
wide.addEventListener('change', () => { isWide.value = wide.matches; });

export function nextOf<T>(values: readonly T[], value: T): T {
  return values[(values.indexOf(value) + 1) % values.length]!;
}
