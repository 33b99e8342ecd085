// The list of a conversation of 100,000 rows: it is fast, and nothing that a reader looks at ever moves.
import { strict as assert } from 'node:assert';
import { visit } from './browser.mjs';
import { Mock, MockSession } from './mock.mjs';

const LONG = '22222222-0000-4000-8000-000000000002';
const ROWS = 100_000;

/** Opens the long session, whose rows are then on the screen. */
async function open({ browser, dist }, { rows = ROWS, query = '', hash = '', ...options } = {}) {
  const session = new MockSession(LONG, rows, 'A very long session');
  const mock = await new Mock({ dist, sessions: [session] }).start();
  const page = await visit(browser, options);
  await page.addInitScript(watch);
  await page.goto(`${mock.url}/s/${LONG}${query}${query ? '&' : '?'}token=a-token-for-the-tests`);
  if (hash) await page.evaluate((hash) => { location.hash = hash; }, hash);
  await page.locator('.transcript .row .prompt, .transcript .row .card').first().waitFor();
  const close = async () => {
    assert.deepEqual(page.wrong, []);
    await page.context().close();
    mock.stop();
  };
  return { page, mock, session, close };
}

/**
 * Runs in the page: in each frame it compares where rows are with where they were. A row that stays on the screen may only move by as much
 * as the reader scrolled, in that direction.
 */
