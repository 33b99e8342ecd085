/** The filter of the table of calls: `tool:Bash err:yes slower:10s`, and words that must occur. */
import type { ToolCall } from '../wire.ts';

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function milliseconds(text: string): number {
  const [, number, unit] = /^([\d.]+)(ms|s|m|h)?$/.exec(text) ?? [];
  return number ? Number(number) * UNITS[unit ?? 's']! : 0;
}

/** Reads a filter. Parts that it does not know are words. */
export function matcher(filter: string): (call: Pick<ToolCall, 'name' | 'state' | 'durationMs' | 'subject' | 'files'>) => boolean {
  const tests = filter.trim().split(/\s+/).filter(Boolean).map((part) => {
    const [, name, value] = /^(\w+):(.+)$/.exec(part) ?? [];
    const lower = (value ?? part).toLowerCase();
    switch (name) {
      case 'tool': return (call: ToolCall) => (call.name ?? '').toLowerCase().includes(lower);
      case 'err': return (call: ToolCall) => (call.state !== 'ok' && call.state !== 'pending') === (lower !== 'no');
      case 'slower': return (call: ToolCall) => (call.durationMs ?? 0) >= milliseconds(lower);
      case 'faster': return (call: ToolCall) => call.durationMs !== null && call.durationMs <= milliseconds(lower);
      case 'file': return (call: ToolCall) => call.files.some((file) => file.toLowerCase().includes(lower));
      default: return (call: ToolCall) => `${call.name ?? ''} ${call.subject}`.toLowerCase().includes(part.toLowerCase());
    }
  });
  return (call) => tests.every((test) => test(call as ToolCall));
}
