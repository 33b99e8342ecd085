import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matcher } from '../src/conversation/call-filter.ts';
import { changesOf } from '../src/conversation/changes.ts';
import { factsOf } from '../src/conversation/facts.ts';
import { headingOf } from '../src/conversation/heading.ts';
import { numbered, sideBySide } from '../src/diff-lines.ts';
import { ago, baseName, bytes, costOf, dollars, duration, isSafeLink, shortPath, visible, withoutColours } from '../src/format.ts';
import { score } from '../src/fuzzy.ts';
import { KEYS, nameOf, readOwn, withOwn } from '../src/keys.ts';
import { wordsOf } from '../src/marks.ts';
import { costsOf, namesOf } from '../src/model-costs.ts';
import { textOfNodes } from '../src/plain.ts';
import { roundUp } from '../src/plot.tsx';
import { LEVELS, format, parse, type Route } from '../src/route.ts';
import { EventParser } from '../src/rpc.ts';
import { apply, secondLine } from '../src/session-list.ts';
import { en } from '../src/text/en.ts';
import { problems, repairs } from '../src/text/problems-zh.ts';
import { REFUSALS, zh } from '../src/text/zh.ts';
import { tokenIn } from '../src/token.ts';
import { whole } from '../src/whole.ts';
import type { Session, UsageRow, ViewNode, ViewTool } from '../src/wire.ts';

const word = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }).filter((text) => text.isWellFormed());

test('every address reads back as the place that it was written from', () => {
  const conversation = fc.record({ place: fc.constant('conversation' as const), session: word.filter((text) => !/^\.+$/.test(text)), level: fc.constantFrom(...LEVELS) }, { requiredKeys: ['place', 'session', 'level'] });
  const full = fc.tuple(conversation, fc.record({ agent: word, workspace: word, record: word, find: word, until: fc.integer({ min: 1, max: 1e9 }), sheet: fc.record({ kind: fc.constantFrom('compaction' as const, 'branch' as const, 'file' as const), of: word }), beside: fc.record({ kind: fc.constantFrom('session' as const, 'agent' as const, 'file' as const, 'branch' as const), of: fc.oneof(word, fc.constant('')) }) }, { requiredKeys: [] })).map(([one, other]) => ({ ...one, ...other }) as Route);
  const list = fc.record({ place: fc.constantFrom('sessions' as const, 'search' as const, 'usage' as const, 'health' as const), query: fc.dictionary(word.filter((name) => name !== '__proto__'), word, { maxKeys: 3 }) }) as fc.Arbitrary<Route>;
  fc.assert(fc.property(fc.oneof(full, list), (route) => {
    expect(parse(new URL(format(route), 'http://127.0.0.1'))).toEqual(route.place === 'conversation' ? route : { ...route, query: { ...route.query } });
  }));
});

test('an unknown address is the list of sessions', () => {
  expect(parse(new URL('http://x/nowhere?a=1'))).toEqual({ place: 'sessions', query: { a: '1' } });
  expect(parse(new URL('http://x/s/abc?view=wrong'))).toEqual({ place: 'conversation', session: 'abc', level: 'work' });
});

test('a stream is split into events wherever its pieces end', () => {
  const stream = 'retry: 1000\nid: 5\nevent: ready\ndata: {"a":"你好"}\n\n:\n\nid: 9\nevent: appended\ndata: {"b":2}\n\nevent: broken\ndata: {\n\n';
  fc.assert(fc.property(fc.array(fc.nat(stream.length)), (cuts) => {
    const parser = new EventParser();
    const places = [0, ...cuts.sort((one, other) => one - other), stream.length];
    const events = places.slice(1).flatMap((end, index) => parser.push(stream.slice(places[index], end)));
    expect(events).toEqual([{ name: 'ready', data: { a: '你好' }, id: '5' }, { name: 'appended', data: { b: 2 }, id: '9' }]);
  }));
});

test('the token is read from a link or alone, and from nothing else', () => {
  expect(tokenIn(' http://127.0.0.1:4012/?token=abcdefghijklmnop_-~.1 ')).toBe('abcdefghijklmnop_-~.1');
  expect(tokenIn('http://localhost:1/s/x?view=raw&token=abcdefghijklmnop&a=1')).toBe('abcdefghijklmnop');
  expect(tokenIn('abcdefghijklmnop')).toBe('abcdefghijklmnop');
  expect([tokenIn(''), tokenIn('short'), tokenIn('http://x/?token=short'), tokenIn('two words that are long')]).toEqual([undefined, undefined, undefined, undefined]);
});

