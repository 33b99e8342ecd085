/** Export of a conversation: what it should have, a review of what is masked in it, then the file that was reviewed is saved. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { bytes, visible } from '../format.ts';
import { amend, format, route } from '../route.ts';
import { SheetBox } from '../sheet.tsx';
import { texts } from '../text.ts';
import type { ExportFormat, ExportPlace } from '../wire.ts';
import { exported, type Exported } from './exported.ts';
import type { Reader } from './reader.ts';

const FORMATS: readonly ExportFormat[] = ['html', 'md', 'text'];
const PARTS = ['thinking', 'results', 'subagents'] as const;

type State = { kind: 'asking' } | { kind: 'working'; bytes: number } | { kind: 'ready'; made: Exported } | { kind: 'failed'; message: string };

export function ExportSheet({ reader, of, onClose }: { reader: Reader; of: string; onClose(): void }): JSX.Element {
  const t = texts.value;
  const chosen = FORMATS.find((name) => name === of) ?? 'html';
  const state = useSignal<State>({ kind: 'asking' });
  const parts = useSignal({ thinking: true, results: true, subagents: false });
  const from = useSignal('');
  const to = useSignal('');
  const abort = useRef<AbortController | undefined>(undefined);
  /** A file that was made with other choices must not be saved. */
  const ask = () => {
    abort.current?.abort();
    state.value = { kind: 'asking' };
  };
  useEffect(() => () => abort.current?.abort(), []);
  const last = reader.turns.value.length;
  const prepare = async () => {
    const control = abort.current = new AbortController();
    state.value = { kind: 'working', bytes: 0 };
    try {
      const made = await exported({
        ...reader.which, format: chosen, noThinking: !parts.value.thinking, noResults: !parts.value.results, subagents: parts.value.subagents,
        ...(from.value && { fromTurn: Number(from.value) }), ...(to.value && { toTurn: Number(to.value) }),
      }, (count) => { if (abort.current === control && !control.signal.aborted) state.value = { kind: 'working', bytes: count }; }, control.signal);
      if (abort.current === control && !control.signal.aborted) state.value = { kind: 'ready', made };
    } catch (error) {
      if (!control.signal.aborted) state.value = { kind: 'failed', message: (error as Error).message };
    }
  };
  const now = state.value;
  const turn = (label: string, value: typeof from) => <label>{label} <input type="number" inputMode="numeric" min={1} max={last || undefined} value={value.value} placeholder={label === t.fromTurn ? '1' : String(last || '')} onInput={(event) => { value.value = event.currentTarget.value; ask(); }} /></label>;
  return <SheetBox title={t.exportTitle} onClose={onClose}>
    <form class="export" onSubmit={(event) => { event.preventDefault(); void prepare(); }}>
      <fieldset><legend>{t.format}</legend>{FORMATS.map((name) => <label key={name}><input type="radio" name="format" checked={name === chosen} onChange={() => { const at = route.peek(); if (at.place === 'conversation') amend({ ...at, sheet: { kind: 'export', of: name } }); ask(); }} /> {t.formats[name]}</label>)}</fieldset>
      <fieldset><legend>{t.exportTurns(last)}</legend>{turn(t.fromTurn, from)} {turn(t.toTurn, to)}</fieldset>
      <fieldset><legend>{t.exportParts}</legend>{PARTS.map((name) => <label key={name}><input type="checkbox" checked={parts.value[name]} onChange={(event) => { parts.value = { ...parts.value, [name]: event.currentTarget.checked }; ask(); }} /> {t.parts[name]}</label>)}</fieldset>
      <p class="buttons"><button type="submit" class={now.kind === 'ready' ? '' : 'primary'} disabled={now.kind === 'working'}>{t.prepareExport}</button></p>
    </form>
    <div class="review" role="status">
      {now.kind === 'asking' && <p class="second">{t.exportIntro}</p>}
      {now.kind === 'working' && <p>{t.exporting(bytes(now.bytes))}</p>}
      {now.kind === 'failed' && <p class="trouble" role="alert">{t.exportFailed} {now.message}</p>}
      {now.kind === 'ready' && <Review reader={reader} made={now.made} onClose={onClose} />}
    </div>
  </SheetBox>;
}

/** What was masked, and what is missing. */
function Review({ reader, made, onClose }: { reader: Reader; made: Exported; onClose(): void }): JSX.Element {
  const t = texts.value;
  const { report, file, name } = made;
  return <>
    {report.leftOut > 0 && <section class="left-out" role="alert"><h3>⚠ {t.leftOut(report.leftOut)}</h3><Places reader={reader} places={report.leftOutAt} onClose={onClose} /></section>}
    <h3>{report.masked > 0 ? t.exportMasked(report.masked) : t.nothingMasked}</h3>
    {report.masked > 0 && <table><thead><tr><th>{t.rule}</th><th class="number">{t.values}</th><th>{t.where}</th></tr></thead>
      <tbody>{report.rules.map((rule) => <tr key={rule.rule}><td class="mono">{visible(rule.rule)}</td><td class="number">{rule.count}</td><td><Places reader={reader} places={rule.places} onClose={onClose} /></td></tr>)}</tbody></table>}
    <p class="second">{t.maskingLimits}</p>
    <p class="buttons"><button type="button" class="primary" onClick={() => save(file, name)}>{t.saveFile}</button> <span class="second">{visible(name)}, {bytes(file.size)}, {t.exportedRows(report.rows)}</span></p>
  </>;
}

function Places({ reader, places, onClose }: { reader: Reader; places: readonly ExportPlace[]; onClose(): void }): JSX.Element {
  const t = texts.value;
  return <ul class="places">{places.map((place, index) => {
    const label = place.turn != null ? t.turn(place.turn) : place.agentId ? `${t.tabs.agents} ${visible(place.agentId).slice(0, 8)}` : place.uuid ? place.uuid.slice(0, 8) : t.aboutSession;
    const at = route.value;
    if (!place.uuid || at.place !== 'conversation') return <li key={index}>{label}</li>;
    const isHere = (place.agentId ?? undefined) === reader.which.agentId;
    const { sheet: _, ...rest } = at;
    const target = { ...rest, record: place.uuid, ...(place.agentId && { agent: place.agentId }) };
    return <li key={index}><a href={format(target)} onClick={(event) => { if (isHere) { event.preventDefault(); onClose(); void reader.goToRecord(place.uuid!); } }}>{label}</a></li>;
  })}</ul>;
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The browser has the file by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
