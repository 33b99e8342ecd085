/** A large dialog over a conversation. Its address is that of the page, so the back button closes it. */
import type { ComponentChildren, JSX } from 'preact';
import { useModal } from './modal.ts';
import { texts } from './text.ts';

export function SheetBox({ title, children, onClose }: { title: ComponentChildren; children: ComponentChildren; onClose(): void }): JSX.Element {
  const dialog = useModal();
  return <dialog ref={dialog} class="sheet" aria-labelledby="sheet-title" onClose={onClose}>
    <header class="sheet-head"><h2 id="sheet-title">{title}</h2><button type="button" class="quiet" aria-label={texts.value.close} onClick={() => dialog.current?.close()}>✕</button></header>
    <div class="sheet-body">{children}</div>
  </dialog>;
}
