// Firefox by WebDriver BiDi, with as much of the interface of Playwright's pages as the checks of scrolling use. Playwright itself sends commands that
// Firefox ESR does not know. Needs `node --experimental-websocket` before Node 22.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const TIMEOUT = 20_000;
/** After this time a command has failed. */
const LONGEST = 60_000;

export async function launchFirefox() {
  const path = execFileSync('which', [process.env.FIREFOX || 'firefox-esr']).toString().trim();
  const profile = mkdtempSync(join(tmpdir(), 'annals-firefox-'));
  const child = spawn(path, ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'], { env: { ...process.env, HOME: profile }, stdio: ['ignore', 'ignore', 'pipe'] });
  process.once('exit', () => child.kill());
  const address = await new Promise((resolve, reject) => {
    let text = '';
    child.stderr.on('data', (chunk) => {
      text += chunk;
      const [, found] = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(text) ?? [];
      if (found) resolve(found);
    });
    child.on('exit', (code) => reject(new Error(`Firefox ended with ${code}: ${text.slice(0, 400)}`)));
  });
  const connection = await Connection.open(`${address}/session`);
  await connection.send('session.new', { capabilities: {} });
  await connection.send('session.subscribe', { events: ['log.entryAdded'] });
  return {
    isFirefox: true,
    visit: (options) => Page.open(connection, options),
    close: async () => {
      child.removeAllListeners('exit');
      const ended = new Promise((resolve) => { child.once('exit', resolve); });
      child.kill();
      await ended;
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

class Connection {
  static async open(address) {
    const connection = new Connection();
    Object.assign(connection, { lastId: 0, waiting: new Map(), listeners: new Set(), socket: new WebSocket(address) });
    connection.socket.onmessage = ({ data }) => connection.#received(JSON.parse(data));
    await new Promise((resolve, reject) => { connection.socket.onopen = resolve; connection.socket.onerror = () => reject(new Error(`no connection to ${address}`)); });
    return connection;
  }

  #received(message) {
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (waiting) (message.type === 'error' ? waiting.reject(new Error(`${waiting.method}: ${message.message}`)) : waiting.resolve(message.result));
    else for (const listener of this.listeners) listener(message);
  }

  send(method, params) {
    const id = ++this.lastId;
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), LONGEST);
      this.waiting.set(id, { method, resolve: (result) => { clearTimeout(timer); resolve(result); }, reject: (error) => { clearTimeout(timer); reject(error); } });
    });
  }
}

class Page {
  static async open(connection, { viewport = { width: 1400, height: 900 } } = {}) {
    const page = new Page();
    // What a page stores is not seen by the next one.
    const { userContext } = await connection.send('browser.createUserContext', {});
    const { context } = await connection.send('browsingContext.create', { type: 'tab', userContext });
    await connection.send('browsingContext.activate', { context });
    Object.assign(page, { connection, id: context, userContext, wrong: [], at: { x: 0, y: 0 } });
    connection.listeners.add(({ method, params }) => { if (method === 'log.entryAdded' && params.source?.context === context && params.level === 'error') page.wrong.push(params.text); });
    await page.setViewportSize(viewport);
    return page;
  }

  #call(method, params) {
    return this.connection.send(method, { context: this.id, ...params });
  }

  async goto(url) {
    await this.#call('browsingContext.navigate', { url, wait: 'complete' });
  }

  async reload() {
    await this.#call('browsingContext.reload', { wait: 'complete' });
  }

  async goBack() {
    await this.#call('browsingContext.traverseHistory', { delta: -1 });
  }

  async setViewportSize(viewport) {
    await this.#call('browsingContext.setViewport', { viewport });
  }

  async addInitScript(script) {
    await this.connection.send('script.addPreloadScript', { functionDeclaration: String(script), contexts: [this.id] });
  }

  /** Values go there and back as JSON. */
  async evaluate(script, value) {
    const { result, exceptionDetails } = await this.connection.send('script.callFunction', {
      functionDeclaration: `async (value) => JSON.stringify(await (${script})(JSON.parse(value)))`, arguments: [{ type: 'string', value: JSON.stringify(value ?? null) }], target: { context: this.id }, awaitPromise: true, userActivation: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return result.value === undefined ? undefined : JSON.parse(result.value);
  }

  async waitForTimeout(ms) {
    await sleep(ms);
  }

  locator(selector, { hasText } = {}) {
    return new Locator(this, selector, hasText, 0);
  }

  keyboard = { press: (key) => this.#perform({ type: 'key', id: 'keys', actions: [{ type: 'keyDown', value: key }, { type: 'keyUp', value: key }] }) };

  mouse = {
    move: async (x, y) => { this.at = { x, y }; },
    wheel: async (deltaX, deltaY) => {
      await this.#perform({ type: 'wheel', id: 'wheel', actions: [{ type: 'scroll', ...this.at, deltaX, deltaY }] });
      // Firefox answers before it scrolls, and would otherwise collect more turns of the wheel than it can follow.
      await this.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => resolve(null)); }));
    },
  };

  async #perform(source) {
    await this.#call('input.performActions', { actions: [source] });
  }

  context() {
    return { close: () => this.connection.send('browser.removeUserContext', { userContext: this.userContext }) };
  }
}

/** Elements of a page that has `evaluate`. */
export class Locator {
  constructor(page, selector, text, index) {
    Object.assign(this, { page, selector: selector.replaceAll(':visible', ''), text, index });
  }

  first() {
    return this.nth(0);
  }

  nth(index) {
    return new this.constructor(this.page, this.selector, this.text, index);
  }

  /** Runs a script with the elements, which are visible and have the text. */
  on(script, value) {
    return this.page.evaluate(`([selector, text, index, value]) => {
      const elements = [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility() && (!text || element.textContent.includes(text)));
      return (${script})(elements, index, value);
    }`, [this.selector, this.text ?? '', this.index, value ?? null]);
  }

  count() {
    return this.on((elements) => elements.length);
  }

  async waitFor() {
    const end = Date.now() + TIMEOUT;
    while (!await this.on((elements, index) => elements.length > index)) {
      if (Date.now() > end) throw new Error(`there is no ${this.selector} ${this.text ?? ''}`);
      await sleep(30);
    }
  }

  async click() {
    await this.waitFor();
    await this.on((elements, index) => { elements[index].click(); });
  }

  async selectOption(value) {
    await this.on((elements, index, value) => { elements[index].value = value; elements[index].dispatchEvent(new Event('change', { bubbles: true })); }, value);
  }
}
