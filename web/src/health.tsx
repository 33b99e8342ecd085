/** What is wrong with sessions, what is in the trash, and what the server reads. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { copyCommand, quoted, repairCommand, restore } from './actions.tsx';
import { ago, bytes, textOf, visible } from './format.ts';
import { call, has, status } from './rpc.ts';
import { format } from './route.ts';
import { isLoaded, sessions } from './session-list.ts';
import { language, texts, word } from './text.ts';
import * as zh from './text/problems-zh.ts';
import type { Problem, RepairChange, RepairResult, RestoredView, TrashEntry } from './wire.ts';

/** At most so many bytes of transcripts are checked without being asked for. */
const CHECKED_AT_ONCE = 50_000_000;
/** The most findings of a session that are shown. */
const MOST_SHOWN = 50;

function countOf(findings: readonly Problem[], severity: string): number {
  return findings.reduce((count, finding) => count + Number(finding.severity === severity), 0);
}

/** Findings of a session stand together; those with errors come first. */
function bySession(findings: readonly Problem[]): [id: string, findings: Problem[]][] {
  const groups = new Map<string, Problem[]>();
  for (const finding of findings) {
    const id = finding.session ?? '';
    groups.set(id, [...(groups.get(id) ?? []), finding]);
  }
  return [...groups].sort(([, one], [, other]) => countOf(other, 'error') - countOf(one, 'error'));
}

/** What is wrong and what is lost because of it, in the language of the page. A code of a newer server has the sentences of the server. */
function wordsOf({ code, details, problem, effect }: Problem): [problem: string, effect: string] {
  const known = language.value === 'zh' ? zh.problems[code] : undefined;
  const say = (words: (typeof zh.problems)[Problem['code']][0]) => (typeof words === 'string' ? words : words(details ?? {}));
  if (!known) return [problem, effect];
  // A finding without consequences says so, whatever its kind.
  return [say(known[0]), details?.costs === false && typeof known[1] === 'string' ? zh.harmless : say(known[1])];
}

function reasonOf({ code, reason, rule }: RepairChange): string {
  const known = language.value === 'zh' ? zh.repairs[code] : undefined;
  return known ? `${known}${rule ? `（${zh.rule(rule)}）` : ''}` : reason;
}

function FindingGroup({ id, title, findings }: { id: string; title: string; findings: readonly Problem[] }): JSX.Element {
  const t = texts.value;
  // What cannot be repaired may have another command that helps.
  const helps = [...new Set(findings.flatMap(({ repairable, help }) => (repairable || !help ? [] : [help])))].slice(0, MOST_LINES);
  return <section class="finding-group">
    <h3><a href={format({ place: 'conversation', session: id, level: 'raw' })} dir="auto">{title}</a></h3>
    <ul class="findings">{findings.slice(0, MOST_SHOWN).map((finding, index) => <li key={index} data-severity={finding.severity}>
      <b>{finding.severity === 'error' ? '✖' : '⚠'}<span class="hidden">{t.severities[finding.severity]}</span></b>
      <FindingText finding={finding} />
      {finding.line ? <a href={format({ place: 'conversation', session: id, level: 'raw', record: `L${finding.line}` })}>{t.line} {finding.line}</a> : <span />}
    </li>)}</ul>
    {findings.length > MOST_SHOWN && <p class="second">+ {findings.length - MOST_SHOWN}</p>}
    {findings.some(({ repairable }) => repairable) && (has('history/repair') ? <RepairPlan id={id} path={findings[0]!.path} /> : <Command label={t.repairPlan} command={repairCommand(id)} />)}
    {helps.map((command) => <Command key={command} label={t.helps} command={command} />)}
  </section>;
}

function FindingText({ finding }: { finding: Problem }): JSX.Element {
  const [problem, effect] = wordsOf(finding);
  return <span>{visible(problem)}<span class="second">{visible(effect)}</span></span>;
}

function Command({ label, command }: { label: string; command: string }): JSX.Element {
  return <p class="plan"><span class="second">{label}</span> <code>{visible(command)}</code> <button type="button" class="quiet" onClick={() => copyCommand(command)}>{texts.value.copyCommand}</button></p>;
}

