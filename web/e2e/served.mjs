// The real server with a copy of the sample sessions, and a hostile one.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SAMPLE = fileURLToPath(new URL('../../corpus/sample', import.meta.url));
export const HOSTILE = '5afe0000-0000-4000-8000-000000000001';

const entry = (type, uuid, parent, content, more = {}) => ({
  parentUuid: parent, isSidechain: false, userType: 'external', cwd: '/home/mia/hostile', sessionId: HOSTILE, version: '2.0.0', gitBranch: 'main', type, uuid, timestamp: `2026-11-01T10:00:${uuid.slice(-2)}.000Z`,
  message: type === 'user' ? { role: 'user', content } : { id: `msg_${uuid}`, type: 'message', role: 'assistant', model: 'claude-test-1', content, stop_reason: 'end_turn', usage: { input_tokens: 5, output_tokens: 7 } }, ...more,
});
const id = (number) => `5afe1111-0000-4000-8000-0000000000${String(number).padStart(2, '0')}`;

const NASTY = [
  '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2"><svg onload="window.hacked = 3"></svg>', '[click](javascript:window.hacked=4) [data](data:text/html,<script>1</script>) ![x](http://example.org/x.png) [fine](https://example.org/)',
  '<style>* { display: none }</style><iframe src="https://example.org/"></iframe>', 'abc \u202e gnp.exe \u0007 \u001b[31mred\u001b[0m', 'hid\u00adden \u061c \u2066 \u{e0041} \u009b31m \ufeff', `${'> '.repeat(400)}deep`, `${'*'.repeat(3000)}bold`, '| a | b |\n|--|--:|\n| <b>1</b> | 2 |', '```html"><script>window.hacked = 5</script>\n<b>code</b>\n```',
].join('\n\n');

function hostile() {
  const deep = JSON.parse(`${'['.repeat(500)}"the bottom"${']'.repeat(500)}`);
  return [
    entry('user', id(1), null, `敌意 ${NASTY}`),
    entry('assistant', id(2), id(1), [{ type: 'thinking', thinking: `让我看看 ${NASTY}`, signature: 'x' }]),
    entry('assistant', id(3), id(2), [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: `echo ${NASTY}`, description: NASTY } }]),
    entry('user', id(4), id(3), [{ type: 'tool_result', tool_use_id: 'toolu_1', content: `\u001b[31mred\u001b[0m ${NASTY}\n${'\u001b[1m\u001b[4m'.repeat(2000)}${'x'.repeat(1_000_000)}`, is_error: true }], { toolUseResult: { stdout: NASTY, stderr: '' } }),
    entry('assistant', id(5), id(4), [{ type: 'tool_use', id: 'toolu_2', name: '<b>Tool</b>\u202e\u061c', input: { deep, '<i>key</i>': NASTY } }]),
    entry('user', id(6), id(5), [{ type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'text', text: NASTY }, { type: 'image', source: { type: 'base64', media_type: 'image/svg+xml', data: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=6"/>').toString('base64') } }] }]),
    entry('assistant', id(7), id(6), [{ type: 'text', text: `The end. ${NASTY}` }]),
  ];
}

/** Two lines that continue the hostile session: a call, and its result. */
export const callLines = (number, call, result, more) => [entry('assistant', id(number), id(number - 1), [{ type: 'tool_use', id: `toolu_${number}`, ...call }]),
  entry('user', id(number + 1), id(number), [{ type: 'tool_result', tool_use_id: `toolu_${number}`, content: result }], more)].map((line) => `${JSON.stringify(line)}\n`).join('');
export const recordOf = id;

/** A line that continues the hostile session. */
export const nextLine = (number, text, type = 'assistant') => `${JSON.stringify(entry(type, id(number), id(number - 1), type === 'user' ? text : [{ type: 'text', text }]))}\n`;

export class Served {
  static async start(annals, options = []) {
    const served = new Served();
    served.folder = mkdtempSync(join(tmpdir(), 'annals-viewer-'));
    const root = join(served.folder, 'root');
    cpSync(SAMPLE, root, { recursive: true });
    served.path = join(root, 'projects/-home-mia-hostile', `${HOSTILE}.jsonl`);
    mkdirSync(join(served.path, '..'), { recursive: true });
    writeFileSync(served.path, hostile().map((line) => `${JSON.stringify(line)}\n`).join(''));
    const env = { ...process.env, HOME: served.folder, CLAUDE_CONFIG_DIR: root, ANNALS_HOME: join(served.folder, 'home') };
    /** Runs another command with the same files, and returns what it prints. */
    served.run = (args) => execFileSync(annals, [...args, '--root', root], { env, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] });
    served.child = spawn(annals, ['serve', '--json', '--root', root, ...options], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    // A check that fails does not stop its server.
    served.kill = () => served.child.kill();
    process.once('exit', served.kill);
    const line = await new Promise((resolve, reject) => {
      let text = '';
      served.child.stdout.on('data', (chunk) => { text += chunk; if (text.includes('\n')) resolve(text); });
      served.child.on('exit', (code) => reject(new Error(`the server ended with ${code}`)));
    });
    const { url, token } = JSON.parse(line);
    Object.assign(served, { link: url, token, origin: new URL(url).origin });
    return served;
  }

  /** The address of a place with the token. */
  at(path) {
    return `${this.origin}${path}${path.includes('?') ? '&' : '?'}token=${this.token}`;
  }

  async call(method, params = {}) {
    const answer = await fetch(`${this.origin}/rpc`, { method: 'POST', headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) });
    const { result, error } = await answer.json();
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** Registers processes that have the hostile session open, as Claude Code does: this one stands for all of them. */
  openByProcesses(count) {
    const registry = join(this.folder, 'root/sessions');
    mkdirSync(registry, { recursive: true });
    for (let number = 1; number <= count; number++) writeFileSync(join(registry, `${number}.json`), JSON.stringify({ pid: process.pid, sessionId: HOSTILE }));
  }

  /** Writes output of the hostile session into a file of its own, as Claude Code does. */
  store(name, text) {
    const folder = join(this.path.replace(/\.jsonl$/, ''), 'tool-results');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), text);
  }

  append(line) {
    appendFileSync(this.path, line);
  }

  async stop() {
    process.removeListener('exit', this.kill);
    this.child.removeAllListeners('exit');
    const ended = once(this.child, 'exit');
    this.child.kill();
    // The server may still write to its folder while it ends.
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