test('changes of the list: new ones first, gone ones gone, each once', () => {
  const one = (id: string, updatedAt: string) => ({ id, updatedAt }) as Session;
  const list = [one('a', '3'), one('b', '2'), one('c', '1')];
  const after = apply(list, { added: [one('d', '4')], updated: [one('c', '5')], removed: ['a'] });
  expect(after.map(({ id }) => id)).toEqual(['c', 'd', 'b']);
});

test('calls are filtered by tool, failure, time, file and words', () => {
  const call = { name: 'Bash', state: 'error' as const, durationMs: 12_000, subject: 'cargo test -q', files: ['/a/Read.rs'] };
  for (const filter of ['', 'tool:bash', 'err:yes', 'slower:10s', 'slower:0.1m', 'file:read', 'cargo TEST', 'tool:bash err:yes test', 'unknown:x'.slice(0, 0)]) expect(matcher(filter)(call), filter).toBe(true);
  for (const filter of ['tool:edit', 'err:no', 'slower:13s', 'faster:1s', 'file:write', 'nothing', 'odd:word']) expect(matcher(filter)(call), filter).toBe(false);
});

test('a call that failed or has no result changed no file', () => {
  const edit = (state: ViewTool['state'], file: string) => ({ tool: { name: 'Edit', title: file, facts: [], file, state, added: 2, removed: 1 } as unknown as ViewTool });
  const rows = [edit('ok', 'a'), edit('error', 'a'), edit('ok', 'a'), edit('denied', 'b'), edit('pending', 'c'), {}];
  expect(changesOf(rows)).toEqual([{ file: 'a', added: 4, removed: 2 }]);
});

test('lines of a hunk have their numbers, and stand side by side', () => {
  const hunk = { old: 10, new: 12, lines: [{ k: ' ' as const, s: ['a'] }, { k: '-' as const, s: ['b'] }, { k: '+' as const, s: ['c'] }, { k: '+' as const, s: ['d'] }, { k: ' ' as const, s: ['e'] }] };
  const lines = numbered(hunk);
  expect(lines.map((line) => [line.old, line.new])).toEqual([[10, 12], [11, undefined], [undefined, 13], [undefined, 14], [12, 15]]);
  expect(sideBySide(lines).map(([before, after]) => [before?.s[0], after?.s[0]])).toEqual([['a', 'a'], ['b', 'c'], [undefined, 'd'], ['e', 'e']]);
  expect(numbered({ ...hunk, old: 0, new: 0 })[0]).toEqual({ k: ' ', s: ['a'] });
});

test('a diff side by side has every line once', () => {
  const lines = fc.array(fc.record({ k: fc.constantFrom(' ' as const, '+' as const, '-' as const), s: fc.tuple(word) }));
  fc.assert(fc.property(lines, (lines) => {
    const pairs = sideBySide(numbered({ old: 1, new: 1, lines }));
    expect(pairs.flatMap(([before]) => (before ? [before.s[0]] : []))).toEqual(lines.filter(({ k }) => k !== '+').map(({ s }) => s[0]));
    expect(pairs.flatMap(([, after]) => (after ? [after.s[0]] : []))).toEqual(lines.filter(({ k }) => k !== '-').map(({ s }) => s[0]));
  }));
});

test('characters without a picture are made visible', () => {
  expect(visible('a\u202eb\u0007\u001b[1m\tc\nd👩‍💻')).toBe('a⟨202E⟩b␇␛[1m\tc\nd👩‍💻');
  fc.assert(fc.property(fc.string(), (text) => { expect(visible(text)).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b]/); }));
});

test('only addresses of the web and of mail are links', () => {
  expect(['http://a', 'https://a', 'HTTPS://a', 'mailto:a@b'].every(isSafeLink)).toBe(true);
  expect(['javascript:alert(1)', ' javascript:x', 'data:text/html,x', 'file:///etc/passwd', '//a', 'vbscript:x', ''].some(isSafeLink)).toBe(false);
});

