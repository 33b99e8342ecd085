// WebKitGTK by WebDriver, with as much of the interface of Playwright's pages as the checks of scrolling use. Needs the packages `webkit2gtk-driver`,
// which brings MiniBrowser, and a display: `xvfb-run`.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { Locator } from './firefox.mjs';

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function freePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => resolve(port)); });
  });
}

function findMiniBrowser() {
  const libraries = `/usr/lib/${{ x64: 'x86_64', arm64: 'aarch64' }[process.arch]}-linux-gnu`;
  const found = process.env.MINIBROWSER ?? readdirSync(libraries).filter((name) => /^webkit.*gtk/.test(name)).map((name) => `${libraries}/${name}/MiniBrowser`).at(-1);
  if (!found) throw new Error('there is no MiniBrowser of WebKitGTK');
  return found;
}

export async function launchWebKit() {
  const port = await freePort();
  const child = spawn(process.env.WEBKIT_DRIVER ?? 'WebKitWebDriver', [`--port=${port}`, '--host=127.0.0.1'], { stdio: 'ignore' });
  process.once('exit', () => child.kill());
  const driver = `http://127.0.0.1:${port}`;
  for (let attempt = 0; ; attempt++) {
    try { await fetch(`${driver}/status`); break; } catch (error) { if (attempt > 100) throw error; }
    await sleep(50);
  }
  return {
    isFirefox: true,
    visit: (options) => Page.open(driver, options),
    close: async () => { child.kill(); },
  };
}

async function send(url, method, body) {
  const answer = await fetch(url, { method, ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }) });
  const { value } = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${url.replace(/.*\/session\/[^/]+/, '')}: ${value?.error} ${value?.message}`);
  return value;
}

/** How many times longer a check waits than in other browsers. */
const SLOWER = 3;

const POINTER = { type: 'pointer', id: 'mouse', parameters: { pointerType: 'mouse' } };

class Page {
  static async open(driver, { viewport = { width: 1400, height: 900 } } = {}) {
    const page = new Page();
    const { sessionId } = await send(`${driver}/session`, 'POST', { capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': { binary: findMiniBrowser(), args: ['--automation'] } } } });
    Object.assign(page, { session: `${driver}/session/${sessionId}`, wrong: [], scripts: [], at: { x: 0, y: 0 }, turned: { deltaX: 0, deltaY: 0 } });
    await page.#send('timeouts', { script: 90_000, pageLoad: 60_000 });
    await page.setViewportSize(viewport);
    return page;
  }

  #send(command, body) {
    return send(`${this.session}/${command}`, 'POST', body ?? {});
  }

  async goto(url) {
    await this.#send('url', { url });
    await this.#begin();
  }

  async reload() {
    await this.#send('refresh');
    await this.#begin();
  }

  async goBack() {
    await this.#send('back');
  }

  /** WebDriver has no scripts that run before a page: they run behind it, and define functions only. */
  async #begin() {
    for (const script of this.scripts) await this.evaluate(script);
  }

  async addInitScript(script) {
    this.scripts.push(String(script));
  }

  async setViewportSize({ width, height }) {
    await this.#send('window/rect', { width, height });
    // The frame of the window is a part of it.
    const [w, h] = await this.evaluate(() => [innerWidth, innerHeight]);
    if (w !== width || h !== height) await this.#send('window/rect', { width: width + width - w, height: height + height - h });
    await sleep(100);
  }

  async evaluate(script, value) {
    const answer = await this.#send('execute/async', {
      script: `const [value, done] = arguments; (async () => (${script})(JSON.parse(value)))().then((result) => done(JSON.stringify({ result })), (error) => done(JSON.stringify({ error: String(error) })));`, args: [JSON.stringify(value ?? null)],
    });
    const { result, error } = JSON.parse(answer);
    if (error) throw new Error(error);
    return result;
  }

  /** WebKitGTK without a graphics card draws fewer frames, so that it needs longer to come to rest. */
  async waitForTimeout(ms) {
    await sleep(SLOWER * ms);
  }

  locator(selector, { hasText } = {}) {
    return new PointerLocator(this, selector, hasText, 0);
  }

  keyboard = { press: (key) => this.#perform({ type: 'key', id: 'keys', actions: [{ type: 'keyDown', value: key }, { type: 'keyUp', value: key }] }) };

  mouse = {
    move: async (x, y) => {
      this.at = { x, y };
      await this.#perform({ ...POINTER, actions: [{ type: 'pointerMove', x, y, duration: 0 }] });
    },
    wheel: async (deltaX, deltaY) => {
      // The driver turns the wheel by the difference from the turn before it: without this sum, 120 and then 40 would scroll down and up.
      this.turned = { deltaX: this.turned.deltaX + deltaX, deltaY: this.turned.deltaY + deltaY };
      await this.#perform({ type: 'wheel', id: 'wheel', actions: [{ type: 'scroll', ...this.at, ...this.turned, duration: 0 }] });
      await this.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => resolve(null)); }));
    },
  };

  async clickAt(x, y) {
    await this.#perform({ ...POINTER, actions: [{ type: 'pointerMove', x: Math.round(x), y: Math.round(y), duration: 0 }, { type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 }] });
  }

  async #perform(source) {
    await this.#send('actions', { actions: [source] });
  }

  context() {
    return { close: () => send(this.session, 'DELETE') };
  }
}

/** WebKit leaves out what a page has added to its history without an action of the reader, so that clicks are made with the pointer. */
class PointerLocator extends Locator {
  async click() {
    await this.waitFor();
    const at = await this.on((elements, index) => {
      const { left, top, width, height } = elements[index].getBoundingClientRect();
      const point = [left + width / 2, top + height / 2];
      if (elements[index].contains(document.elementFromPoint(...point))) return point;
      elements[index].click();
      return null;
    });
    if (at) await this.page.clickAt(...at);
  }
}
