/** Requests to the server, and its streams of events. */
import { signal } from '@preact/signals';
import type { Methods, StatusResult } from './wire.ts';
import { dropToken, token } from './token.ts';

/** One conversation: a session, or an agent of it. */
export interface Which { sessionId: string; workspacePath?: string; agentId?: string }

/** The server refused a request. */
export class Refusal extends Error {
  constructor(readonly code: number, message: string, readonly data?: unknown) {
    super(wordsOf(code, message));
  }
}

export const NO_SUCH_SESSION = -32002;
export const INVALID_PARAMS = -32602;
export const GONE_REVISION = -32013;
export const SEVERAL_SESSIONS = -32010;

/** The words for a refusal in the language of the page; `main.tsx` sets them. */
let wordsOf: (code: number, message: string) => string = (_, message) => message;

export function speak(words: typeof wordsOf): void {
  wordsOf = words;
}

/** No server has this code: it did not answer at all. */
export const UNREACHABLE = 0;

/** What the server is, and which methods it has; undefined until it has answered. */
export const status = signal<StatusResult | undefined>(undefined);
/** Whether this tab may read sessions. */
export const isSignedIn = signal(true);

export function has(method: string): boolean {
  return status.value?.methods.includes(method) ?? false;
}

export async function send(path: string, options: RequestInit): Promise<Response> {
  const secret = token();
  if (!secret) {
    isSignedIn.value = false;
    throw new Refusal(401, 'no token');
  }
  const answer = await fetch(path, { ...options, headers: { ...options.headers, Authorization: `Bearer ${secret}` } }).catch((error: Error) => {
    throw error.name === 'AbortError' ? error : new Refusal(UNREACHABLE, error.message);
  });
  if (answer.status === 401) {
    dropToken();
    isSignedIn.value = false;
  }
  return answer;
}

let lastId = 0;

/** Calls a method of the server. */
export async function call<M extends keyof Methods>(method: M, params: Methods[M]['params'], abort?: AbortSignal): Promise<Methods[M]['result']> {
  return (await ask(method, params, abort)) as Methods[M]['result'];
}

/** Calls a method that this version of the page has no types of. */
export async function ask(method: string, params: unknown, abort?: AbortSignal): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params });
  const answer = await send('/rpc', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body, ...(abort && { signal: abort }) });
  if (!answer.ok) throw new Refusal(answer.status, `HTTP ${answer.status}`);
  const message = await answer.json() as { result?: unknown; error?: { code: number; message: string; data?: unknown } };
  if (message.error) throw new Refusal(message.error.code, message.error.message, message.error.data);
  return message.result;
}

/** An event of a stream: its name, its data, and the id with which a lost stream is continued. */
export interface StreamEvent { name: string; data: unknown; id: string | undefined }

/** Splits the text of a stream into events. Give each piece of text to `push`. */
export class EventParser {
  #rest = '';

  push(text: string): StreamEvent[] {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      const field = (name: string) => block.split('\n').filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
      const [name] = field('event');
      if (!name) return [];
      try {
        return [{ name, data: JSON.parse(field('data').join('\n')) as unknown, id: field('id')[0] }];
      } catch {
        return [];
      }
    });
  }
}

export interface StreamState { connected(): void; lost(): void; event(event: StreamEvent): void }

/**
 * Follows a stream of events until the returned function is called. A lost connection is made again, and continues after the last
 * event. `EventSource` would do this, but it cannot send a token. A hidden tab gives up its connection.
 */
export function follow(params: Record<string, string | undefined>, on: StreamState): () => void {
  let lastEvent: string | undefined;
  let abort = new AbortController();
  let isStopped = false;
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const run = async () => {
    const query = new URLSearchParams(Object.entries(params).filter((pair): pair is [string, string] => pair[1] !== undefined));
    if (lastEvent) query.set('offset', lastEvent);
    try {
      const answer = await send(`/events?${query}`, { signal: abort.signal });
      if (!answer.ok || !answer.body) throw new Error(`HTTP ${answer.status}`);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      failures = 0;
      on.connected();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        for (const event of parser.push(value)) {
          if (event.id) lastEvent = event.id;
          on.event(event);
        }
      }
    } catch { /* Another attempt follows. */ }
    if (isStopped || document.hidden) return;
    on.lost();
    timer = setTimeout(run, Math.min(15_000, 500 * 2 ** failures++));
  };
  const visibility = () => {
    clearTimeout(timer);
    abort.abort();
    if (document.hidden) return;
    abort = new AbortController();
    void run();
  };
  document.addEventListener('visibilitychange', visibility);
  void run();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    abort.abort();
    document.removeEventListener('visibilitychange', visibility);
  };
}
