/** A large dialog over a conversation, or a part of the page beside it. Its address is that of the page, so the back button closes it. */
import { createContext, type ComponentChildren, type JSX } from 'preact';
import { useContext } from 'preact/hooks';
import { useModal } from './modal.ts';
import { texts } from './text.ts';

/** Where sheets are shown. */
export const SheetFrame = createContext<'dialog' | 'pane'>('dialog');

/** What closes a sheet when it leads to a row of the conversation: one that covers the conversation would hide the row. */
export function useLeave(onClose: () => void): () => void {
  return useContext(SheetFrame) === 'pane' ? () => undefined : onClose;
}

interface SheetProps { title: ComponentChildren; children: ComponentChildren; onClose(): void }

export function SheetBox(props: SheetProps): JSX.Element {
  return useContext(SheetFrame) === 'pane' ? <>
    <header class="sheet-head"><h2>{props.title}</h2><CloseButton onClick={props.onClose} /></header>
    <div class="sheet-body">{props.children}</div>
  </> : <SheetDialog {...props} />;
}

function CloseButton({ onClick }: { onClick(): void }): JSX.Element {
  return <button type="button" class="quiet" aria-label={texts.value.close} onClick={onClick}>✕</button>;
}

function SheetDialog({ title, children, onClose }: SheetProps): JSX.Element {
  const dialog = useModal();
  return <dialog ref={dialog} class="sheet" aria-labelledby="sheet-title" onClose={onClose}>
    <header class="sheet-head"><h2 id="sheet-title">{title}</h2><CloseButton onClick={() => dialog.current?.close()} /></header>
    <div class="sheet-body">{children}</div>
  </dialog>;
}
