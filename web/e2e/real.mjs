// The viewer against the real server.
import { strict as assert } from 'node:assert';
import { visit } from './browser.mjs';
import { HOSTILE, Served, nextLine } from './served.mjs';

async function open({ browser, annals }, path, { options = [], ...more } = {}) {
  const served = await Served.start(annals, options);
  const page = await visit(browser, more);
  await page.goto(served.at(path));
  const close = async () => {
    assert.deepEqual(page.wrong, []);
    await page.context().close();
    await served.stop();
  };
  return { page, served, close };
}

export const checks = [
  ['real: every session of the sample opens in every level', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    const { sessions } = await served.call('history/list');
    await page.locator('.session').nth(sessions.length - 1).waitFor();
    for (const { id } of sessions) {
      for (const level of ['work', 'read', 'raw', 'model']) {
        await page.goto(`${served.origin}/s/${id}?view=${level}`);
        await page.locator('.transcript .row, .transcript .empty, .transcript .trouble').first().waitFor();
        const trouble = await page.locator('.transcript .trouble').allTextContents();
        assert.ok(trouble.every((text) => level === 'model' && text.includes('would not resume')), `${id} ${level}: ${trouble}`);
        if (level === 'model') page.wrong = [];
      }
    }
    await close();
    return `${sessions.length} sessions`;
  }],
  ['real: the model level shows what the engine gives, message by message', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    const { sessions } = await served.call('history/list');
    const { messages } = await served.call('history/load', { sessionId: sessions[0].id, view: 'model' });
    await page.locator('.session').first().waitFor();
    await page.goto(`${served.origin}/s/${sessions[0].id}?view=model`);
    await page.locator(`.transcript .model[aria-setsize="${messages.length}"]`).first().waitFor();
    const shown = await page.locator('.transcript .model').first().locator('.block').first().textContent();
    assert.equal(shown, messages[0].thought || messages[0].content);
    await close();
  }],
  ['real: what is appended appears, once and in order', async (stage) => {
    const { page, served, close } = await open(stage, `/s/${HOSTILE}`);
    await page.locator('.transcript .row').first().waitFor();
    await page.keyboard.press('G');
    for (let number = 8; number < 28; number++) {
      served.append(nextLine(number, `Line ${number} <img src=x onerror='window.hacked = 7'> 你好`));
      if (number % 4 === 0) await page.waitForTimeout(120);
    }
    await page.locator('.transcript .prose', { hasText: 'Line 27' }).waitFor();
    const shown = (await page.locator('.transcript').textContent()).matchAll(/Line (\d+)/g);
    const numbers = [...shown].map(([, number]) => Number(number));
    assert.deepEqual(numbers, [...numbers].sort((one, other) => one - other));
    assert.equal(new Set(numbers).size, numbers.length);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await close();
  }],
  ['real: a hostile transcript is text in all levels', async (stage) => {
    const { page, served, close } = await open(stage, `/s/${HOSTILE}`);
    for (const level of ['work', 'raw', 'model']) {
      await page.goto(`${served.origin}/s/${HOSTILE}?view=${level}`);
      await page.locator('.transcript .row').first().waitFor();
      await page.waitForTimeout(300);
      for (const head of await page.locator('.transcript .card-head:visible').all()) await head.click().catch(() => undefined);
      await page.waitForTimeout(500);
      assert.equal(await page.evaluate(() => window.hacked), undefined, level);
      assert.equal(await page.locator('.transcript script, .transcript img:not([src^="blob:"]), .transcript svg:not(.icon), .transcript iframe, .transcript [onerror], .transcript style').count(), 0, level);
      const links = await page.evaluate(() => [...document.querySelectorAll('.transcript .prose a')].map((link) => link.protocol));
      assert.ok(links.every((protocol) => ['http:', 'https:', 'mailto:'].includes(protocol)), `${level}: ${links}`);
    }
    await close();
  }],
  ['real: find and search count alike, and every hit is marked', async (stage) => {
    const { page, served, close } = await open(stage, '/search?q=tea');
    await page.locator('.hit mark').first().waitFor();
    const { hits } = await served.call('history/search', { query: 'tea', flat: true, limit: 200 });
    const session = hits.find((hit) => hit.session && hit.uuid && !hit.agentId).session;
    const expected = hits.filter((hit) => hit.session === session && hit.uuid && !hit.agentId).length;
    await page.goto(`${served.origin}/s/${session}?find=tea`);
    await page.locator('.find .count', { hasText: `of ${expected}` }).waitFor();
    await page.locator('.find input').focus();
    for (let hit = 1; hit <= expected; hit++) {
      await page.keyboard.press('Enter');
      await page.locator('.find .count', { hasText: `${hit} of ${expected}` }).waitFor();
      await page.waitForFunction(() => CSS.highlights.get('found')?.size > 0);
    }
    await close();
    return `${expected} hits`;
  }],
  ['real: usage and health have the figures of the server', async (stage) => {
    const { page, served, close } = await open(stage, '/usage?days=all');
    const { total } = await served.call('history/usage', { by: 'day' });
    await page.locator('.totals', { hasText: total.replies.toLocaleString('en') }).waitFor();
    await page.goto(`${served.origin}/health`);
    await page.locator('.panel', { hasText: 'annals' }).first().waitFor();
    await page.locator('button', { hasText: 'Check all' }).click();
    await page.locator('.findings li').first().waitFor();
    assert.equal(await page.locator('.trouble').count(), 0);
    await close();
  }],
  ['real: a link without access asks for the printed link and returns to the place', async (stage) => {
    const served = await Served.start(stage.annals);
    const page = await visit(stage.browser);
    const { sessions } = await served.call('history/list');
    await page.goto(`${served.origin}/s/${sessions[0].id}?view=read#L3`);
    await page.locator('input').fill(served.link);
    await page.keyboard.press('Enter');
    await page.locator('.transcript .row').first().waitFor();
    assert.equal(page.url(), `${served.origin}/s/${sessions[0].id}?view=read#L3`);
    page.wrong = page.wrong.filter((text) => !text.includes('401'));
    assert.deepEqual(page.wrong, []);
    await page.context().close();
    await served.stop();
  }],
];
