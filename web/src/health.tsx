/** What is wrong with sessions, what is in the trash, and what the server reads. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { restore } from './actions.tsx';
import { ago, bytes, textOf, visible } from './format.ts';
import { ask, call, has, status } from './rpc.ts';
import { format } from './route.ts';
import { sessions } from './session-list.ts';
import { language, texts } from './text.ts';
import type { TrashEntry } from './wire.ts';

interface Finding { session?: string | null; path?: unknown; line?: number | null; problem?: string; severity?: string; effect?: string | null; repairable?: boolean; help?: string | null }

export function Health(): JSX.Element {
  const t = texts.value;
  const findings = useSignal<readonly Finding[] | undefined>(undefined);
  const isChecking = useSignal(false);
  const failure = useSignal<string | undefined>(undefined);
  const trash = useSignal<readonly TrashEntry[]>([]);
  const loadTrash = () => call('history/trash', {}).then((answer) => { trash.value = answer.sessions; }, () => undefined);
  useEffect(() => { void loadTrash(); }, [sessions.value]);
  const check = async () => {
    isChecking.value = true;
    try {
      // One session at a time, so that the page shows what was found while the rest is checked.
      findings.value = [];
      failure.value = undefined;
      for (const { id } of sessions.value) {
        const answer = (await ask('history/check', { sessionId: id })) as { findings: Finding[] };
        findings.value = [...findings.value, ...answer.findings.filter(({ severity }) => severity !== 'info')];
      }
    } catch (error) {
      failure.value = (error as Error).message;
    }
    isChecking.value = false;
  };
  const canCheck = has('history/check');
  const unreadable = sessions.value.filter(({ error }) => error);
  const live = sessions.value.filter((session) => session.live);
  const titleOf = (id: string) => visible(sessions.value.find((session) => session.id === id)?.title ?? '') || id.slice(0, 8);
  return <main class="health" id="content">
    <h1 class="hidden">{t.health}</h1>
    <section class="panel wide"><h2>{findings.value ? t.problems(findings.value.length) : t.health}</h2>
      {canCheck ? <button type="button" class="primary" disabled={isChecking.value} onClick={() => void check()}>{isChecking.value ? t.healthChecking : t.healthCheck}</button> : <p class="note">{t.healthAbsent}</p>}
      {failure.value && <p class="trouble" role="alert">{t.failedToLoad} {failure.value}</p>}
      {findings.value?.length === 0 && !isChecking.value && !failure.value && <p>✓ {t.healthFine}</p>}
      {findings.value && findings.value.length > 0 && <ul class="findings">{findings.value.slice(0, 2_000).map((finding, index) => <li key={index} data-severity={finding.severity}>
        <p><b>{finding.severity === 'error' ? '✖' : '⚠'} {t.severities[finding.severity ?? ''] ?? finding.severity}</b> {finding.session && <a href={format({ place: 'conversation', session: finding.session, level: 'raw', ...(finding.line && { record: `L${finding.line}` }) })}>{titleOf(finding.session)}{finding.line ? `, ${t.line} ${finding.line}` : ''}</a>}</p>
        <p>{visible(finding.problem ?? '')}</p>{finding.effect && <p class="second">{t.effect}: {visible(finding.effect)}</p>}{finding.repairable && <p class="second">{t.repairable}: <code>annals repair {finding.session?.slice(0, 8)}</code></p>}{finding.help && <p class="second">{visible(finding.help)}</p>}
      </li>)}</ul>}
      {unreadable.length > 0 && <><h3>{t.unreadable}</h3><ul>{unreadable.map((session) => <li key={session.id}>{visible(session.title ?? session.id)}: {visible(session.error ?? '')}</li>)}</ul></>}
    </section>
    <section class="panel"><h2>{t.openSessions}</h2>{live.length === 0 ? <p class="quiet">{t.none}</p> : <ul>{live.map((session) => <li key={session.id}>● <a href={format({ place: 'conversation', session: session.id, level: 'work' })}>{visible(session.title ?? '') || t.untitled}</a> <span class="second">{ago(session.updatedAt, Date.now(), language.value)}</span></li>)}</ul>}</section>
    <section class="panel"><h2>{t.trash}</h2>{trash.value.length === 0 ? <p class="quiet">{t.trashEmpty}</p> : <ul class="trash">{trash.value.map((entry) => <li key={entry.entry}><span dir="auto">{visible(entry.title ?? '') || entry.session.slice(0, 8)}</span> <span class="second">{t.deletedAt} {ago(entry.deletedAt, Date.now(), language.value)}, {bytes(entry.size)}</span>
      {status.value?.readOnly === false && <button type="button" onClick={() => void restore(entry.session, entry.entry).then(loadTrash)}>{t.restore}</button>}</li>)}</ul>}</section>
    <section class="panel"><h2>{t.server}</h2><dl class="kv"><div><dt>annals</dt><dd>{status.value?.version}{status.value?.readOnly ? `, ${t.readOnly}` : ''}</dd></div><div><dt>{t.sessions}</dt><dd>{sessions.value.length.toLocaleString(language.value)}</dd></div>{status.value?.roots.map((root, index) => <div key={index}><dt>{t.roots}</dt><dd>{visible(textOf(root))}</dd></div>)}</dl></section>
  </main>;
}
