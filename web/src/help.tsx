/** The list of keys, which a reader can change. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { KEYS, bindings, isBeginning, nameOf, ownKeys, resetKeys, setKeys, type Command } from './keys.ts';
import { useModal } from './modal.ts';
import { keyName } from './palette.tsx';
import { texts } from './text.ts';

const MODIFIERS = new Set(['Shift', 'Control', 'Alt', 'Meta', 'CapsLock', 'AltGraph', 'Dead', 'Process']);

export function HelpDialog({ onClose }: { onClose(): void }): JSX.Element {
  const t = texts.value;
  const dialog = useModal();
  /** The command that gets the next key, and the first of two keys. */
  const wanted = useSignal<{ command: Command; first?: string } | undefined>(undefined);
  const said = useSignal('');
  const commands = [...new Set(KEYS.map(([, command]) => command))];
  const pressed = (event: KeyboardEvent) => {
    const now = wanted.peek();
    if (!now || MODIFIERS.has(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === 'Escape') {
      wanted.value = undefined;
      said.value = '';
      return;
    }
    const key = nameOf(event);
    const keys = now.first ? `${now.first} ${key}` : key;
    if (!now.first && isBeginning(key)) {
      wanted.value = { ...now, first: key };
      said.value = t.keySecond(key);
      return;
    }
    const loser = bindings.peek().find(([other, command]) => other === keys && command !== now.command)?.[1];
    setKeys(now.command, keys);
    wanted.value = undefined;
    said.value = loser ? t.keyTaken(keys, t.keys[loser]) : `${t.keys[now.command]}: ${keys}`;
  };
  return <dialog ref={dialog} class="help" aria-label={t.help} onClose={onClose} onKeyDown={pressed} onCancel={(event) => { if (wanted.peek()) event.preventDefault(); }} onClick={(event) => { if (event.target === dialog.current) dialog.current?.close(); }}>
    <h2>{t.help}</h2>
    <dl tabIndex={0}>{commands.map((command) => <div key={command} data-own={command in ownKeys.value || undefined}>
      <dt><button type="button" class="quiet" aria-label={t.changeKey(t.keys[command])} title={t.changeKey(t.keys[command])} onClick={() => { wanted.value = { command }; said.value = t.pressKey; }}>
        {wanted.value?.command === command ? <kbd class="asked">…</kbd> : keyName(command) ? keyName(command).split(', ').map((keys) => <kbd key={keys}>{keys}</kbd>) : <kbd>–</kbd>}</button></dt><dd>{t.keys[command]}</dd></div>)}</dl>
    <p class="buttons"><span class="second" role="status">{said.value || t.keyHint}</span>
      {Object.keys(ownKeys.value).length > 0 && <button type="button" onClick={() => { resetKeys(); said.value = ''; }}>{t.resetKeys}</button>}
      <button type="button" onClick={() => dialog.current?.close()}>{t.close}</button></p>
  </dialog>;
}
