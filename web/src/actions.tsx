/** What can be done with a session. A server that is read-only offers only what changes nothing. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { textOf } from './format.ts';
import { useModal } from './modal.ts';
import { call, status } from './rpc.ts';
import { go, route } from './route.ts';
import { loadSessions } from './session-list.ts';
import { texts } from './text.ts';
import { complain, say } from './toast.tsx';
import type { Session } from './wire.ts';

/** Puts text into quotes for a shell, so that no character of it has a meaning. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function resumeCommand({ cwd, id }: Pick<Session, 'cwd' | 'id'>): string {
  return `${cwd ? `cd ${quoted(cwd)} && ` : ''}claude --resume ${quoted(id)}`;
}

export function copyCommand(command: string): void {
  void navigator.clipboard.writeText(command).then(() => say(texts.value.copied), complain);
}

export function copyResume(session: Session): void {
  copyCommand(resumeCommand(session));
}

/** The command that shows what a repair would change, and changes nothing. */
export function repairCommand(id: string): string {
  return `annals repair ${quoted(id)}`;
}

const paramsOf = (session: Session) => {
  const path = textOf(session.path);
  return { sessionId: session.id, ...(path && path !== '�' && { workspacePath: path }) };
};

async function attempt(work: () => Promise<void>): Promise<void> {
  try {
    await work();
    await loadSessions();
  } catch (error) {
    complain(error);
  }
}

export async function restore(sessionId: string, entry?: string): Promise<void> {
  await attempt(async () => {
    await call('history/restore', { sessionId, ...(entry && { entry }) });
    say(texts.value.done.restored);
  });
}

async function remove(session: Session): Promise<void> {
  await attempt(async () => {
    await call('history/delete', paramsOf(session));
    say(texts.value.done.deleted, { label: texts.value.undo, run: () => void restore(session.id) });
    go({ place: 'sessions', query: {} });
  });
}

async function archive(session: Session, isArchived: boolean): Promise<void> {
  await attempt(async () => {
    await call(isArchived ? 'history/archive' : 'history/unarchive', paramsOf(session));
    const { done, undo } = texts.value;
    say(isArchived ? done.archived : done.unarchived, { label: undo, run: () => void archive(session, !isArchived) });
  });
}

async function fork(session: Session, upTo: string | undefined): Promise<void> {
  await attempt(async () => {
    const made = await call('history/fork', { ...paramsOf(session), ...(upTo && { upTo }) });
    say(texts.value.done.forked, { label: texts.value.openFork, run: () => go({ place: 'conversation', session: made.session, level: 'work' }) });
  });
}

/** A question with one field. */
interface Question { title: string; start: string; field: boolean; answer(text: string): void }

export function ActionMenu({ session, upTo }: { session: Session; upTo?: () => string | undefined }): JSX.Element {
  const isOpen = useSignal(false);
  const question = useSignal<Question | undefined>(undefined);
  const menu = useRef<HTMLDivElement>(null);
  const t = texts.value;
  const mayChange = status.value?.readOnly === false;
  useEffect(() => {
    if (!isOpen.value) return undefined;
    menu.current?.querySelector('button')?.focus();
    const close = (event: Event) => { if (!menu.current?.parentElement?.contains(event.target as Node)) isOpen.value = false; };
    document.addEventListener('pointerdown', close);
    return () => document.removeEventListener('pointerdown', close);
  }, [isOpen.value]);
  const title = session.title ?? t.untitled;
  const record = upTo?.();
  const entries: [label: string, run: () => void][] = [
    [t.copyLink, () => void navigator.clipboard.writeText(location.href).then(() => say(t.copied), complain)],
    [t.resume, () => copyResume(session)],
    [t.export, () => { const at = route.peek(); if (at.place === 'conversation') go({ ...at, sheet: { kind: 'export', of: 'html' } }); }],
  ];
  if (mayChange) {
    entries.push(
      [t.rename, () => { question.value = { title: t.renamePrompt, start: session.title ?? '', field: true, answer: (text) => void attempt(async () => { await call('history/rename', { ...paramsOf(session), title: text }); say(t.done.renamed); }) }; }],
      [t.tag, () => { question.value = { title: t.tagPrompt, start: session.tag ?? '', field: true, answer: (text) => void attempt(async () => { await call('history/tag', { ...paramsOf(session), tag: text || null }); say(t.done.tagged); }) }; }],
      [session.archived ? t.unarchive : t.archive, () => void archive(session, !session.archived)],
      [record ? t.forkHere : t.fork, () => void fork(session, record)],
      [t.delete, () => { question.value = { title: t.deleteQuestion(title), start: '', field: false, answer: () => void remove(session) }; }],
    );
  }
  const move = (event: KeyboardEvent) => {
    const buttons = [...menu.current!.querySelectorAll('button')];
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Escape') {
      event.preventDefault();
      isOpen.value = false;
      (menu.current!.previousElementSibling as HTMLElement | null)?.focus();
    } else if (by !== 0) {
      event.preventDefault();
      buttons[(buttons.indexOf(document.activeElement as HTMLButtonElement) + by + buttons.length) % buttons.length]?.focus();
    }
  };
  return <div class="menu-box">
    <button type="button" class="quiet" aria-haspopup="menu" aria-expanded={isOpen.value} aria-label={t.actions} title={t.actions} onClick={() => { isOpen.value = !isOpen.value; }}>⋯</button>
    {isOpen.value && <div class="menu" role="menu" ref={menu} onKeyDown={move} aria-label={t.actions}>
      {entries.map(([label, run]) => <button type="button" role="menuitem" key={label} onClick={() => { isOpen.value = false; run(); }}>{label}</button>)}
    </div>}
    {question.value && <Ask question={question.value} onClose={() => { question.value = undefined; }} />}
  </div>;
}

function Ask({ question, onClose }: { question: Question; onClose(): void }): JSX.Element {
  const dialog = useModal();
  const field = useRef<HTMLInputElement>(null);
  const t = texts.value;
  useLayoutEffect(() => { field.current?.select(); }, []);
  return <dialog ref={dialog} class="ask" aria-label={question.title} onClose={onClose}>
    <form method="dialog" onSubmit={(event) => { event.preventDefault(); dialog.current?.close(); question.answer(field.current?.value.trim() ?? ''); }}>
      <p dir="auto">{question.title}</p>
      {question.field && <input ref={field} defaultValue={question.start} aria-label={question.title} />}
      <p class="buttons"><button type="button" onClick={() => dialog.current?.close()}>{t.cancel}</button><button type="submit" class="primary">{t.ok}</button></p>
    </form>
  </dialog>;
}
