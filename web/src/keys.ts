/** Keys and commands. A place registers what its commands do; the table says which keys call them. */
import { computed, signal } from '@preact/signals';
import type { Texts } from './text/en.ts';

export type Command = keyof Texts['keys'];

type Binding = readonly [keys: string, command: Command];

/** Keys of each command: one key, or two pressed after each other. `Ctrl` is also the command key of a Mac. */
export const KEYS: readonly Binding[] = [
  ['Ctrl k', 'palette'], ['/', 'find'], ['Ctrl f', 'find'], ['?', 'help'], ['Escape', 'close'],
  ['j', 'nextRow'], ['k', 'previousRow'], ['J', 'nextPrompt'], ['K', 'previousPrompt'], ['e', 'nextError'], ['E', 'previousError'],
  ['c', 'nextCompaction'], ['C', 'previousCompaction'], ['f', 'nextEdit'], ['F', 'previousEdit'], ['b', 'branch'],
  ['o', 'open'], ['Enter', 'open'], ['O', 'openTurn'], ['Alt o', 'openAll'], ['1', 'read'], ['2', 'work'], ['3', 'model'], ['4', 'raw'],
  ['i', 'inspector'], [']', 'nextTab'], ['[', 'previousTab'], ['\\', 'beside'], ['g o', 'outline'], ['g g', 'start'], ['G', 'end'],
  ['g s', 'sessions'], ['g f', 'search'], ['g u', 'usage'], ['g h', 'health'], ['h', 'out'], ['l', 'into'], ['n', 'nextSession'], ['p', 'previousSession'],
  ['y', 'copyLink'], ['Y', 'copyText'], ['Ctrl Shift c', 'copyResume'], ['s', 'star'], ['m', 'mark'], ["'", 'toMark'], ['v', 'split'], ['d', 'compare'], ['x', 'exportFile'], ['t', 'theme'],
];

/** The keys that a reader gave to commands instead of those of the table. */
export type OwnKeys = Partial<Record<Command, string>>;

const STORED = 'annals-keys';

/** The keys that count: a key that a reader gave to a command no longer calls another one. */
export function withOwn(own: OwnKeys): readonly Binding[] {
  const taken = new Set(Object.values(own));
  const given = Object.entries(own).map(([command, keys]): Binding => [keys, command as Command]);
  return [...KEYS.filter(([keys, command]) => !(command in own) && !taken.has(keys)), ...given];
}

export const ownKeys = signal<OwnKeys>({});
export const bindings = computed(() => withOwn(ownKeys.value));

/** Gives a command a key instead of those that it has; without one, those of the table again. */
export function setKeys(command: Command, keys?: string): void {
  const { [command]: _, ...rest } = ownKeys.peek();
  // Two commands cannot have one key: the command that had it gets its own key back.
  const others = Object.fromEntries(Object.entries(rest).filter(([, other]) => other !== keys)) as OwnKeys;
  ownKeys.value = keys ? { ...others, [command]: keys } : others;
  localStorage.setItem(STORED, JSON.stringify(ownKeys.value));
}

export function resetKeys(): void {
  ownKeys.value = {};
  localStorage.removeItem(STORED);
}

/** Reads the stored keys, as far as they are keys of commands. */
export function readOwn(stored: string | null): OwnKeys {
  try {
    const known = new Set<string>(KEYS.map(([, command]) => command));
    const found = Object.entries(JSON.parse(stored ?? '{}') as object);
    return Object.fromEntries(found.filter(([command, keys]) => known.has(command) && typeof keys === 'string' && keys !== '')) as OwnKeys;
  } catch {
    return {};
  }
}

/** Whether two keys pressed after each other begin with this one. */
export function isBeginning(keys: string): boolean {
  return bindings.peek().some(([other]) => other.startsWith(`${keys} `));
}

type Handler = () => void | boolean | Promise<void>;

/** What commands do here and now; the newest handler of a command counts. */
const handlers = signal<ReadonlyMap<Command, readonly Handler[]>>(new Map());

/** Registers commands until the returned function is called. */
export function register(commands: Partial<Record<Command, Handler>>): () => void {
  const entries = Object.entries(commands) as [Command, Handler][];
  const changed = new Map(handlers.peek());
  for (const [name, handler] of entries) changed.set(name, [...(changed.get(name) ?? []), handler]);
  handlers.value = changed;
  return () => {
    const left = new Map(handlers.peek());
    for (const [name, handler] of entries) left.set(name, (left.get(name) ?? []).filter((other) => other !== handler));
    handlers.value = left;
  };
}

/** The commands that do something here. */
export function available(): Command[] {
  return [...handlers.value].filter(([, list]) => list.length > 0).map(([name]) => name);
}

/** Runs a command. Returns false if it does nothing here. */
export function run(command: Command): boolean {
  const handler = handlers.peek().get(command)?.at(-1);
  return handler ? handler() !== false : false;
}

/** The name of a pressed key, as the table has it. */
export function nameOf(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey' | 'code'>): string {
  const isCtrl = event.ctrlKey || event.metaKey;
  const letter = event.altKey && event.code.startsWith('Key') ? event.code.slice(3).toLowerCase() : event.key;
  const isLetter = letter.length === 1;
  const key = isLetter && isCtrl ? letter.toLowerCase() : letter;
  return [isCtrl && 'Ctrl', event.altKey && 'Alt', isCtrl && event.shiftKey && 'Shift', key].filter(Boolean).join(' ');
}

let first: string | undefined;
let lastFind = 0;

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const target = event.target as HTMLElement;
  const isTyping = target.matches?.('input, textarea, select, [contenteditable]') && !target.matches('input[type=checkbox], input[type=radio]');
  const key = nameOf(event);
  if (isTyping && !['Ctrl k', 'Escape'].includes(key)) return;
  // What is shown over a conversation covers it: keys must not move what the reader cannot see.
  if (document.querySelector('dialog.sheet[open]')) return;
  // The second Ctrl F within a moment is the browser's own.
  if (key === 'Ctrl f') {
    const isSecond = event.timeStamp - lastFind < 1_500;
    lastFind = event.timeStamp;
    if (isSecond) return;
  }
  // Enter and space belong to the focused control.
  if (key === 'Enter' && target.closest?.('button, a, summary, input, [role=option], [role=tab]')) return;
  const both = first ? `${first} ${key}` : key;
  first = undefined;
  const all = bindings.peek();
  const match = all.find(([keys]) => keys === both) ?? all.find(([keys]) => keys === key);
  if (match) {
    if (run(match[1])) event.preventDefault();
  } else if (isBeginning(key)) first = key;
}

export function startKeys(): void {
  ownKeys.value = readOwn(localStorage.getItem(STORED));
  document.addEventListener('keydown', pressed);
}
