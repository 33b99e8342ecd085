/** The place of one conversation: head, outline, text, rail, inspector. */
import { useSignal, type Signal } from '@preact/signals';
import { render, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { ActionMenu, copyCommand, copyResume, repairCommand } from '../actions.tsx';
import { baseName, textOf, visible } from '../format.ts';
import { Icon } from '../icons.tsx';
import { register } from '../keys.ts';
import { INVALID_PARAMS, NO_SUCH_SESSION, Refusal, call } from '../rpc.ts';
import { LEVELS, amend, format, go, route, type Beside, type Level, type Route, type Sheet } from '../route.ts';
import { sessions } from '../session-list.ts';
import { stars, toggleStar } from '../stars.ts';
import { density, diffs, hasInspector, hasOutline, isWide, nextOf } from '../settings.ts';
import { texts, word } from '../text.ts';
import { complain, say } from '../toast.tsx';
import type { Session, ViewRow } from '../wire.ts';
import { FindBar } from './find.tsx';
import { headingOf } from './heading.ts';
import { isFold } from './items.ts';
import { TABS, type Tab } from './tabs.ts';
import { ModelMessage } from './model.tsx';
import { ModelNote } from './model-note.tsx';
import { Outline } from './outline.tsx';
import { Rail } from './rail.tsx';
import { Reader, currentReader } from './reader.ts';
import { ItemView, authorOf, copyNodes, copyText, fetchPart, linkTo } from './rows.tsx';
import { RunningTurn } from './running.tsx';

type ConversationRoute = Extract<Route, { place: 'conversation' }>;

export function Conversation({ at }: { at: ConversationRoute }): JSX.Element {
  const session = useSignal<Session | undefined>(undefined);
  const isUnknown = useSignal(false);
  const isFinding = useSignal(Boolean(at.find));
  const compared = useRef<number | undefined>(undefined);
  const tab = useSignal<Tab>('calls');
  const which = { sessionId: at.session, ...(at.agent && { agentId: at.agent }), ...(at.workspace && { workspacePath: at.workspace }) };
  const reader = useMemo(() => new Reader(which, at.level), [at.session, at.agent, at.workspace]);
  useEffect(() => {
    isUnknown.value = false;
    call('history/session', { sessionId: at.session, ...(at.workspace && { workspacePath: at.workspace }) }).then((answer) => {
      session.value = answer;
      document.title = `${visible(answer.title ?? '') || texts.value.untitled} · annals`;
    }, (error: Error) => {
      // An address may have a word that cannot be an id at all.
      isUnknown.value = error instanceof Refusal && (error.code === NO_SUCH_SESSION || error.code === INVALID_PARAMS);
    });
    return () => { document.title = 'annals'; };
  }, [at.session, at.workspace]);
  useEffect(() => {
    const level = (name: Level) => () => amend({ ...(route.peek() as ConversationRoute), level: name });
    const currentRow = () => {
      const item = reader.cursor.peek();
      return item !== undefined && !isFold(item) ? reader.store.row(item) : undefined;
    };
    const t = () => texts.peek();
    // A key that finds nothing says so.
    const step = (rows: readonly number[], by: 1 | -1) => { if (!reader.stepTo(rows, by)) say(t().noneThere); };
    const stepFile = (by: 1 | -1) => {
      const row = currentRow();
      if (!row?.tool?.file) say(t().noFileHere);
      else reader.stepToEdit(row, by).then((isThere) => { if (!isThere) say(t().noneThere); }, complain);
    };
    const sheetOf = (row: ViewRow | undefined): Sheet | undefined => (row?.kind === 'k' && row.uuid ? { kind: 'compaction', of: row.uuid } : row?.kind === 'b' && row.leaf ? { kind: 'branch', of: row.leaf } : row?.tool?.file ? { kind: 'file', of: row.tool.file } : undefined);
    const open = (sheet: Sheet) => go({ ...(route.peek() as ConversationRoute), sheet });
    const other = (by: 1 | -1) => {
      const list = sessions.peek();
      const next = list[list.findIndex(({ id }) => id === at.session) + by];
      if (next) go({ place: 'conversation', session: next.id, level: at.level });
    };
    return register({
      find: () => { isFinding.value = true; },
      nextRow: () => reader.step(1), previousRow: () => reader.step(-1),
      nextPrompt: () => step(reader.rowsOfKind('u'), 1), previousPrompt: () => step(reader.rowsOfKind('u'), -1),
      nextError: () => step(reader.store.skeleton?.failedRows ?? [], 1), previousError: () => step(reader.store.skeleton?.failedRows ?? [], -1),
      nextCompaction: () => step(reader.rowsOfKind('k'), 1), previousCompaction: () => step(reader.rowsOfKind('k'), -1),
      nextEdit: () => stepFile(1), previousEdit: () => stepFile(-1),
      branch: () => {
        // On the mark of a branch, the branch is compared; the key pressed again there goes on.
        const row = currentRow();
        const branches = reader.rowsOfKind('b');
        if (row?.kind === 'b' && row.leaf && compared.current !== row.row) {
          compared.current = row.row;
          open({ kind: 'branch', of: row.leaf });
        } else step(branches, 1);
      },
      open: () => {
        const item = reader.cursor.peek();
        if (item !== undefined) void reader.toggle(item);
      },
      openTurn: () => {
        const items = reader.items.peek();
        const item = reader.cursor.peek();
        if (items) reader.toggleTurn(item === undefined ? reader.turn.peek() : items.skeleton.turnOf(Math.ceil(items.order(item))));
      },
      openAll: () => reader.toggleAllTurns(),
      read: level('read'), work: level('work'), model: level('model'), raw: level('raw'),
      inspector: () => { hasInspector.value = nextOf(['yes', 'no'] as const, hasInspector.peek()); },
      outline: () => { hasOutline.value = nextOf(['yes', 'no'] as const, hasOutline.peek()); },
      nextTab: () => { tab.value = nextOf(TABS, tab.peek()); }, previousTab: () => { tab.value = nextOf([...TABS].reverse(), tab.peek()); },
      start: () => reader.toStart(), end: () => reader.toEnd(),
      out: () => {
        const { agent, record: _, ...rest } = route.peek() as ConversationRoute;
        if (!agent) return false;
        go(rest);
        return true;
      },
      into: () => {
        const agent = currentRow()?.tool?.agentId;
        if (!agent) return false;
        const { record: _, ...rest } = route.peek() as ConversationRoute;
        go({ ...rest, agent });
        return true;
      },
      compare: () => {
        const sheet = sheetOf(currentRow());
        if (sheet) open(sheet);
        return sheet !== undefined;
      },
      beside: () => {
        const { beside, ...now } = route.peek() as ConversationRoute;
        const row = currentRow();
        const sheet = sheetOf(row);
        if (beside) amend(now);
        else if (!isWide.peek()) say(t().tooNarrow);
        else go({ ...now, beside: row?.tool?.agentId ? { kind: 'agent', of: row.tool.agentId } : sheet && sheet.kind !== 'export' ? { kind: sheet.kind, of: sheet.of } : { kind: 'session', of: '' } });
      },
      exportFile: () => open({ kind: 'export', of: 'html' }),
      nextSession: () => other(1), previousSession: () => other(-1),
      copyLink: () => {
        const row = currentRow();
        void copyText(new URL(row ? linkTo(reader, row) : location.href, location.href).href);
      },
      copyText: () => {
        const row = currentRow();
        if (!row) return;
        void reader.store.open(row.row).then((opened) => copyNodes([...(opened?.nodes ?? []), ...(opened?.input ?? []), ...(opened?.output ?? [])], fetchPart(reader, row.row), row.summary));
      },
      copyResume: () => { if (session.peek()) copyResume(session.peek()!); },
      star: () => toggleStar(at.session),
      mark: () => { if (reader.mark()) say(t().marked); },
      toMark: () => void reader.goToMark().then((isThere) => { if (!isThere) say(t().noMark); }, complain),
      split: () => { diffs.value = nextOf(['unified', 'split'] as const, diffs.peek()); },
      close: () => {
        if (isFinding.peek()) {
          isFinding.value = false;
          return true;
        }
        if (document.querySelector('dialog[open]')) return false;
        const { beside, ...now } = route.peek() as ConversationRoute;
        if (beside && isWide.peek()) {
          amend(now);
          return true;
        }
        history.back();
        return true;
      },
    });
  }, [reader]);
  useEffect(() => {
    currentReader.value = reader;
    return () => { currentReader.value = undefined; };
  }, [reader]);
  // The address changes without a new reader: another level, or another record.
  useEffect(() => {
    if (reader.level.peek() !== at.level) reader.setLevel(at.level);
  }, [reader, at.level]);
  useEffect(() => reader.setUntil(at.until), [reader, at.until]);
  // The list of sessions knows more: it follows changes.
  const listed = sessions.value.find(({ id, path }) => id === at.session && (!at.workspace || textOf(path) === at.workspace));
  const known = session.value && listed ? { ...session.value, ...listed } : session.value ?? listed;
  useEffect(() => { reader.isLive.value = known?.live ?? false; }, [reader, known?.live]);
  const isStarted = useRef<Reader | undefined>(undefined);
  useEffect(() => {
    if (isStarted.current === reader && at.record) void reader.goToRecord(at.record);
  }, [at.record]);

  if (isUnknown.value) return <NoSession />;
  const beside = isWide.value ? at.beside : undefined;
  return <div class="conversation" data-inspector={hasInspector.value} data-outline={hasOutline.value} data-beside={beside ? 'yes' : undefined}>
    <ConversationHead reader={reader} at={at} session={known} />
    {!at.agent && reader.lostMessages.value > 0 && <LostNote count={reader.lostMessages.value} id={at.session} />}
    {isFinding.value && <FindBar key={at.agent ?? ''} reader={reader} start={at.find ?? ''} onClose={() => { isFinding.value = false; }} />}
    <Outline reader={reader} />
    <Transcript key={`${at.session} ${at.agent ?? ''} ${at.workspace ?? ''}`} reader={reader} record={at.record} isLive={sessions.peek().find(({ id }) => id === at.session)?.live ?? false}
      onStart={() => { isStarted.current = reader; void reader.loadCopies(); }} />
    <Rail reader={reader} />
    {beside ? <BesidePane key={`${beside.kind} ${beside.of}`} reader={reader} beside={beside} /> : hasInspector.value === 'yes' && <LaterInspector reader={reader} tab={tab} />}
    {at.sheet && <ConversationSheet key={at.sheet.kind === 'export' ? 'export' : `${at.sheet.kind} ${at.sheet.of}`} reader={reader} sheet={at.sheet} />}
  </div>;
}

function NoSession(): JSX.Element {
  const t = texts.value;
  return <main class="no-session" id="content"><h1>{t.noSuchSession}</h1><p><a href="/">{t.toSessions}</a></p></main>;
}

/** What is shown over the conversation. Closing it leaves the rest of the address. */
function ConversationSheet({ reader, sheet }: { reader: Reader; sheet: Sheet }): JSX.Element | null {
  const sheets = useSignal<typeof import('./sheets.tsx') | undefined>(undefined);
  useEffect(() => { import('./sheets.tsx').then((module) => { sheets.value = module; }, complain); }, []);
  const close = () => {
    const now = route.peek();
    if (now.place !== 'conversation') return;
    const { sheet: _, ...rest } = now;
    amend(rest);
  };
  const AnySheet = sheets.value?.AnySheet;
  return AnySheet ? <AnySheet reader={reader} sheet={sheet} onClose={close} /> : null;
}

/** The inspector, which is loaded when it is shown: rows come first. */
function LaterInspector({ reader, tab }: { reader: Reader; tab: Signal<Tab> }): JSX.Element {
  const inspector = useSignal<typeof import('./inspector.tsx') | undefined>(undefined);
  useEffect(() => { import('./inspector.tsx').then((module) => { inspector.value = module; }, complain); }, []);
  const Content = inspector.value?.Inspector;
  return Content ? <Content reader={reader} tab={tab} /> : <aside class="inspector" aria-label={texts.value.inspector} aria-busy="true" />;
}

/** What stands beside the conversation. */
function BesidePane({ reader, beside }: { reader: Reader; beside: Beside }): JSX.Element {
  const pane = useSignal<typeof import('./beside.tsx') | undefined>(undefined);
  useEffect(() => { import('./beside.tsx').then((module) => { pane.value = module; }, complain); }, []);
  const Content = pane.value?.BesideContent;
  return <aside class="beside" aria-label={texts.value.besidePane}>{Content ? <Content reader={reader} beside={beside} /> : <p class="empty">{texts.value.loading}</p>}</aside>;
}

function ConversationHead({ reader, at, session }: { reader: Reader; at: ConversationRoute; session: Session | undefined }): JSX.Element {
  const t = texts.value;
  const { agent: _, record: __, ...outside } = at;
  const isLive = session?.live ?? false;
  return <section class="conversation-head" aria-label={t.conversation}>
    <a class="back" href={at.agent ? format(outside) : '/'} aria-label={at.agent ? t.backToSession : t.sessions} title={at.agent ? t.backToSession : t.sessions}>‹</a>
    <h1 dir="auto">{at.agent && <span class="cause">{t.subagent(at.agent.slice(0, 8))} · </span>}{visible(session?.title ?? '') || (session ? t.untitled : at.session.slice(0, 8))}</h1>
    <p class="facts">
      {isLive && <span class="live">● {t.live}</span>}
      {session?.writers && <span class="failed" title={t.writersHint}>⚠ {t.writers(session.writers)}</span>}
      {session?.projectPath && <span title={visible(session.projectPath)}>{visible(baseName(session.projectPath))}</span>}
      {session?.gitBranch && <span><Icon name="branch" /> {visible(session.gitBranch)}</span>}
      {stars.value.has(at.session) && <span class="compaction" title={t.starred}>★<span class="hidden">{t.starred}</span></span>}
      {session?.tag && <span class="tag">{visible(session.tag)}</span>}
      {reader.turns.value.length > 0 && <span>{t.turnCount(reader.turns.value.length)}</span>}
      {!reader.isConnected.value && reader.items.value && <span class="offline">{t.offline}</span>}
    </p>
    <div class="levels" role="group">
      {LEVELS.map((level, index) => <button type="button" key={level} aria-pressed={at.level === level} title={`${t.levelHints[level]} (${index + 1})`} onClick={() => amend({ ...at, level })}>{t.levels[level]}</button>)}
    </div>
    {session && <ActionMenu session={session} upTo={() => {
      const item = reader.cursor.peek();
      return item !== undefined && !isFold(item) ? reader.store.row(item)?.uuid ?? undefined : undefined;
    }} />}
  </section>;
}

/** Says that a resume would leave messages out, and how to see what a repair does about it. */
function LostNote({ count, id }: { count: number; id: string }): JSX.Element {
  const t = texts.value;
  const command = repairCommand(id);
  return <section class="lost-note" aria-label={t.health}>
    <p>{t.lostMessages(count)} <code>{command}</code> {t.repairShows}</p>
    <button type="button" class="quiet" onClick={() => copyCommand(command)}>{t.copyCommand}</button> <a href={format({ place: 'health', query: {} })}>{t.health}</a>
  </section>;
}

interface TranscriptProps {
  reader: Reader;
  record?: string | undefined;
  isLive: boolean;
  /** Whether it is a part of another place, such as a preview. */
  isPart?: boolean;
  onStart?(): void;
}

/** The text itself: a list with the pinned prompt above it and the pill below it. */
export function Transcript({ reader, record, isLive, isPart, onStart }: TranscriptProps): JSX.Element {
  const screen = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    reader.attach(screen.current!, {
      draw: (element, item) => render(<ItemView reader={reader} item={item} />, element),
      drawMessage: (element, index) => render(<ModelMessage reader={reader} index={index} />, element),
      clear: (element) => render(null, element),
    });
    void reader.start(record, isLive).then(() => onStart?.());
    return () => reader.stop();
  }, [reader]);
  useEffect(() => density.subscribe(() => reader.list?.forgetHeights()), [reader]);
  const t = texts.value;
  const several = reader.severalPaths;
  const isEmpty = reader.level.value !== 'model' && reader.items.value?.list.length === 0;
  const Box = isPart ? 'div' : 'main';
  return <Box class="transcript" id={isPart ? undefined : 'content'}>
    <Pinned reader={reader} />
    {reader.level.value === 'model' && <ModelNote reader={reader} />}
    {reader.level.value === 'model' && reader.modelFailure.value && <p class="trouble" role="alert">{t.failedToLoad} {reader.modelFailure.value.message}</p>}
    <div class="screen" ref={screen} tabIndex={0} role="feed" aria-label={t.conversation} aria-busy={!reader.items.value} />
    {isEmpty && <p class="empty">{t.emptyConversation}</p>}
    {several ? <div class="several"><p>{t.severalSessions}</p><ul>{several.map((path) => <li key={path}><a href={format({ ...(route.value as ConversationRoute), workspace: path })}>{visible(path)}</a></li>)}</ul></div>
      : reader.failure.value && <p class="trouble" role="alert">{t.failedToLoad} {reader.failure.value.message} <button type="button" onClick={() => { reader.failure.value = undefined; void reader.start(record, isLive); }}>{t.retry}</button></p>}
    {!isPart && <RunningTurn reader={reader} />}
    <Pill reader={reader} />
  </Box>;
}

