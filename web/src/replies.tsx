/** The replies of a sum. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { compact, costOf, textOf, visible } from './format.ts';
import { call } from './rpc.ts';
import { format } from './route.ts';
import { sessions } from './session-list.ts';
import { language, texts } from './text.ts';
import type { UsageParams, UsageResult } from './wire.ts';

/** The replies of one row of `history/usage`, the most expensive first. */
export function ReplyTable({ params }: { params: UsageParams }): JSX.Element {
  const t = texts.value;
  const answer = useSignal<UsageResult | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  useEffect(() => {
    call('history/usage', { ...params, limit: 1 }).then((found) => { answer.value = found; }, (error: Error) => { failure.value = error.message; });
  }, [JSON.stringify(params)]);
  if (failure.value) return <p class="trouble" role="alert">{t.failedToLoad} {failure.value}</p>;
  if (!answer.value) return <p class="quiet">{t.loading}</p>;
  const replies = answer.value.replies ?? [];
  const titleOf = (id: string) => visible(sessions.value.find((session) => session.id === id)?.title ?? '') || id.slice(0, 8);
  return <>
    <p class="second">{t.replyCount(replies.length, answer.value.replyCount ?? replies.length)}</p>
    <div class="table" tabIndex={0} role="group" aria-label={t.replies}><table class="numbers">
      <thead><tr><th scope="col">{t.columns.active}</th><th scope="col" class="words">{t.by.session}</th><th scope="col" class="words">{t.by.model}</th><th scope="col">{t.input_tokens}</th><th scope="col">{t.output_tokens}</th><th scope="col">{t.cacheRead}</th><th scope="col">{t.cacheWrite}</th><th scope="col">{t.cost}</th></tr></thead>
      <tbody>{replies.map((reply) => <tr key={`${textOf(reply.path)} ${reply.line}`}>
        <th scope="row"><a href={format({ place: 'conversation', session: reply.session, level: 'work', record: `L${reply.line}`, ...(reply.agentId && { agent: reply.agentId }) })} title={t.replyLink}>{reply.timestamp ? new Date(reply.timestamp).toLocaleString(language.value, { dateStyle: 'medium', timeStyle: 'short' }) : `${t.line} ${reply.line}`}</a></th>
        <td class="words">{titleOf(reply.session)}{reply.copies > 0 && <span class="second"> · {t.copies(reply.copies)}</span>}</td><td class="words">{visible(reply.model)}</td>
        <td>{compact(reply.inputTokens)}</td><td>{compact(reply.outputTokens)}</td><td>{compact(reply.cacheReadTokens)}</td><td>{compact(reply.cacheCreationTokens)}</td><td>{costOf(reply, 4)}</td>
      </tr>)}</tbody></table></div>
  </>;
}
