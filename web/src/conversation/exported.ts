/** Exports: the file as it arrives, and the report at its end. */
import { Refusal, send } from '../rpc.ts';
import type { ExportParams, ExportReport } from '../wire.ts';

/** A file that was exported, and what is masked in it. */
export interface Exported { name: string; file: Blob; report: ExportReport }

/** The most bytes that a report has. */
const LONGEST_REPORT = 4 << 20;

/** Exports a conversation. A file without its report, which is the last line, did not arrive as a whole, and is not returned. */
export async function exported(params: ExportParams, progress: (bytes: number) => void, abort: AbortSignal): Promise<Exported> {
  const answer = await send('/export', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ ...params, report: true }), signal: abort });
  if (!answer.ok || !answer.body) {
    const refused = await answer.json().catch(() => undefined) as { error?: { code: number; message: string } } | undefined;
    throw new Refusal(refused?.error?.code ?? answer.status, refused?.error?.message ?? `HTTP ${answer.status}`);
  }
  const type = answer.headers.get('Content-Type') ?? '';
  // The browser may keep a blob on disk, so a long file does not stay in the memory of the page.
  let all = new Blob([], { type });
  let waiting: Uint8Array<ArrayBuffer>[] = [];
  let count = 0;
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (value) {
      waiting.push(value);
      count += value.length;
      if (waiting.length >= 64) {
        all = new Blob([all, ...waiting], { type });
        waiting = [];
        progress(count);
      }
    }
    if (done) break;
  }
  all = new Blob([all, ...waiting], { type });
  const tail = new Uint8Array(await all.slice(-LONGEST_REPORT).arrayBuffer());
  const start = tail.lastIndexOf(0x0a, tail.length - 2);
  const report = JSON.parse(new TextDecoder().decode(tail.subarray(start + 1))) as ExportReport;
  const name = /filename="([\w.-]+)"/.exec(answer.headers.get('Content-Disposition') ?? '')?.[1] ?? 'session';
  return { name, file: all.slice(0, all.size - (tail.length - start), type), report };
}