/** The prompt of the turn under the top edge. */
function Pinned({ reader }: { reader: Reader }): JSX.Element | null {
  const turn = reader.turn.value;
  const items = reader.items.value;
  const first = items?.list[reader.topRow.value];
  if (!items || turn < 0 || first === undefined || reader.level.value === 'raw') return null;
  const row = items.skeleton.turns[turn]!;
  const isPromptVisible = items.order(first) <= row;
  const figures = reader.turns.value[turn];
  const prompt = figures ? headingOf(figures, word) : reader.store.row(row)?.summary ?? '';
  const isPrompt = figures?.startedBy !== 'task_notification';
  return <button type="button" class="pinned" data-hidden={isPromptVisible || undefined} tabIndex={isPromptVisible ? -1 : 0} aria-hidden={isPromptVisible || undefined} title={texts.value.pinned} onClick={() => reader.goToRow(row)}>
    <span class="number">{turn + 1}</span> {isPrompt && <b>{authorOf(reader)}</b>} <span dir="auto">{visible(prompt.split('\n')[0] ?? '')}</span>
  </button>;
}

function Pill({ reader }: { reader: Reader }): JSX.Element | null {
  const count = reader.unseen.value;
  if (reader.isAtEnd.value || !reader.items.value) return null;
  return <button type="button" class={count > 0 ? 'pill new' : 'pill'} onClick={() => reader.toEnd()} aria-live="polite">{count > 0 ? texts.value.newRows(count) : texts.value.toEnd}</button>;
}
