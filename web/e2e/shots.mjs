// Takes pictures of the main pages with the sample sessions: light, dark and phone. They are written to `target/shots`.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, visit } from './browser.mjs';
import { Served } from './served.mjs';

const folder = fileURLToPath(new URL('../../target/shots', import.meta.url));
mkdirSync(folder, { recursive: true });
const served = await Served.start(process.env.ANNALS);
const browser = await launch();
const { sessions } = await served.call('history/list');
const counted = await Promise.all(sessions.map(async ({ id }) => [await served.call('history/stats', { sessionId: id }), id]));
const [[, longest]] = counted.sort(([one], [other]) => other.turns - one.turns);
const places = [['sessions', '/'], ['conversation', `/s/${longest}`], ['read', `/s/${longest}?view=read`], ['model', `/s/${longest}?view=model`], ['raw', `/s/${longest}?view=raw`], ['search', '/search?q=tea'], ['usage', '/usage?days=all'], ['health', '/health']];
for (const [look, options] of [['light', { colorScheme: 'light' }], ['dark', { colorScheme: 'dark' }], ['phone', { colorScheme: 'light', viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }]]) {
  for (const [name, path] of places) {
    const page = await visit(browser, options);
    await page.goto(served.at(path));
    await page.locator('.session, .row, .hit, .plot, .panel, .empty').first().waitFor();
    await page.waitForTimeout(700);
    if (name === 'conversation') {
      for (const head of (await page.locator('.transcript .card:not(.quiet-card) .card-head:visible').all()).slice(0, 2)) await head.click();
      await page.waitForTimeout(500);
    }
    if (name === 'search' && look !== 'phone') {
      await page.locator('.hit').first().click();
      await page.waitForTimeout(700);
    }
    await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    await page.context().close();
  }
}
await browser.close();
await served.stop();
console.log(`pictures in ${folder}`);
