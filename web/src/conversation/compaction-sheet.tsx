/** Before and after a compaction: what was in the context, what is left of it, and what was read again later. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { baseName, compact, visible } from '../format.ts';
import { call, type Which } from '../rpc.ts';
import { SheetBox, useLeave } from '../sheet.tsx';
import { texts, word } from '../text.ts';
import type { ChatMessage, ViewRow } from '../wire.ts';
import { compare, type Compacted, type Fate, type Origin } from './compacted.ts';
import { loadModel, totalWeight, weight } from './model-messages.ts';
import type { Reader } from './reader.ts';

/** A file that calls read on both sides of a compaction. */
interface ReadAgain { file: string; times: number; uuid: string | undefined }

interface Found extends Compacted { row: ViewRow; readAgain: ReadAgain[] }

/** How many messages of a column are elements at first. */
const FIRST_MESSAGES = 200;

export function CompactionSheet({ reader, uuid, onClose }: { reader: Reader; uuid: string; onClose(): void }): JSX.Element {
  const t = texts.value;
  const found = useSignal<Found | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  useEffect(() => {
    load(reader, uuid).then((answer) => { found.value = answer; }, (error: Error) => { failure.value = error.message; });
  }, [reader, uuid]);
  const leave = useLeave(onClose);
  const goTo = (record: string) => {
    leave();
    void reader.goToRecord(record);
  };
  const facts = found.value?.row.compaction;
  return <SheetBox title={<><span class="compaction">↻</span> {t.compactionTitle}{facts?.preTokens ? <span class="second"> {compact(facts.preTokens)} → {facts.postTokens ? compact(facts.postTokens) : '?'} {t.tokens}{facts.trigger ? ` · ${visible(word(facts.trigger))}` : ''}</span> : null}</>} onClose={onClose}>
    {failure.value && <p class="trouble" role="alert">{t.failedToLoad} {failure.value}</p>}
    {!found.value && !failure.value && <p class="empty">{t.loading}</p>}
    {found.value && <>
      <div class="columns">
        <Column title={t.before} messages={found.value.before.map(({ message, fate }) => ({ message, tag: t.fates[fate], name: fate }))} counts={countsOf(found.value)} goTo={goTo} />
        <Column title={t.after} messages={found.value.after.map(({ message, origin }) => ({ message, tag: t.origins[origin], name: origin }))} goTo={goTo} isOpen={(name) => name === 'summary'} />
      </div>
      <section class="read-again"><h3>{t.readAgain}</h3>
        {found.value.readAgain.length === 0 ? <p class="quiet">{t.nothingReadAgain}</p>
          : <ul>{found.value.readAgain.map(({ file, times, uuid }) => <li key={file}><button type="button" class="link" disabled={!uuid} onClick={() => uuid && goTo(uuid)} title={visible(file)}>{visible(baseName(file))}</button> <span class="second">×{times} · {visible(file)}</span></li>)}</ul>}
      </section>
    </>}
  </SheetBox>;
}

/** What became of the messages before, with how many there are. */
function countsOf({ before }: Compacted): string {
  const t = texts.value;
  return (['kept', 'summarised', 'dropped'] as const).flatMap((fate) => {
    const count = before.filter((one) => one.fate === fate).length;
    return count > 0 ? [`${t.fates[fate]} ${count}`] : [];
  }).join(' · ');
}

interface Shown { message: ChatMessage; tag: string; name: Fate | Origin }

function Column({ title, messages, counts, goTo, isOpen }: { title: string; messages: readonly Shown[]; counts?: string; goTo(record: string): void; isOpen?(name: string): boolean }): JSX.Element {
  const t = texts.value;
  const most = useSignal(FIRST_MESSAGES);
  const heaviest = Math.max(1, ...messages.map(({ message }) => weight(message)));
  return <section class="column" aria-label={title}>
    <h3>{title} <span class="second">{t.messages(messages.length)} · ≈ {compact(totalWeight(messages.map(({ message }) => message)))} {t.tokens}</span></h3>
    {counts && <p class="second">{counts}</p>}
    <ol class="context-list">{messages.slice(0, most.value).map(({ message, tag, name }, index) => <li key={index} data-fate={name}>
      <details open={isOpen?.(name)}>
        <summary><span class="fate">{tag}</span><b>{{ user: t.you, assistant: t.claude, system: 'system' }[message.role]}</b><span class="title" dir="auto">{visible(firstLine(message))}</span><span class="weight" title={t.estimated}><span class="weight-bar" style={{ width: `${Math.ceil((weight(message) / heaviest) * 40)}px` }} />≈ {compact(weight(message))}</span></summary>
        <pre class="block text" dir="auto" tabIndex={0}>{visible(textOf(message))}</pre>
        {/^[0-9a-f-]{36}$/i.test(message.id) && <button type="button" class="link" onClick={() => goTo(message.id)}>{t.showInConversation}</button>}
      </details>
    </li>)}</ol>
    {messages.length > most.value && <button type="button" class="more" onClick={() => { most.value *= 4; }}>{t.more}</button>}
  </section>;
}

function textOf(message: ChatMessage): string {
  const calls = (message.toolCalls ?? []).map(({ name, input }) => `${name} ${JSON.stringify(input ?? null)}`);
  return [message.thought, message.content, ...calls].filter(Boolean).join('\n\n').slice(0, 20_000);
}

function firstLine(message: ChatMessage): string {
  const line = (message.content || message.thought || '').trimStart().split('\n')[0]!;
  return (line || (message.toolCalls ?? []).map(({ name }) => name).join(', ')).slice(0, 160);
}

async function load(reader: Reader, uuid: string): Promise<Found> {
  const { which } = reader;
  const { row, revision } = await call('history/locate', { ...which, uuid });
  const { rows } = await call('history/rows', { ...which, revision, from: row, count: 120 });
  const boundary = rows[0];
  if (boundary?.kind !== 'k' || !boundary.line) throw new Error(texts.value.noCompaction);
  const line = boundary.line;
  // The context after it is what the first reply after it was asked with.
  const reply = rows.find((one) => (one.line ?? 0) > line && (one.kind === 'a' || one.kind === 't' || one.kind === 'c'));
  const [before, after, again] = await Promise.all([loadModel(which, line - 1), loadModel(which, reply?.line ? reply.line - 1 : undefined), readAgain(which, line)]);
  return { ...compare(before, after), row: boundary, readAgain: again };
}

/** Files that were read before a line and again after it: the summary did not have enough of them. */
async function readAgain(which: Which, line: number): Promise<ReadAgain[]> {
  const before = new Set<string>();
  const again = new Map<string, ReadAgain>();
  let cursor: string | null | undefined;
  do {
    const page = await call('history/tools', { ...which, name: 'Read', limit: 10_000, ...(cursor && { cursor }) });
    for (const one of page.calls) {
      for (const file of one.files) {
        if (one.line < line) before.add(file);
        else if (before.has(file)) {
          const known = again.get(file) ?? { file, times: 0, uuid: one.uuid ?? undefined };
          again.set(file, { ...known, times: known.times + 1 });
        }
      }
    }
    cursor = page.nextCursor;
  } while (cursor);
  return [...again.values()].sort((one, other) => other.times - one.times);
}