function watch() {
  const positions = () => {
    const screen = document.querySelector('.transcript .screen');
    if (!screen) return new Map();
    const { top, bottom } = screen.getBoundingClientRect();
    return new Map([...screen.querySelectorAll('article')].map((row) => [row.dataset.item, row.getBoundingClientRect().top]).filter(([, y]) => y > top - 200 && y < bottom));
  };
  /** Collects the movements of each frame until `stop`. A positive movement is downwards. */
  window.startWatch = () => {
    const state = { frames: [], isOn: true, longest: 0, times: [] };
    let before = positions();
    let last = performance.now();
    const frame = () => {
      const now = performance.now();
      state.times.push(now - last);
      last = now;
      const after = positions();
      const moved = [...after].filter(([key]) => before.has(key)).map(([key, y]) => y - before.get(key));
      if (moved.length > 0) state.frames.push([Math.min(...moved), Math.max(...moved)]);
      before = after;
      if (state.isOn) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    window.watched = state;
  };
  window.stopWatch = () => {
    window.watched.isOn = false;
    const times = window.watched.times.slice(2).sort((one, other) => one - other);
    return { frames: window.watched.frames, p95: times[Math.floor(times.length * 0.95)] ?? 0, longest: times.at(-1) ?? 0, count: times.length };
  };
  window.screenOf = () => document.querySelector('.transcript .screen');
  /** The rows on the screen with their places, without those that are cut off at the top. */
  window.rowsOnScreen = () => [...positions()].filter(([, y]) => y >= window.screenOf().getBoundingClientRect().top);
}

/** Checks that all rows that were on the screen before and are there now have not moved. */
async function unmoved(page, before, what, limit = 1) {
  const after = new Map(await page.evaluate(() => window.rowsOnScreen()));
  const both = before.filter(([key]) => after.has(key));
  assert.ok(both.length > 0, `${what}: nothing of the screen is left`);
  for (const [key, y] of both) assert.ok(Math.abs(after.get(key) - y) <= limit, `${what}: row ${key} moved by ${after.get(key) - y}`);
}

async function middle(page) {
  await page.evaluate(() => { const screen = window.screenOf(); screen.scrollTop = screen.scrollHeight / 2; });
  await page.waitForTimeout(600);
}

async function wheel(stage, direction) {
  const { page, close } = await open(stage);
  await middle(page);
  await page.mouse.move(600, 500);
  await page.evaluate(() => window.startWatch());
  const start = Date.now();
  let count = 0;
  // At least a thousand frames of a reader who turns the wheel at different speeds.
  while (count < 1000 && Date.now() - start < 60_000) {
    for (const by of [120, 40, 300, 80, 600]) await page.mouse.wheel(0, direction * by);
    count = await page.evaluate(() => window.watched.times.length);
  }
  await page.waitForTimeout(400);
  const { frames: seen, p95, longest, count: total } = await page.evaluate(() => window.stopWatch());
  // Wheel down moves rows up: no row may move down, nor two rows by different distances.
  const backward = seen.filter(([low, high]) => (direction > 0 ? high > 1 : low < -1));
  const apart = seen.filter(([low, high]) => high - low > 1);
  assert.equal(backward.length, 0, `backward: ${JSON.stringify(backward.slice(0, 5))}`);
  assert.equal(apart.length, 0, `${apart.length} of ${seen.length} frames moved rows apart: ${JSON.stringify(apart.slice(0, 5))}`);
  await close();
  return `${total} frames, p95 ${p95.toFixed(0)} ms, longest ${longest.toFixed(0)} ms`;
}

/** The frames of the page alone: looking at all rows in each frame, as `wheel` does, takes a part of it. */
async function frames(stage, direction) {
  const { page, close } = await open(stage);
  await middle(page);
  await page.mouse.move(600, 500);
  await page.evaluate(() => {
    window.frameTimes = [];
    let last = performance.now();
    const frame = (now) => { window.frameTimes.push(now - last); last = now; requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
  });
  const start = Date.now();
  for (let turn = 0; turn < 1000 && Date.now() - start < 120_000; turn++) await page.mouse.wheel(0, direction * [120, 40, 300, 80, 600][turn % 5]);
  const times = await page.evaluate(() => window.frameTimes.slice(2).sort((one, other) => one - other));
  await close();
  assert.ok(times.length > 100, `${times.length} frames`);
  return `${times.length} frames, p95 ${times[Math.floor(times.length * 0.95)].toFixed(0)} ms, longest ${times.at(-1).toFixed(0)} ms`;
}

/** Does something in the page, and waits for a frame in which a text begins with `wanted`. Returns after how many milliseconds. */
function until(page, wanted, action) {
  return page.evaluate(([wanted, action]) => new Promise((resolve) => {
    const start = performance.now();
    const look = () => ([...document.querySelectorAll('.transcript .prose p')].some((text) => text.textContent.startsWith(wanted)) ? resolve(performance.now() - start) : requestAnimationFrame(look));
    if (action.click) document.querySelector(action.click).click();
    if (action.hash) location.hash = action.hash;
    for (const key of action.keys ?? []) document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    look();
  }), [wanted, action]);
}

export const checks = [
  ['scroll: first rows, jumps, nodes and heap of 100,000 rows', async (stage) => {
    const { page, mock, close } = await open(stage, { rows: 10 });
    mock.sessions.get(LONG).add(ROWS - 10);
    // From the list to the first rows, as a reader comes.
    await page.goto(`${mock.url}/?token=a-token-for-the-tests`);
    await page.locator('.session').first().waitFor();
    await page.evaluate(() => sessionStorage.clear());
    await page.goto(`${mock.url}/?token=a-token-for-the-tests`);
    await page.locator('.session').first().waitFor();
    const first = await until(page, '0.0', { click: '.session' });
    await page.waitForTimeout(1500);
    const end = await until(page, '99999.0', { keys: ['G'] });
    await page.waitForTimeout(300);
    const start = await until(page, '0.0', { keys: ['g', 'g'] });
    const record = await until(page, '50000.0', { hash: '#L50001' });
    await page.evaluate(() => { for (let round = 0; round < 3; round++) globalThis.gc?.(); });
    const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
    const heap = await page.evaluate(() => (performance.memory?.usedJSHeapSize ?? 0) / 1e6);
    assert.ok(nodes <= 3000, `${nodes} nodes`);
    // Firefox does not tell the size of the heap: it is 0 there.
    assert.ok(heap <= 120, `${heap} MB`);
    await close();
    return `first rows ${first.toFixed(0)} ms, end ${end.toFixed(0)} ms, start ${start.toFixed(0)} ms, record ${record.toFixed(0)} ms, ${nodes} nodes, heap ${heap.toFixed(1)} MB`;
  }],
  ['scroll: 1,000 wheel frames down move nothing backward', (stage) => wheel(stage, 1)],
  ['scroll: 1,000 wheel frames up move nothing backward', (stage) => wheel(stage, -1)],
  ['scroll: frames of 1,000 turns of the wheel down', (stage) => frames(stage, 1)],
  ['scroll: frames of 1,000 turns of the wheel up', (stage) => frames(stage, -1)],
  ['scroll: start and end are exact', async (stage) => {
    const { page, close } = await open(stage);
    await page.keyboard.press('G');
    await page.waitForTimeout(600);
    const [below, rest] = await page.evaluate(() => {
      const screen = window.screenOf();
      const rows = [...screen.querySelectorAll('article')];
      const last = rows.find((row) => row.getAttribute('aria-posinset') === row.getAttribute('aria-setsize'));
      return [last.getBoundingClientRect().bottom - screen.getBoundingClientRect().bottom, screen.scrollHeight - screen.clientHeight - screen.scrollTop];
    });
    assert.ok(Math.abs(below) < 12 && Math.abs(rest) < 2, `${below} ${rest}`);
    await page.keyboard.press('g');
    await page.keyboard.press('g');
    await page.waitForTimeout(400);
    assert.equal(await page.evaluate(() => window.screenOf().scrollTop), 0);
    assert.equal(await page.locator('.transcript [aria-posinset="1"]').count(), 1);
    await close();
  }],
  ['scroll: 200 live appends move nothing in the middle, and follow at the end', async (stage) => {
    const { page, mock, session, close } = await open(stage, { rows: 20_000 });
    await middle(page);
    const before = await page.evaluate(() => window.rowsOnScreen());
    await page.evaluate(() => window.startWatch());
    for (let round = 0; round < 200; round++) {
      session.add(1);
      mock.grown(session);
      if (round % 10 === 0) await page.waitForTimeout(70);
    }
    await page.locator('.pill.new', { hasText: '200' }).waitFor();
    const { frames: seen } = await page.evaluate(() => window.stopWatch());
    assert.equal(seen.filter(([low, high]) => low < -1 || high > 1).length, 0, 'a frame moved');
    await unmoved(page, before, 'appends');
    await page.locator('.pill.new').click();
    await page.waitForTimeout(400);
    for (let round = 0; round < 30; round++) {
      session.add(2);
      mock.grown(session);
      await page.waitForTimeout(30);
    }
    await page.waitForTimeout(500);
    const rest = await page.evaluate(() => { const screen = window.screenOf(); return screen.scrollHeight - screen.clientHeight - screen.scrollTop; });
    assert.ok(rest < 3, `the end is ${rest} px away`);
    await page.locator(`.transcript [aria-posinset="${await page.evaluate(() => document.querySelector('.transcript article').getAttribute('aria-setsize'))}"]`).waitFor();
    await close();
  }],
  ['scroll: live appends appear at once, and 2,000 of them leave the heap as it was', async (stage) => {
    const { page, mock, session, close } = await open(stage, { rows: 20_000 });
    await page.keyboard.press('G');
    await page.waitForTimeout(500);
    // The page and this process have the same clock.
    const appearance = (row) => page.evaluate((row) => new Promise((resolve) => {
      const look = () => (document.querySelector(`.transcript [data-item="${row}"] .prompt, .transcript [data-item="${row}"] .answer, .transcript [data-item="${row}"] .card`) ? resolve(performance.timeOrigin + performance.now()) : requestAnimationFrame(look));
      look();
    }), row);
    const heap = async () => {
      await page.evaluate(() => { for (let round = 0; round < 3; round++) globalThis.gc?.(); });
      return page.evaluate(() => (performance.memory?.usedJSHeapSize ?? 0) / 1e6);
    };
    const before = await heap();
    const latencies = [];
    for (let round = 0; round < 20; round++) {
      session.add(1);
      const appeared = appearance(session.kinds.length - 1);
      const start = performance.timeOrigin + performance.now();
      mock.grown(session);
      latencies.push(await appeared - start);
    }
    for (let round = 0; round < 100; round++) {
      session.add(20);
      mock.grown(session);
      await page.waitForTimeout(60);
    }
    await page.locator(`.transcript [data-item="${session.kinds.length - 1}"]`).waitFor();
    await page.waitForTimeout(2500);
    const growth = await heap() - before;
    assert.ok(growth <= 5, `the heap grew by ${growth} MB`);
    await close();
    latencies.sort((one, other) => one - other);
    return `median ${latencies[10].toFixed(0)} ms, slowest ${latencies[19].toFixed(0)} ms, heap ${growth >= 0 ? '+' : ''}${growth.toFixed(1)} MB`;
  }],
  ['scroll: 100 prepends move nothing', async (stage) => {
    const { page, mock, session, close } = await open(stage, { rows: 5_000 });
    await middle(page);
    const text = () => page.evaluate(() => {
      const { top, bottom } = window.screenOf().getBoundingClientRect();
      return [...document.querySelectorAll('.transcript .prose p')].map((part) => [part.textContent.split(' ')[0], part.getBoundingClientRect().top]).filter(([, y]) => y > top + 30 && y < bottom);
    });
    const before = new Map(await text());
    for (let round = 0; round < 100; round++) {
      session.prepend(10);
      mock.grown(session);
      if (round % 5 === 0) await page.waitForTimeout(90);
    }
    await page.waitForTimeout(1200);
    const after = await text();
    const same = after.filter(([key]) => before.has(key));
    assert.ok(same.length > 3, `only ${same.length} texts are left on the screen`);
    for (const [key, y] of same) assert.ok(Math.abs(y - before.get(key)) <= 1, `${key} moved by ${y - before.get(key)}`);
    await close();
  }],
  ['scroll: opening cards, a smaller window, another density and a larger font keep the row at the top', async (stage) => {
    const { page, close } = await open(stage, { rows: 20_000 });
    await middle(page);
    for (const [what, change] of [
      ['an open card', async () => { await page.locator('.transcript .card-head:visible').nth(8).click(); await page.locator('.transcript .card-body .block').first().waitFor(); }],
      ['a narrower window', () => page.setViewportSize({ width: 1200, height: 900 })],
      ['a lower window', () => page.setViewportSize({ width: 1200, height: 700 })],
      ['another density', () => page.locator('.settings select').nth(1).selectOption('compact')],
      ['a larger font', () => page.evaluate(() => { document.documentElement.style.fontSize = '17px'; })],
      ['no inspector', () => page.evaluate(() => { document.activeElement.blur(); document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'i', bubbles: true })); })],
    ]) {
      const [key, y] = await page.evaluate(() => window.rowsOnScreen()[0]);
      await change();
      await page.waitForTimeout(400);
      const now = new Map(await page.evaluate(() => window.rowsOnScreen()));
      assert.ok(now.has(key), `${what}: the row at the top has left the screen`);
      assert.ok(Math.abs(now.get(key) - y) <= 2, `${what} moved the row at the top by ${now.get(key) - y}`);
    }
    await close();
  }],
  ['scroll: 500 steps with j and k go through the rows one by one', async (stage) => {
    const { page, close } = await open(stage, { rows: 20_000 });
    const at = () => page.evaluate(() => Number(document.querySelector('.transcript [aria-current=true]')?.getAttribute('aria-posinset')));
    await page.keyboard.press('j');
    const start = await at();
    for (let step = 0; step < 250; step++) await page.keyboard.press('j');
    assert.equal(await at(), start + 250);
    for (let step = 0; step < 250; step++) await page.keyboard.press('k');
    assert.equal(await at(), start);
    await close();
  }],
  ['scroll: a list that is higher than browsers can show reaches both ends and everything between', async (stage) => {
    const { page, close } = await open(stage, { rows: 600_000 });
    const height = await page.evaluate(() => window.screenOf().scrollHeight);
    assert.ok(height > 14_000_000 && height <= 15_000_001, `${height}`);
    await page.keyboard.press('G');
    await page.locator('.transcript .prose p', { hasText: '599999.' }).first().waitFor();
    await page.evaluate(() => { location.hash = '#L300001'; });
    await page.locator('.transcript .prose p', { hasText: '300000.0' }).first().waitFor();
    await page.mouse.move(600, 500);
    await page.evaluate(() => window.startWatch());
    for (let step = 0; step < 100; step++) await page.mouse.wheel(0, step % 2 ? 200 : 300);
    await page.waitForTimeout(500);
    const { frames: seen } = await page.evaluate(() => window.stopWatch());
    assert.equal(seen.filter(([, high]) => high > 1).length, 0, 'a row moved backward');
    await page.evaluate(() => { window.screenOf().scrollTop = 0; });
    await page.locator('.transcript [aria-posinset="1"]').waitFor();
    await close();
  }],
  ['scroll: the place is kept on reload, and by the back button', async (stage) => {
    const { page, close } = await open(stage, { rows: 20_000 });
    await middle(page);
    const before = await page.evaluate(() => window.rowsOnScreen());
    await page.reload();
    await page.locator('.transcript .card').first().waitFor();
    await page.waitForTimeout(500);
    await unmoved(page, before, 'reload', 2);
    await page.locator('.bar nav a').first().click();
    await page.locator('.session').first().waitFor();
    await page.goBack();
    await page.locator('.transcript .card').first().waitFor();
    await page.waitForTimeout(500);
    await unmoved(page, before, 'back', 2);
    await close();
  }],
];
