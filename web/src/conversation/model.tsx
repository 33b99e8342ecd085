/** What a resume would send to the model, message by message, as the engine gives it. */
import type { JSX } from 'preact';
import { compact, visible } from '../format.ts';
import { texts } from '../text.ts';
import { callText, weight } from './model-messages.ts';
import type { Reader } from './reader.ts';

export function ModelMessage({ reader, index }: { reader: Reader; index: number }): JSX.Element | null {
  const messages = reader.messages.value;
  const message = messages?.[index];
  const t = texts.value;
  if (!message) return null;
  const tokens = weight(message);
  const heaviest = Math.max(1, ...messages.slice(Math.max(0, index - 20), index + 20).map(weight));
  const who = { user: t.you, assistant: t.claude, system: 'system' }[message.role];
  return <article class={`row model r-${message.role}`} aria-posinset={index + 1} aria-setsize={messages.length} tabIndex={-1} aria-label={who}>
    <header><b>{who}</b>{message.summary && <span class="cause">{t.summaryMessage}</span>}<span class="weight" title={t.estimated}><span class="weight-bar" style={{ width: `${Math.round((tokens / heaviest) * 80)}px` }} />≈ {compact(tokens)} {t.tokens}</span></header>
    {message.thought && <pre class="block text thought" tabIndex={0}>{visible(message.thought)}</pre>}
    {message.content && <pre class="block text" dir="auto" tabIndex={0}>{visible(message.content)}</pre>}
    {(message.toolCalls ?? []).map((toolCall) => {
      const [input, output] = callText(toolCall);
      return <div class="model-call" key={toolCall.id}><pre class="block json" tabIndex={0}>{visible(input)}</pre>{output && <pre class="block text" tabIndex={0}>{visible(output)}</pre>}</div>;
    })}
  </article>;
}
