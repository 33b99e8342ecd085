/** Short messages at the bottom of the page, which screen readers announce. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';

interface Toast { id: number; text: string; isTrouble: boolean; action?: { label: string; run(): void } }

const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

function add(toast: Omit<Toast, 'id'>, ms: number): void {
  const id = ++lastId;
  toasts.value = [...toasts.value, { ...toast, id }];
  setTimeout(() => drop(id), ms);
}

function drop(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function say(text: string, action?: { label: string; run(): void }): void {
  add({ text, isTrouble: false, ...(action && { action }) }, action ? 10_000 : 2_500);
}

export function complain(error: unknown): void {
  add({ text: error instanceof Error ? error.message : String(error), isTrouble: true }, 8_000);
}

export function Toasts(): JSX.Element {
  return <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map(({ id, text, isTrouble, action }) => <p key={id} class={isTrouble ? 'trouble' : ''}>
      {text}{action && <button type="button" onClick={() => { drop(id); action.run(); }}>{action.label}</button>}
    </p>)}
  </div>;
}
