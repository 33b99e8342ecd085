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
const branched = counted.find(([{ branches }]) => branches > 0)?.[1];
const compacted = counted.find(([{ compactions }]) => compactions > 0)?.[1];
const changed = (await Promise.all(sessions.map(async ({ id }) => (await served.call('history/files', { sessionId: id })).files.map((file) => [id, file])))).flat().sort(([, one], [, other]) => other.versions.length - one.versions.length)[0];
const boundary = (await served.call('history/read', { sessionId: compacted, limit: 1000 })).items.find((item) => item.compaction);
const branch = (await served.call('history/read', { sessionId: branched, limit: 1000 })).items.find((item) => item.leaf);
const sheets = [['compaction', `/s/${compacted}?compaction=${boundary.uuid}`], ['branch', `/s/${branched}?branch=${branch.leaf}`], ['file', `/s/${changed[0]}?file=${encodeURIComponent(changed[1].path)}`]];
const agents = (await Promise.all(sessions.map(async ({ id }) => (await served.call('history/agents', { sessionId: id })).agents.map((agent) => [id, agent])))).flat();
const withAgent = agents.find(([, agent]) => agent.call) ?? agents[0];
const started = withAgent && (await served.call('history/tools', { sessionId: withAgent[0] })).calls.find(({ name }) => name === 'Task' || name === 'Agent');
const more = withAgent ? [['agent', `/s/${withAgent[0]}#${started.uuid}`], ['split', `/s/${withAgent[0]}?beside=agent:${withAgent[1].agentId}`], ['split-file', `/s/${changed[0]}?beside=${encodeURIComponent(`file:${changed[1].path}`)}`], ['keys', `/s/${longest}`]] : [];
const places = [...more, ...sheets, ['sessions', '/'], ['conversation', `/s/${longest}#T2`], ['read', `/s/${longest}?view=read`], ['model', `/s/${longest}?view=model`], ['raw', `/s/${longest}?view=raw`], ['search', '/search?q=tea'], ['usage', '/usage?days=all'], ['health', '/health']];
for (const [look, options] of [['light', { colorScheme: 'light' }], ['dark', { colorScheme: 'dark' }], ['chinese', { colorScheme: 'light', locale: 'zh-CN' }], ['phone', { colorScheme: 'light', viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }]]) {
  for (const [name, path] of places) {
    const page = await visit(browser, options);
    const [address, hash] = path.split('#');
    await page.goto(served.at(address));
    await page.locator(sheets.some(([other]) => other === name) ? '.column, .moment' : '.session, .row, .hit, .plot, .panel, .empty').first().waitFor();
    if (hash) await page.evaluate((hash) => { location.hash = hash; }, hash);
    await page.waitForTimeout(700);
    if (name === 'conversation') {
      // A failed edit, and one that succeeded, with its change and what it has to do with.
      const edit = page.locator('.transcript .card[data-state=ok]', { hasText: 'Edit' }).first();
      await edit.locator('.card-head').click();
      await edit.getByRole('button', { name: /Related|相关/ }).click();
      await edit.locator('.related').waitFor();
      await page.waitForTimeout(500);
    }
    if (name === 'agent') {
      await page.locator('.transcript [aria-current=true] .card-head').first().click();
      await page.locator('.inline-agent .row').first().waitFor();
      await page.waitForTimeout(500);
    }
    if (name === 'keys') {
      await page.keyboard.press('?');
      await page.locator('.help').waitFor();
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