test('figures as people read them', () => {
  expect([100, 12_400, 138_000, 11_400_000, 90_000_000, 60_000].map(duration)).toEqual(['0.1s', '12s', '2m18s', '3h10m', '1d1h', '1m']);
  expect([0, 999, 1000, 63_000_000].map(bytes)).toEqual(['0 B', '999 B', '1.0 kB', '63 MB']);
  expect([0, 0.001, 1.926].map((amount) => dollars(amount))).toEqual(['$0.00', '<$0.01', '$1.93']);
  expect([baseName('/home/mia/annals/'), baseName('C:\\work\\annals'), baseName('/')]).toEqual(['annals', 'annals', '/']);
  expect(ago('2026-11-18T10:00:00Z', Date.parse('2026-11-18T10:02:00Z'), 'en')).toMatch(/2/);
  expect(ago(null, 0, 'en')).toBe('');
});

test('a time that is still to come is shown as its day', () => {
  const now = Date.parse('2026-11-18T12:00:00Z');
  expect(ago('2026-11-18T12:00:20Z', now, 'en')).toBe('this minute');
  expect(ago('2026-11-18T12:05:00Z', now, 'en')).toBe('Nov 18');
  expect(ago('2027-02-03T12:00:00Z', now, 'en')).toBe('Feb 3, 2027');
  // The column of the list is too narrow for the long form.
  expect(ago('2025-12-29T12:00:00Z', now, 'zh')).toBe('2025/12/29');
});

test('sentences in Chinese end with a Chinese full stop', () => {
  for (const sentence of [zh.countedOnce, zh.estimatedCost, zh.unpriced(2)]) expect(sentence).toMatch(/。$/);
});

test('the highest bar fits below a round number', () => {
  expect(roundUp(1.0005e-6)).toBe(2e-6);
  fc.assert(fc.property(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), (value) => {
    expect(roundUp(value)).toBeGreaterThanOrEqual(value * (1 - 1e-9));
    expect(roundUp(value)).toBeLessThanOrEqual(value * 2.51);
  }));
});

test('words to mark are those of the query without filters', () => {
  expect(wordsOf('glued "two words" -not tool:Bash in:"a b" OR pref* 修复')).toEqual(['glued', 'two words', 'pref', '修复']);
});

test('the palette prefers beginnings, and needs every word', () => {
  expect(score('pars', 'Fix the parser')).toBeGreaterThan(score('pars', 'A sparser list'));
  expect(score('fix nothing', 'Fix the parser')).toBe(0);
  expect(score('ftp', 'fix the parser')).toBeGreaterThan(0);
});

test('pressed keys have the names of the table', () => {
  const key = (key: string, modifiers: Partial<KeyboardEvent> = {}) => nameOf({ key, code: `Key${key.toUpperCase()}`, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...modifiers });
  expect([key('k', { ctrlKey: true }), key('K', { metaKey: true }), key('G', { shiftKey: true }), key('ø', { altKey: true, code: 'KeyO' }), key('C', { ctrlKey: true, shiftKey: true }), key('Escape')]).toEqual(['Ctrl k', 'Ctrl k', 'G', 'Alt o', 'Ctrl Shift c', 'Escape']);
  expect(new Set(KEYS.map(([keys]) => keys)).size).toBe(KEYS.length);
});

test('a key that a reader gives to a command is that of no other one', () => {
  const own = withOwn({ nextRow: 'k', mark: 'g m' });
  const keysOf = (command: string) => own.filter(([, name]) => name === command).map(([keys]) => keys);
  expect([keysOf('nextRow'), keysOf('previousRow'), keysOf('mark'), keysOf('find')]).toEqual([['k'], [], ['g m'], ['/', 'Ctrl f']]);
  fc.assert(fc.property(fc.dictionary(fc.constantFrom(...KEYS.map(([, command]) => command)), fc.constantFrom(...KEYS.map(([keys]) => keys), 'q', 'g q')), (own) => {
    const keys = withOwn(readOwn(JSON.stringify(own))).map(([keys]) => keys);
    // Keys given to two commands at once are refused where they are given; those of the table are never doubled.
    if (new Set(Object.values(own)).size === Object.keys(own).length) expect(new Set(keys).size).toBe(keys.length);
  }));
});

test('stored keys that are nonsense are ignored', () => {
  for (const stored of [null, '', '{', '[]', 'null', '{"nobody":"q"}', '{"mark":7}', '{"mark":""}']) expect(readOwn(stored), String(stored)).toEqual({});
  expect(readOwn('{"mark":"q","nobody":"r"}')).toEqual({ mark: 'q' });
});

