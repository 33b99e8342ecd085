/** Links from a call to the prompt that it works on, and to the calls that it has to do with. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { clock, shortPath, visible } from '../format.ts';
import { folderOf } from '../session-list.ts';
import { language, texts } from '../text.ts';
import { complain } from '../toast.tsx';
import type { ToolCall, ViewRow } from '../wire.ts';
import type { Reader } from './reader.ts';
import { relatedCalls, type RelatedCall } from './related.ts';

/** Longer subjects do not fit on a line. */
const LONGEST_SUBJECT = 100;

export function RelatedCalls({ reader, row }: { reader: Reader; row: ViewRow }): JSX.Element {
  const [found, setFound] = useState<readonly RelatedCall<ToolCall>[]>();
  const t = texts.value;
  useEffect(() => {
    let isGone = false;
    reader.calls().then((calls) => { if (!isGone) setFound(relatedCalls(calls, reader.indexOfCall(calls, row))); }, complain);
    return () => { isGone = true; };
  }, [reader, row.row]);
  if (!found) return <p class="quiet">{t.loading}</p>;
  const prompt = reader.promptOf(row.row);
  // A click in a row makes it the current one: here another row has become that.
  return <ul class="related" onClick={(event) => event.stopPropagation()}>
    {prompt !== undefined && <li><button type="button" class="link" onClick={() => reader.goToRow(prompt.row)}>{t.turn(prompt.turn)}</button> <span class="quiet">{t.relationships.prompt}</span></li>}
    {found.map(({ relationship, call }) => <li key={relationship}>
      <button type="button" class="link" dir="auto" onClick={() => { reader.goToCall(call).catch(complain); }}>{visible(call.name ?? '')} {visible(shortPath(call.subject.split('\n', 1)[0]!, folderOf(reader.which.sessionId)).slice(0, LONGEST_SUBJECT))}</button>
      {' '}<span class="quiet">{t.relationships[relationship]}{call.timestamp ? ` · ${clock(call.timestamp, language.value)}` : ''}</span>
    </li>)}
    {found.length === 0 && <li class="quiet">{t.noRelated}</li>}
  </ul>;
}