/** What a repair would change, when somebody wants to see it. */
function RepairPlan({ id, path }: { id: string; path: Problem['path'] }): JSX.Element {
  const t = texts.value;
  const plan = useSignal<RepairResult | undefined>(undefined);
  const isOpen = useSignal(false);
  const failure = useSignal<string | undefined>(undefined);
  const toggle = () => {
    isOpen.value = !isOpen.value;
    if (!isOpen.value || plan.peek()) return;
    failure.value = undefined;
    call('history/repair', { sessionId: id, ...(typeof path === 'string' && { workspacePath: path }) }).then((answer) => { plan.value = answer; }, (error: Error) => { failure.value = error.message; });
  };
  return <div class="repair-plan">
    <button type="button" aria-expanded={isOpen.value} onClick={toggle}>{isOpen.value ? t.planHide : t.planShow}</button>
    {isOpen.value && (failure.value ? <p class="trouble" role="alert">{t.failedToLoad} {failure.value}</p> : plan.value ? <PlanView plan={plan.value} command={repairCommand(id)} /> : <p class="quiet" role="status">{t.loading}</p>)}
  </div>;
}

/** Changes that follow each other and are of one kind stand together. */
function inGroups(changes: readonly RepairChange[]): RepairChange[][] {
  const groups: RepairChange[][] = [];
  for (const change of changes) {
    const last = groups.at(-1);
    if (last?.[0]!.change === change.change && last[0]!.reason === change.reason) last.push(change);
    else groups.push([change]);
  }
  return groups;
}

/** So many lines of a group are named. */
const MOST_LINES = 5;

function PlanView({ plan, command }: { plan: RepairResult; command: string }): JSX.Element {
  const t = texts.value;
  const places = (group: RepairChange[]) => {
    const lines = group.flatMap(({ line }) => line ?? []);
    return lines.length > 0 ? t.planLines(lines.slice(0, MOST_LINES).join(', '), Math.max(0, lines.length - MOST_LINES)) : t.planNew(group.length);
  };
  const isChinese = language.value === 'zh';
  const restored = ({ obstacle, obstacleCode, sent, missing, missingLeftOut, refused }: RestoredView) => (obstacle ? `${t.planObstacle} ${visible(isChinese && obstacleCode ? zh.obstacle(obstacleCode) : obstacle)}`
    : [t.planSent(sent, missing.length + (missingLeftOut ?? 0)), refused.length > 0 && `${t.planRefused} ${refused.map(isChinese ? zh.rule : word).join(', ')}`].filter(Boolean).join('; '));
  const isEmpty = plan.changes.length === 0 && !plan.rewritten;
  return <>
    {isEmpty && <p>{t.planEmpty}</p>}
    {!isEmpty && <ul>{inGroups(plan.changes).map((group, index) => <li key={index}><b>{places(group)}</b>: {visible(reasonOf(group[0]!))}</li>)}
      {plan.changesLeftOut ? <li>+ {plan.changesLeftOut.toLocaleString(language.value)}</li> : null}</ul>}
    {plan.rewritten ? <p>{t.planRewritten(bytes(plan.rewritten))}</p> : null}
    {isEmpty ? <p>{restored(plan.after)}</p> : <dl class="kv"><div><dt>{t.planBefore}</dt><dd>{restored(plan.before)}</dd></div><div><dt>{t.planAfter}</dt><dd>{restored(plan.after)}</dd></div></dl>}
    {plan.branches.slice(0, MOST_LINES).map(({ uuid, messages }) => <Command key={uuid} label={t.planBranch(messages)} command={`${command} --branch ${quoted(uuid)}`} />)}
    {!isEmpty && <Command label={t.planApply} command={`${command} --apply`} />}
  </>;
}

