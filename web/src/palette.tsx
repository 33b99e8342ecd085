/** The command palette. */
import { signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { headingOf } from './conversation/heading.ts';
import { currentReader } from './conversation/reader.ts';
import { ago, baseName, visible } from './format.ts';
import { score } from './fuzzy.ts';
import { available, bindings, run, type Command } from './keys.ts';
import { useModal } from './modal.ts';
import { go } from './route.ts';
import { sessions } from './session-list.ts';
import { language, texts, word } from './text.ts';

export const isPaletteOpen = signal(false);

interface Choice { label: string; hint: string; group: string; run(): void }

const MOST = 40;

/** Keys as people read them. */
export function keyName(command: Command): string {
  return bindings.value.filter(([, name]) => name === command).map(([keys]) => keys.replace('Escape', 'Esc')).join(', ');
}

export function Palette(): JSX.Element | null {
  return isPaletteOpen.value ? <OpenPalette /> : null;
}

function OpenPalette(): JSX.Element {
  const t = texts.value;
  const words = useSignal('');
  const at = useSignal(0);
  const dialog = useModal();
  const choices = useMemo(() => {
    const query = words.value.trim();
    const commands: Choice[] = available().filter((name) => name !== 'palette' && name !== 'close').map((name) => ({ label: t.keys[name], hint: keyName(name), group: t.paletteCommands, run: () => void run(name) }));
    const all: Choice[] = sessions.value.map((session) => ({
      label: visible(session.title ?? session.firstPrompt ?? '') || t.untitled, hint: `${visible(baseName(session.projectPath ?? ''))} · ${ago(session.updatedAt, Date.now(), language.value)}`, group: t.paletteSessions,
      run: () => go({ place: 'conversation', session: session.id, level: 'work' }),
    }));
    if (!query) return [...all.slice(0, 8), ...commands];
    const reader = currentReader.peek();
    const prompts: Choice[] = (reader?.turns.peek() ?? []).map((turn, index) => ({
      label: visible(headingOf(turn, word).slice(0, 200)), hint: t.turn(index + 1), group: t.palettePrompts, run: () => reader!.goToRow(reader!.store.skeleton!.turns[index]!),
    }));
    const found = [...prompts, ...all, ...commands].map((choice) => [score(query, `${choice.label} ${choice.hint}`), choice] as const).filter(([points]) => points > 0);
    found.sort(([one], [other]) => other - one);
    return [...found.slice(0, MOST).map(([, choice]) => choice), { label: t.paletteSearch(query), hint: '', group: t.search, run: () => go({ place: 'search', query: { q: query } }) }];
  }, [words.value, sessions.value, texts.value]);
  const choose = (choice: Choice | undefined) => {
    dialog.current?.close();
    choice?.run();
  };
  const pressed = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (by !== 0) {
      event.preventDefault();
      at.value = (at.value + by + choices.length) % choices.length;
      document.getElementById(`choice-${at.value}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault();
      choose(choices[at.value]);
    }
  };
  return <dialog ref={dialog} class="palette" aria-label={t.palette} onClose={() => { isPaletteOpen.value = false; }} onClick={(event) => { if (event.target === dialog.current) dialog.current?.close(); }}>
    <input type="text" role="combobox" aria-expanded="true" aria-controls="choices" aria-activedescendant={`choice-${at.value}`} placeholder={t.paletteHint} aria-label={t.paletteHint} value={words.value} onKeyDown={pressed}
      onInput={(event) => { words.value = event.currentTarget.value; at.value = 0; }} autofocus />
    <ul role="listbox" id="choices" aria-label={t.palette} tabIndex={-1}>{choices.map((choice, index) => <li role="option" key={index} id={`choice-${index}`} aria-selected={index === at.value} onClick={() => choose(choice)} onPointerMove={() => { at.value = index; }}>
      <span class="label" dir="auto">{choice.label}</span><span class="second">{choice.hint}</span>
    </li>)}</ul>
  </dialog>;
}