test('what was left out is fetched for a copy, whatever pieces it comes in', async () => {
  const lines = Array.from({ length: 12_000 }, (_, index) => `line ${index}`);
  const part = (_: number, from = 0, count = 0) => {
    const end = Math.min(from + Math.min(count, 700), lines.length);
    return Promise.resolve({ nodes: [{ t: 'ansi' as const, lines: lines.slice(from, end).map((line) => [line]) }], lines: lines.length, ...(end < lines.length && { next: end }) });
  };
  const more = (from: number, lines: number): ViewNode => ({ t: 'more', part: 1, from, lines, bytes: 1 });
  const tail: ViewNode = { t: 'ansi', lines: lines.slice(11_980).map((line) => [line]) };
  expect(textOfNodes((await whole([more(0, 11_980), tail], part)).nodes)).toBe(lines.join('\n'));
  const { missing } = await whole([more(0, 60_000)], (_, from = 0, count = 0) => Promise.resolve({ nodes: [], lines: 60_000, next: from + count }));
  expect(missing).toBe(10_000);
});

test('refusals, findings and repairs have words in Chinese', () => {
  // Those that no page can cause are left out: a line that is not JSON, and a message that is not a request.
  const codes = [...readFileSync('../crates/annals-proto/src/method.rs', 'utf8').matchAll(/^ {4}\w+ (-\d{5}),$/gm)].map(([, code]) => Number(code)).filter((code) => code !== -32700 && code !== -32600);
  expect(codes.length).toBeGreaterThan(10);
  for (const code of codes) expect(REFUSALS[code], String(code)).toMatch(/\p{Script=Han}/u);
  expect(zh.refusal(-32012, 'refused')).toBe(REFUSALS[-32012]);
  expect(zh.refusal(-32602, 'unknown filter')).toBe(`${REFUSALS[-32602]}（unknown filter）`);
  expect([zh.refusal(-1, 'new'), en.refusal(-32012, 'refused')]).toEqual(['new', 'refused']);
  const say = (words: (typeof problems)['lost'][0]) => (typeof words === 'string' ? words : words({ count: 3, line: 7, name: 'first-user', days: 30, paths: ['/a'] }));
  for (const [code, words] of Object.entries(problems)) for (const text of words.map(say)) {
    expect(text, code).toMatch(/\p{Script=Han}/u);
    expect(text, code).not.toContain('undefined');
  }
  for (const text of Object.values(repairs)) expect(text).toMatch(/\p{Script=Han}/u);
  expect(say(problems.same_uuid[1])).not.toBe((problems.same_uuid[1] as (details: object) => string)({ costs: true }));
});

test('both languages have the same texts, and none is empty', () => {
  const shape = (value: unknown): unknown => (typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, shape(entry)])) : typeof value);
  // Words of the protocol are English, so that language has no others for them.
  const { words: _, ...texts } = zh;
  const { words: none, ...english } = en;
  expect(none).toEqual({});
  expect(shape(texts)).toEqual(shape(english));
  const all = (value: unknown): string[] => (typeof value === 'string' ? [value] : typeof value === 'object' && value !== null ? Object.values(value).flatMap(all) : []);
  for (const text of [...all(en), ...all(zh)]) expect(text.trim()).not.toBe('');
});

test('facts of calls are in the language of the page, and what a newer server adds stays as it is', () => {
  const tool = { facts: ['12 lines', 'exit 2', 'no such file', 'new kind', 'old server'], knownFacts: [{ kind: 'lines', count: 12 }, { kind: 'exit', count: 2 }, { kind: 'text' }, { kind: 'future', count: 1 }] } as unknown as ViewTool;
  expect(factsOf(tool, en.facts)).toEqual(['12 lines', 'exit 2', 'no such file', 'new kind', 'old server']);
  expect(factsOf(tool, zh.facts)).toEqual(['12 行', '退出码 2', 'no such file', 'new kind', 'old server']);
  expect(factsOf({ facts: ['3 lines'] }, zh.facts)).toEqual(['3 lines']);
});

