/** What stands beside a conversation: another one, a subagent, a file, a branch or a compaction. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { ago, baseName, visible } from '../format.ts';
import { score } from '../fuzzy.ts';
import type { Which } from '../rpc.ts';
import { amend, format, route, type Beside, type Route } from '../route.ts';
import { sessions } from '../session-list.ts';
import { SheetFrame } from '../sheet.tsx';
import { language, texts } from '../text.ts';
import { Transcript } from './page.tsx';
import { Reader } from './reader.ts';
import { AnySheet } from './sheets.tsx';

type ConversationRoute = Extract<Route, { place: 'conversation' }>;

function close(): void {
  const { beside: _, ...now } = route.peek() as ConversationRoute;
  amend(now);
}

function CloseButton(): JSX.Element {
  return <button type="button" class="quiet" aria-label={texts.value.close} onClick={close}>✕</button>;
}

export function BesideContent({ reader, beside: { kind, of } }: { reader: Reader; beside: Beside }): JSX.Element {
  if (kind === 'session' && !of) return <Chooser />;
  if (kind === 'session' || kind === 'agent') return <OtherConversation reader={reader} kind={kind} of={of} />;
  return <SheetFrame.Provider value="pane"><AnySheet reader={reader} sheet={{ kind, of }} onClose={close} /></SheetFrame.Provider>;
}

function OtherConversation({ reader, kind, of }: { reader: Reader; kind: 'session' | 'agent'; of: string }): JSX.Element {
  const t = texts.value;
  const which: Which = kind === 'session' ? { sessionId: of } : { ...reader.which, agentId: of };
  const other = useMemo(() => new Reader(which, 'work'), [of]);
  const listed = sessions.value.find(({ id }) => id === which.sessionId);
  const title = kind === 'agent' ? t.subagent(of.slice(0, 8)) : visible(listed?.title ?? '') || of.slice(0, 8);
  return <>
    <header class="sheet-head"><h2 dir="auto">{title}</h2>
      <a href={format({ place: 'conversation', session: which.sessionId, level: 'work', ...(kind === 'agent' && { agent: of }), ...(which.workspacePath && { workspace: which.workspacePath }) })}>{t.openHere} →</a><CloseButton /></header>
    <Transcript reader={other} isLive={listed?.live ?? false} isPart />
  </>;
}

/** So many sessions are offered. */
const MOST = 60;

function Chooser(): JSX.Element {
  const t = texts.value;
  const words = useSignal('');
  useEffect(() => { document.querySelector<HTMLInputElement>('.beside input')?.focus(); }, []);
  const here = route.value as ConversationRoute;
  const query = words.value.trim();
  const all = sessions.value.filter(({ id }) => id !== here.session).map((session) => ({ session, label: visible(session.title ?? session.firstPrompt ?? '') || t.untitled }));
  const found = query ? all.map((one) => [score(query, one.label), one] as const).filter(([points]) => points > 0).sort(([one], [other]) => other - one).map(([, one]) => one) : all;
  return <>
    <header class="sheet-head"><h2>{t.besideChoose}</h2><CloseButton /></header>
    <div class="chooser">
      <p class="second">{t.besideHint}</p>
      <input type="search" value={words.value} placeholder={t.filterSessions} aria-label={t.filterSessions} onInput={(event) => { words.value = event.currentTarget.value; }} />
      <ul>{found.slice(0, MOST).map(({ session, label }) => <li key={session.id}><a href={format({ ...here, beside: { kind: 'session', of: session.id } })}><span dir="auto">{label}</span> <span class="second">{visible(baseName(session.projectPath ?? ''))} · {ago(session.updatedAt, Date.now(), language.value)}</span></a></li>)}</ul>
    </div>
  </>;
}