export function Health(): JSX.Element {
  const t = texts.value;
  const findings = useSignal<readonly Problem[] | undefined>(undefined);
  const isChecking = useSignal(false);
  const done = useSignal(0);
  const failure = useSignal<string | undefined>(undefined);
  const trash = useSignal<readonly TrashEntry[]>([]);
  const loadTrash = () => call('history/trash', {}).then((answer) => { trash.value = answer.sessions; }, () => undefined);
  useEffect(() => { void loadTrash(); }, [sessions.value]);
  const stopped = useRef(false);
  const check = async () => {
    isChecking.value = true;
    stopped.current = false;
    done.value = 0;
    findings.value = [];
    failure.value = undefined;
    try {
      // One session at a time, so that the page shows what was found while the rest is checked.
      for (const { id, path } of sessions.peek()) {
        if (stopped.current) break;
        const answer = await call('history/check', { sessionId: id, ...(typeof path === 'string' && { workspacePath: path }) });
        done.value++;
        const found = answer.findings.filter(({ severity }) => severity !== 'info');
        if (found.length > 0) findings.value = [...findings.value, ...found];
      }
    } catch (error) {
      failure.value = (error as Error).message;
    }
    isChecking.value = false;
  };
  useEffect(() => () => { stopped.current = true; }, []);
  // A few megabytes are checked at once; many would keep the disk busy without being asked for.
  const canStart = isLoaded.value && has('history/check');
  useEffect(() => {
    const size = sessions.peek().reduce((sum, session) => sum + session.size, 0);
    if (canStart && !findings.peek() && size <= CHECKED_AT_ONCE) void check();
  }, [canStart]);
  const canCheck = has('history/check');
  const unreadable = sessions.value.filter(({ error }) => error);
  const live = sessions.value.filter((session) => session.live);
  const titleOf = (id: string) => visible(sessions.value.find((session) => session.id === id)?.title ?? '') || id.slice(0, 8);
  const groups = useMemo(() => bySession(findings.value ?? []), [findings.value]);
  return <main class="health" id="content">
    <h1 class="hidden">{t.health}</h1>
    <section class="panel wide"><h2>{findings.value ? t.healthSum(countOf(findings.value, 'error'), countOf(findings.value, 'warning'), groups.length) : t.health}</h2>
      {canCheck ? <p class="check-bar"><button type="button" class={isChecking.value ? '' : 'primary'} onClick={() => { if (isChecking.value) stopped.current = true; else void check(); }}>{isChecking.value ? t.healthStop : t.healthCheck}</button>
        {findings.value && <span class="second" role="status">{t.healthProgress(done.value, sessions.value.length)}</span>}{isChecking.value && <progress max={sessions.value.length} value={done.value} aria-label={t.healthChecking} />}</p> : <p class="note">{t.healthAbsent}</p>}
      {failure.value && <p class="trouble" role="alert">{t.failedToLoad} {failure.value}</p>}
      {findings.value?.length === 0 && !isChecking.value && !failure.value && done.value > 0 && <p>✓ {t.healthFine}</p>}
      {groups.slice(0, 200).map(([id, list]) => <FindingGroup key={id} id={id} title={titleOf(id)} findings={list} />)}
      {unreadable.length > 0 && <><h3>{t.unreadable}</h3><ul>{unreadable.map((session) => <li key={session.id}>{visible(session.title ?? session.id)}: {visible(session.error ?? '')}</li>)}</ul></>}
    </section>
    <section class="panel"><h2>{t.openSessions}</h2>{live.length === 0 ? <p class="quiet">{t.none}</p> : <ul>{live.map((session) => <li key={session.id}>● <a href={format({ place: 'conversation', session: session.id, level: 'work' })}>{visible(session.title ?? '') || t.untitled}</a> <span class="second">{ago(session.updatedAt, Date.now(), language.value)}</span></li>)}</ul>}</section>
    <section class="panel"><h2>{t.trash}</h2>{trash.value.length === 0 ? <p class="quiet">{t.trashEmpty}</p> : <ul class="trash">{trash.value.map((entry) => <li key={entry.entry}><span dir="auto">{visible(entry.title ?? '') || entry.session.slice(0, 8)}</span> <span class="second">{t.deletedAt} {ago(entry.deletedAt, Date.now(), language.value)}, {bytes(entry.size)}</span>
      {status.value?.readOnly === false && <button type="button" onClick={() => void restore(entry.session, entry.entry).then(loadTrash)}>{t.restore}</button>}</li>)}</ul>}</section>
    <section class="panel"><h2>{t.server}</h2><dl class="kv"><div><dt>annals</dt><dd>{status.value?.version}{status.value?.readOnly ? `, ${t.readOnly}` : ''}</dd></div><div><dt>{t.sessions}</dt><dd>{sessions.value.length.toLocaleString(language.value)}</dd></div>{status.value?.roots.map((root, index) => <div key={index}><dt>{t.roots}</dt><dd>{visible(textOf(root))}</dd></div>)}</dl></section>
  </main>;
}