test('every character that the server makes visible is visible in the page, and text that needs joiners stays', () => {
  for (const code of [0x7f, 0x80, 0x9b, 0xad, 0x34f, 0x61c, 0x115f, 0x17b4, 0x180e, 0x200b, 0x200c, 0x200d, 0x2028, 0x2060, 0x2066, 0x206f, 0x3164, 0xfdd0, 0xfeff, 0xffa0, 0xfff9, 0x1bca0, 0x1d173, 0xe0041, 0xe01f0]) {
    const hidden = String.fromCodePoint(code);
    const shown = code === 0x7f ? '␡' : `⟨${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
    expect(visible(`a${hidden}b`)).toBe(`a${shown}b`);
    expect(visible(visible(hidden))).toBe(visible(hidden));
  }
  for (const text of ['👩‍💻 ❤️', 'می‌خواهم', '葛\u{e0100}', '한국어 かな 😀 ａ']) expect(visible(text)).toBe(text);
});

test('a path below the working directory is shown without it', () => {
  expect(shortPath('/home/mia/tea/src/dial.ts', '/home/mia/tea')).toBe('src/dial.ts');
  expect(shortPath('C:\\tea\\dial.ts', 'C:\\tea')).toBe('dial.ts');
  for (const path of ['/home/mia/teapot/a', '/home/mia/tea', '/home/mia/tea/', 'npm test']) expect(shortPath(path, '/home/mia/tea')).toBe(path);
  expect(shortPath('/a', null)).toBe('/a');
});

test('a cost that is calculated is marked as an estimate', () => {
  expect(costOf({ costUsd: 1.25, costKind: 'recorded' })).toBe('$1.25');
  expect(costOf({ costUsd: 1.25, costKind: 'mixed' }, 4)).toBe('≈ $1.2500');
  expect(costOf({ costUsd: null, costKind: null })).toBe('–');
});

test('a plot has the most expensive models, and all others as one part', () => {
  const row = (costs: Record<string, number | null>) => ({ models: Object.fromEntries(Object.entries(costs).map(([name, costUsd]) => [name, { costUsd }])) }) as unknown as Pick<UsageRow, 'models'>;
  expect(namesOf([row({ a: 1, b: 3 }), row({ a: 4, c: null })], 'other')).toEqual(['a', 'b', 'c']);
  const many = row({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7 });
  const names = namesOf([many], 'other');
  expect(names).toEqual(['g', 'f', 'e', 'd', 'c', 'other']);
  expect(costsOf(many, names).map(({ value }) => value)).toEqual([7, 6, 5, 4, 3, 3]);
  expect(costsOf(row({ b: 2 }), names).at(-1)).toEqual({ name: 'other', value: 2 });
});

test('a turn that a notification started is called by its summary', () => {
  const prompt = '<task-id>b1</task-id>\n<summary>Tests passed</summary>';
  expect(headingOf({ prompt, startedBy: 'task_notification' }, (name) => name)).toBe('task_notification: Tests passed');
  expect(headingOf({ prompt: '<task-id>b1', startedBy: 'task_notification' }, (name) => name)).toBe('task_notification');
  expect(headingOf({ prompt, startedBy: 'prompt' }, (name) => name)).toBe(prompt);
});

test('the line below a title repeats nothing', () => {
  expect(secondLine({ title: 'Boil water', firstPrompt: 'Boil water\n' })).toBe('');
  expect(secondLine({ title: 'Kettle', firstPrompt: 'Boil water' })).toBe('Boil water');
  expect(secondLine({ title: null, firstPrompt: null })).toBe('');
});

test('colours of a terminal are no text, other sequences stay visible', () => {
  expect(withoutColours('\u001b[2mCompacted\u001b[22m ␛[38;5;1mred␛[0m')).toBe('Compacted red');
  expect(visible(withoutColours('\u001b[2J\u001b]0;x'))).toBe('␛[2J␛]0;x');
});

test('nodes as text for the clipboard', () => {
  expect(textOfNodes([{ t: 'h', level: 2, c: ['A'] }, { t: 'p', c: ['b ', { t: 'code', c: ['c'] }, { t: 'br' }, 'd'] }, { t: 'list', start: 3, items: [[{ t: 'p', c: ['e'] }], [{ t: 'p', c: ['f'] }]] }, { t: 'code', lines: [['x', ['kw', 'y']], ['z']] }]))
    .toBe('## A\n\nb c\nd\n\n3. e\n4. f\n\nxy\nz');
});
