// The places of the viewer against the mock: what is shown, keys, links, actions, safety, accessibility.
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { visit } from './browser.mjs';
import { Mock, MockSession, assets } from './mock.mjs';

const FIRST = '11111111-0000-4000-8000-000000000001';
const HOSTILE = '33333333-0000-4000-8000-000000000003';
const BOUNDARY = '11111111-0000-4000-8000-000000000020';
const compact = (session) => { session.kinds[20] = 'k'; session.compaction = 20; };
const TOKEN = 'token=a-token-for-the-tests';

async function open({ browser, dist }, path = '/', { readOnly = false, more = 0, change, ...options } = {}) {
  const hostile = Object.assign(new MockSession(HOSTILE, 30, '<img src=x onerror=window.hacked=9>\u202e'), { isHostile: true });
  const others = Array.from({ length: more }, (_, index) => new MockSession(`44444444-0000-4000-8000-${String(index).padStart(12, '0')}`, 5, `Session ${index}`));
  const sessions = [new MockSession(FIRST, 400, 'Fix the parser for glued records'), hostile, ...others];
  change?.(sessions[0]);
  const mock = await new Mock({ dist, sessions, readOnly }).start();
  const page = await visit(browser, options);
  // A redirect of the server replaces the fragment, so it is added behind the sign-in.
  const [address, hash] = path.split('#');
  await page.goto(`${mock.url}${address}${address.includes('?') ? '&' : '?'}${TOKEN}`);
  if (hash) {
    await page.locator('.transcript .row').first().waitFor();
    await page.evaluate((hash) => { location.hash = hash; }, hash);
  }
  const close = async () => {
    assert.deepEqual(page.wrong, []);
    await page.context().close();
    mock.stop();
  };
  return { page, mock, close };
}

const rowText = (page, text) => page.locator('.transcript .row', { hasText: text }).first();

export const checks = [
  ['size: the first load is at most 60 kB of script and 12 kB of style', ({ dist }) => {
    const sizes = { js: 0, css: 0 };
    const page = readFileSync(join(dist, 'index.html'), 'utf8');
    // What the page does not name is loaded when it is needed.
    for (const [name, contents] of assets(dist).filter(([name]) => page.includes(name))) sizes[name.split('.').pop()] += gzipSync(contents).length;
    assert.ok(sizes.js > 0 && sizes.css > 0);
    // A page in Chinese loads its texts before it shows anything.
    const [[, chinese]] = assets(dist).filter(([name]) => /^zh-.*js$/.test(name));
    const all = sizes.js + gzipSync(chinese).length;
    assert.ok(all <= 60_000 && sizes.css <= 12_000, JSON.stringify({ ...sizes, all }));
    return `${(sizes.js / 1000).toFixed(1)} kB script (${(all / 1000).toFixed(1)} in Chinese), ${(sizes.css / 1000).toFixed(1)} kB style, gzip`;
  }],
  ['sessions: listed, filtered by the address, moved through and opened by keys, live', async (stage) => {
    const { page, mock, close } = await open(stage);
    await page.locator('.session').nth(1).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('glued');
    await page.waitForFunction(() => document.querySelectorAll('.session').length === 1);
    assert.equal(new URL(page.url()).searchParams.get('q'), 'glued');
    await page.reload();
    await page.waitForFunction(() => document.querySelectorAll('.session').length === 1);
    await page.locator('.filters input[type=search]').fill('');
    await page.waitForFunction(() => document.querySelectorAll('.session').length === 2);
    mock.sessions.get(FIRST).title = 'Another title';
    mock.grown(mock.sessions.get(FIRST));
    await page.locator('.session', { hasText: 'Another title' }).waitFor();
    await page.locator('.screen').first().focus();
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/s\//);
    await close();
  }],
  ['sessions: 10,000 of them scroll, and only those on the screen are elements', async (stage) => {
    const { page, close } = await open(stage, '/', { more: 10_000 });
    await page.locator('.count', { hasText: '10,002' }).waitFor();
    const whole = await page.evaluate(() => performance.now());
    assert.ok(await page.locator('.session').count() < 60);
    const [entry] = await page.evaluate(() => performance.getEntriesByType('paint').filter(({ name }) => name === 'first-contentful-paint').map(({ startTime }) => startTime));
    await page.locator('.screen').first().focus();
    await page.keyboard.press('G');
    await page.locator('.session', { hasText: 'Session 9999' }).waitFor();
    await close();
    return `first paint ${entry.toFixed(0)} ms, all 10,002 listed within ${whole.toFixed(0)} ms`;
  }],
  ['conversation: four reading levels, fold lines, failed calls stay visible', async (stage) => {
    const { page, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('.card').first().waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('g');
    await rowText(page, 'cargo test').waitFor();
    await page.keyboard.press('1');
    await page.waitForFunction(() => document.querySelectorAll('.transcript .fold[aria-expanded=false]').length > 2);
    assert.equal(await page.locator('.transcript .card:not([data-state=error])').count(), 0, 'calls are folded');
    await page.keyboard.press('e');
    await page.locator('.transcript [aria-current=true] .card[data-state=error] .reason').waitFor();
    await page.keyboard.press('4');
    await page.locator('.transcript .raw').first().waitFor();
    await page.locator('.transcript .raw b', { hasText: /^reply$/ }).first().waitFor();
    await page.locator('.transcript .raw b', { hasText: /^thinking$/ }).first().waitFor();
    assert.equal(new URL(page.url()).searchParams.get('view'), 'raw');
    await page.locator('.transcript .raw .card-head').first().click();
    await page.locator('.transcript .raw .block', { hasText: '<b>raw</b>' }).waitFor();
    await page.keyboard.press('3');
    await page.locator('.transcript .model').first().waitFor();
    await page.locator('.model-note', { hasText: '40 messages' }).waitFor();
    await page.keyboard.press('2');
    await page.locator('.transcript .card').first().waitFor();
    await close();
  }],
  ['conversation: rows of context that follow each other are one line, which a click, a key or a link to one of them opens', async (stage) => {
    const change = (session) => { session.kinds.splice(2, 3, 'x', 'x', 'x'); session.kinds.splice(12, 3, 'x', 'x', 'x'); };
    const { page, close } = await open(stage, `/s/${FIRST}`, { change });
    const [first, second] = [page.locator('.transcript .row.k-x', { hasText: '3 notes' }).first(), page.locator('.transcript .row[data-item="12"]')];
    await first.locator('.title', { hasText: 'x 2 ' }).filter({ hasText: 'x 4 ' }).waitFor();
    assert.equal(await page.locator('.transcript .row.k-x').count(), 2);
    await first.locator('button').click();
    await page.waitForFunction(() => document.querySelectorAll('.transcript .row.k-x').length === 4);
    await page.evaluate((hash) => { location.hash = hash; }, '11111111-0000-4000-8000-000000000013');
    await page.locator('.transcript [aria-current=true][data-item="13"]').waitFor();
    await page.locator('.transcript .row.k-x[data-item="14"]').waitFor();
    await second.locator('button[aria-expanded=false]').waitFor();
    await close();
  }],
  ['conversation: e visits each failed call once, J each prompt, c each compaction', async (stage) => {
    const { page, mock, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('.card').first().waitFor();
    const at = () => page.evaluate(() => Number(document.querySelector('.transcript [aria-current=true]')?.dataset.item));
    await page.keyboard.press('g');
    await page.keyboard.press('g');
    const visited = [];
    for (;;) {
      await page.keyboard.press('e');
      const row = await at();
      if (visited.at(-1) === row) break;
      visited.push(row);
    }
    assert.deepEqual(visited, [...mock.sessions.get(FIRST).failed]);
    await page.keyboard.press('g');
    await page.keyboard.press('g');
    await page.keyboard.press('J');
    assert.equal(await at(), 10);
    await page.keyboard.press('K');
    assert.equal(await at(), 0);
    await close();
  }],
  ['conversation: cards open, show the rest on request, diffs side by side', async (stage) => {
    const { page, close } = await open(stage, `/s/${FIRST}#L4`);
    const bash = page.locator('.transcript .card', { hasText: 'cargo test' }).first();
    await bash.locator('.card-head').click();
    await bash.locator('.ansi', { hasText: 'line 19' }).waitFor();
    await bash.locator('.more', { hasText: '792' }).click();
    await bash.locator('.ansi', { hasText: 'more line 811' }).waitFor();
    assert.equal(await bash.locator('.more').count(), 0);
    await bash.locator('.card-head').click();
    assert.equal(await bash.locator('.card-body').count(), 0);
    const edit = page.locator('.transcript .card', { has: page.locator('b', { hasText: 'Edit' }) }).first();
    await edit.locator('.card-head').click();
    await edit.locator('.line.added[data-new="41"]').waitFor();
    await edit.locator('.diff-head button').click();
    await edit.locator('.pair').nth(1).waitFor();
    await close();
  }],
  ['conversation: the rest of an output whose end is shown comes from both of its ends', async (stage) => {
    const change = (session) => { const row = session.row.bind(session); session.row = (number, isOpen) => { const made = row(number, isOpen); return number === 3 && made.output ? { ...made, output: [{ t: 'more', lines: 4980, bytes: 99_000, part: 1, from: 0 }, { t: 'ansi', lines: [['the last line']] }] } : made; }; };
    const { page, mock, close } = await open(stage, `/s/${FIRST}#L4`, { change });
    mock.partLines = 4980;
    mock.mostLines = 400;
    const card = page.locator('.transcript .row[data-item="3"]');
    await card.locator('.card-head').click();
    await card.locator('.more', { hasText: '1,000 of 4,980 lines above' }).click();
    await card.locator('.ansi', { hasText: 'more line 4979' }).waitFor();
    assert.equal(await card.locator('.ansi', { hasText: 'more line 3979' }).count(), 0);
    await card.locator('.more', { hasText: 'from the start' }).click();
    await card.locator('.ansi', { hasText: 'more line 0' }).first().waitFor();
    const shown = await card.locator('.out').innerText();
    const numbers = [...shown.matchAll(/more line (\d+)/g)].map(([, number]) => Number(number));
    assert.deepEqual(numbers, [...Array.from({ length: 400 }, (_, index) => index), ...Array.from({ length: 1000 }, (_, index) => 3980 + index)], 'in the order of the output');
    await card.locator('.card-actions button', { hasText: 'Copy output' }).click();
    await page.locator('.toasts', { hasText: 'Copied' }).waitFor();
    const copied = (await page.evaluate(() => navigator.clipboard.readText())).split('\n');
    assert.deepEqual([copied.length, copied[0], copied.at(-1)], [4981, 'more line 0', 'the last line']);
    await close();
  }],
  ['outline: the turn that was chosen is the current one, and its prompt is not pinned above itself', async (stage) => {
    const { page, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('.card').first().waitFor();
    for (const turn of [7, 3]) {
      await page.locator('.outline .entry', { has: page.locator('.number', { hasText: new RegExp(`^${turn}$`) }) }).click();
      await page.locator('.outline .entry[aria-current=location] .number', { hasText: new RegExp(`^${turn}$`) }).waitFor();
      assert.equal(await page.locator('.pinned').getAttribute('data-hidden'), 'true');
    }
    await close();
  }],
  ['related: a call leads to its prompt, to the last read and edit of its file, and from a failure to the attempt that succeeded', async (stage) => {
    const { page, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('.card').first().waitFor();
    const reaches = (row) => page.waitForFunction((row) => document.querySelector('.transcript [aria-current=true]')?.dataset.item === String(row), row);
    const leads = async (row, words, to) => {
      await page.evaluate(() => { location.hash = '#L1'; });
      await reaches(0);
      await page.evaluate((row) => { location.hash = `#L${row + 1}`; }, row);
      await reaches(row);
      const current = page.locator('.transcript [aria-current=true]');
      if (await current.locator('.card-body').count() === 0) await page.keyboard.press('o');
      if (await current.locator('.related').count() === 0) await current.getByRole('button', { name: 'Related' }).click();
      await current.locator('.related li', { hasText: words }).getByRole('button').click();
      await reaches(to);
    };
    // Rows 6 and 14 edit the file that row 13 reads; row 53 reads it and fails, and row 57 reads it again.
    await leads(14, 'the prompt of this turn', 10);
    await leads(14, 'the last time this file was read', 13);
    await leads(14, 'the edit of this file before', 6);
    await leads(53, 'the next attempt that succeeded', 57);
    await leads(57, 'the attempt before this one', 53);
    await close();
  }],
  ['conversation: f goes through the edits of a file, also where rows are not loaded; m and \' remember a row', async (stage) => {
    const { page, mock, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('.card').first().waitFor();
    const at = () => page.evaluate(() => Number(document.querySelector('.transcript [aria-current=true]')?.dataset.item));
    const reaches = (row) => page.waitForFunction((row) => document.querySelector('.transcript [aria-current=true]')?.dataset.item === String(row), row);
    const edits = mock.sessions.get(FIRST).kinds.flatMap((kind, row) => (kind === 'c' && row % 4 === 2 && !mock.sessions.get(FIRST).failed.has(row) ? [row] : []));
    await page.keyboard.press('g');
    await page.keyboard.press('g');
    await page.keyboard.press('f');
    await page.locator('.toasts', { hasText: 'Choose a row with a file first' }).waitFor();
    await page.evaluate((hash) => { location.hash = hash; }, `#L${edits[0] + 1}`);
    await reaches(edits[0]);
    await page.keyboard.press('m');
    await page.locator('.toasts', { hasText: 'Marked' }).waitFor();
    for (const row of edits.slice(1, 12)) {
      await page.keyboard.press('f');
      await reaches(row);
    }
    await page.keyboard.press('F');
    await reaches(edits[10]);
    await page.reload();
    await page.locator('.card').first().waitFor();
    await page.keyboard.press("'");
    await reaches(edits[0]);
    await page.keyboard.press('F');
    await page.locator('.toasts', { hasText: 'none in this direction' }).waitFor();
    assert.equal(await at(), edits[0]);
    await close();
  }],
  ['conversation: the rows of a subagent are in the card of its call, and only those on the screen are elements', async (stage) => {
    const agent = new MockSession(FIRST, 3000, 'agent');
    const { page, mock, close } = await open(stage, `/s/${FIRST}#L4`, { change: (session) => { session.agentRow = 3; } });
    mock.agents = new Map([['a1', agent]]);
    const card = page.locator('.transcript .row[data-item="3"]').first();
    await card.locator('.card-head').first().click();
    const inner = card.locator('.inline-agent');
    await inner.locator('.prompt', { hasText: '0.0' }).first().waitFor();
    // No person wrote what a subagent was asked to do.
    assert.equal(await inner.locator('.prompt header b').first().textContent(), 'Task');
    await inner.locator('.card').first().waitFor();
    assert.equal(mock.streams.size, 2, 'a subagent in a card has no connection of its own');
    const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
    assert.ok(nodes < 3000, `${nodes} nodes`);
    await inner.locator('.screen').evaluate((screen) => { screen.scrollTop = screen.scrollHeight; });
    await inner.locator('.prose p', { hasText: /^29\d\d\./ }).first().waitFor();
    await inner.locator('.card .card-head').first().click();
    await inner.locator('.card-body').first().waitFor();
    agent.add(4);
    mock.grown(mock.sessions.get(FIRST));
    mock.sessions.get(FIRST).add(1);
    mock.grown(mock.sessions.get(FIRST));
    await inner.locator('article[aria-setsize]').first().waitFor();
    await page.waitForFunction(() => Number(document.querySelector('.inline-agent article').getAttribute('aria-setsize')) > 3000);
    // A card that leaves the screen and comes back has its rows again.
    await page.keyboard.press('G');
    await page.locator('.inline-agent').waitFor({ state: 'detached' });
    await page.evaluate(() => { location.hash = '#L1'; });
    await page.locator('.inline-agent .row').first().waitFor();
    await close();
  }],
  ['split: a session, a subagent or a file stands beside the conversation, in the address, on a wide window', async (stage) => {
    const { page, mock, close } = await open(stage, `/s/${FIRST}#L4`, { change: (session) => { session.agentRow = 3; } });
    mock.agents = new Map([['a1', new MockSession(FIRST, 20, 'agent')]]);
    const beside = page.locator('.beside');
    await page.waitForFunction(() => document.querySelector('.transcript [aria-current=true]')?.dataset.item === '3');
    await page.keyboard.press('\\');
    await beside.locator('.transcript .prompt').first().waitFor();
    assert.equal(new URL(page.url()).searchParams.get('beside'), 'agent:a1');
    await page.keyboard.press('\\');
    await beside.waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('g');
    await page.keyboard.press('\\');
    await beside.locator('.chooser li a', { hasText: 'onerror' }).click();
    await beside.locator('.transcript .row').first().waitFor();
    await page.reload();
    await beside.locator('.transcript .row').first().waitFor();
    assert.equal(await page.locator('main .transcript, main.transcript').count(), 1, 'one main part');
    await page.keyboard.press('j');
    assert.equal(await beside.locator('[aria-current=true]').count(), 0, 'keys belong to the conversation');
    await beside.locator('button[aria-label=Close]').click();
    await beside.waitFor({ state: 'detached' });
    await page.evaluate(() => { location.hash = '#L3'; });
    const row = page.locator('.transcript .row[data-item="2"]');
    await row.locator('.card-head').click();
    await row.locator('.sheet-link', { hasText: 'Beside' }).click();
    await beside.locator('.moment').first().waitFor();
    assert.equal(await page.locator('dialog[open]').count(), 0);
    await page.setViewportSize({ width: 1000, height: 800 });
    await beside.waitFor({ state: 'detached' });
    await page.keyboard.press('\\');
    await page.keyboard.press('\\');
    await page.locator('.toasts', { hasText: 'too narrow' }).waitFor();
    await close();
  }],
  ['keys: a reader changes them, they stay in this browser, and all of them can be reset', async (stage) => {
    const { page, mock, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('.card').first().waitFor();
    const at = () => page.evaluate(() => Number(document.querySelector('.transcript [aria-current=true]')?.dataset.item));
    const change = async (name, ...keys) => {
      await page.locator('.help div', { hasText: name }).first().locator('button').click();
      for (const key of keys) await page.keyboard.press(key);
    };
    await page.keyboard.press('?');
    await change('Next prompt', 'q');
    await page.locator('.help', { hasText: 'Next prompt: q' }).waitFor();
    await change('Previous prompt', 'g', 'q');
    await page.locator('.help', { hasText: 'Previous prompt: g q' }).waitFor();
    await change('Next error', 'j');
    await page.locator('.help', { hasText: 'j no longer calls: Next row' }).waitFor();
    await change('Start', 'Escape');
    await page.locator('.help').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.help').waitFor({ state: 'detached' });
    await page.reload();
    await page.locator('.card').first().waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('g');
    await page.keyboard.press('q');
    assert.equal(await at(), 10);
    await page.keyboard.press('g');
    await page.keyboard.press('q');
    assert.equal(await at(), 0);
    await page.keyboard.press('j');
    assert.equal(await at(), Math.min(...mock.sessions.get(FIRST).failed.keys()));
    await page.keyboard.press('?');
    await page.locator('.help button', { hasText: 'Reset all' }).click();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('g');
    await page.keyboard.press('J');
    assert.equal(await at(), 10);
    assert.equal(await page.evaluate(() => localStorage.getItem('annals-keys')), null);
    await close();
  }],
  ['conversation: a link leads to its record, and the copied link back', async (stage) => {
    const { page, mock, close } = await open(stage, `/s/${FIRST}#11111111-0000-4000-8000-000000000123`);
    await page.waitForFunction(() => document.querySelector('.transcript [aria-current=true]')?.dataset.item === '123');
    await page.keyboard.press('y');
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, `${mock.url}/s/${FIRST}#11111111-0000-4000-8000-000000000123`);
    await close();
  }],
  ['conversation: find counts, opens the card of a hit, and closes it again', async (stage) => {
    const { page, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('.card').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('line');
    await page.locator('.find .count', { hasText: '0 of 4' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.find .count', { hasText: '1 of 4' }).waitFor();
    await page.locator('.transcript [aria-current=true] .card-body').waitFor();
    await page.waitForFunction(() => CSS.highlights.get('found')?.size > 3);
    await page.keyboard.press('Enter');
    await page.locator('.find .count', { hasText: '2 of 4' }).waitFor();
    assert.equal(await page.locator('.transcript .card-body').count(), 0);
    await page.keyboard.press('Shift+Enter');
    await page.locator('.find .count', { hasText: '1 of 4' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.find').waitFor({ state: 'detached' });
    await close();
  }],
  ['conversation: the inspector lists calls, filters them, and leads to them', async (stage) => {
    const { page, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('.call-row').first().waitFor();
    await page.locator('.calls input').fill('tool:edit slower:3s');
    await page.waitForFunction(() => [...document.querySelectorAll('.call-row b')].every((name) => name.textContent === 'Edit'));
    await page.locator('.call-row').first().click();
    await page.locator('.transcript [aria-current=true] .card', { hasText: 'Edit' }).waitFor();
    await page.locator('#tab-calls').press('ArrowRight');
    await page.locator('.files', { hasText: 'read.rs' }).waitFor();
    await page.locator('#tab-context').click();
    await page.locator('.session-usage', { hasText: '44 %' }).waitFor();
    await page.locator('#tab-usage').click();
    await page.locator('.session-usage', { hasText: '$1.25' }).waitFor();
    await close();
  }],
  ['compaction: before and after in two columns, what was kept and what the summary stands for', async (stage) => {
    const { page, mock, close } = await open(stage, `/s/${FIRST}#L21`, { change: compact });
    await page.locator('.compaction .sheet-link').first().click();
    await page.locator('.sheet .column').nth(1).waitFor();
    assert.deepEqual(await page.locator('.column').first().locator('.fate').allTextContents(), ['in the summary', 'in the summary', 'kept']);
    assert.deepEqual(await page.locator('.column').nth(1).locator('.fate').allTextContents(), ['summary', 'added']);
    await page.locator('.column pre', { hasText: 'SUMMARY of what was said' }).waitFor();
    const asked = mock.calls.filter(({ method }) => method === 'history/load').map(({ params }) => params.lastLine);
    assert.deepEqual(asked, [20, 21], 'the session before the compaction, and before the first reply behind it');
    await page.reload();
    await page.locator('.sheet .column').nth(1).waitFor();
    await page.locator('.read-again li', { hasText: 'read.rs' }).locator('button').click();
    await page.locator('.sheet').waitFor({ state: 'detached' });
    assert.equal(new URL(page.url()).search, '');
    await close();
  }],
  ['branches: the one that was left beside the live conversation, from the mark of the fork', async (stage) => {
    const { page, close } = await open(stage, `/s/${FIRST}#L21`, { change: (session) => session.fork(20) });
    await page.locator('.mark.branch .sheet-link').first().click();
    const [left, live] = [page.locator('.column').first(), page.locator('.column').nth(1)];
    await left.locator('.prompt', { hasText: '21.0' }).waitFor();
    assert.equal(await left.locator('.card-head').count(), 2);
    await live.locator('.answer', { hasText: '25.0' }).waitFor();
    assert.equal(await live.locator('text=21.0').count(), 0);
    await live.locator('.more').click();
    await page.waitForFunction(() => document.querySelectorAll('.column')[1].querySelectorAll('.prompt').length > 5);
    await left.locator('.link').first().click();
    await page.waitForFunction(() => document.querySelector('.transcript [aria-current=true]')?.dataset.item === '21');
    await page.keyboard.press('k');
    await page.keyboard.press('d');
    await page.locator('.sheet').waitFor();
    await page.keyboard.press('j');
    assert.equal(await page.locator('.transcript [aria-current=true]').getAttribute('data-item'), '20', 'keys do not move what is covered');
    await page.keyboard.press('Escape');
    await page.locator('.sheet').waitFor({ state: 'detached' });
    await close();
  }],
  ['files: each read, edit and copy of a file in order, with its content and its changes', async (stage) => {
    const { page, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('#tab-files').click();
    await page.locator('.files a', { hasText: 'read.rs' }).click();
    await page.locator('.moment').nth(3).waitFor();
    const versions = page.locator('.moment[data-kind=version]');
    assert.equal(await versions.count(), 2);
    await versions.nth(1).click();
    await page.locator('.moment-view .line.added', { hasText: 'version 2' }).waitFor();
    await page.locator('.moment-view .levels button').nth(1).click();
    await page.locator('.moment-view .block', { hasText: 'whole version 2' }).waitFor();
    await page.locator('.moments input').fill('0');
    await page.locator('.moment').first().and(page.locator('[aria-current]')).waitFor();
    await page.locator('.moment[data-kind=edit]').first().click();
    await page.locator('.moment-view .diff').waitFor();
    await page.locator('.moment-view .link').click();
    await page.locator('.transcript [aria-current=true] .card', { hasText: 'Edit' }).waitFor();
    await close();
  }],
  ['files: the history of a file over all sessions that name it, on one lane', async (stage) => {
    const { page, mock, close } = await open(stage, `/s/${FIRST}?file=/home/mia/annals/src/read.rs`, { more: 2 });
    await page.locator('.moment').nth(3).waitFor();
    const own = await page.locator('.moment').count();
    await page.locator('.across button').click();
    await page.locator('.across', { hasText: 'with 3 other sessions' }).waitFor();
    assert.ok(await page.locator('.moment').count() > own);
    assert.deepEqual(mock.calls.filter(({ params }) => params.filePath).map(({ params }) => params.filePath), ['/home/mia/annals/src/read.rs']);
    await page.locator('.moment-session', { hasText: 'Session 1' }).first().waitFor();
    const other = page.locator('li', { has: page.locator('.moment-session', { hasText: 'Session 1' }) }).first().locator('.moment');
    await other.click();
    await page.locator('.moment-view a', { hasText: 'Session 1' }).click();
    await page.waitForURL(/\/s\/44444444-0000-4000-8000-000000000001/);
    await close();
  }],
  ['model: a slider shows what a resume would have sent earlier, and the address keeps it', async (stage) => {
    const { page, close } = await open(stage, `/s/${FIRST}?view=model`);
    await page.locator('.model-note', { hasText: '40 messages' }).waitFor();
    await page.locator('.model-note input').focus();
    await page.locator('.model-note input').fill('20');
    await page.locator('.model-note', { hasText: 'would have sent then' }).waitFor();
    await page.locator('.transcript .model[aria-setsize="3"]').first().waitFor();
    assert.equal(new URL(page.url()).searchParams.get('until'), '21');
    await page.reload();
    await page.locator('.transcript .model[aria-setsize="3"]').first().waitFor();
    await page.locator('.model-note button').click();
    await page.locator('.model-note', { hasText: '40 messages' }).waitFor();
    await close();
  }],
  ['live: a running turn shows that it runs, and several writers are flagged', async (stage) => {
    const { page, mock, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('.card').first().waitFor();
    assert.equal(await page.locator('.running-turn').count(), 0, 'the last turn is answered');
    const session = mock.sessions.get(FIRST);
    session.add(3);
    session.writers = 2;
    mock.grown(session);
    await page.locator('.running-turn', { hasText: 'Turn 41' }).waitFor();
    await page.locator('.conversation-head', { hasText: '2 writers' }).waitFor();
    session.add(7);
    mock.grown(session);
    await page.locator('.running-turn').waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.locator('.session[data-status=error] .status', { hasText: '⚠' }).waitFor();
    await close();
  }],
  ['sessions: filtered by what only whole files tell, while they are read', async (stage) => {
    const { page, mock, close } = await open(stage, '/', { more: 30 });
    await page.locator('.has .chip', { hasText: 'problems' }).click();
    await page.waitForFunction(() => document.querySelectorAll('.session').length === 1);
    await page.locator('.count', { hasText: '1 session' }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('has'), 'damage');
    await page.waitForFunction(() => !document.querySelector('.count').textContent.includes('read'));
    assert.equal(new Set(mock.calls.filter(({ method }) => method === 'history/stats').map(({ params }) => params.sessionId)).size, 32);
    await page.locator('.has .chip', { hasText: 'problems' }).click();
    await page.locator('.count', { hasText: '32 sessions' }).waitFor();
    await close();
  }],
  ['sessions: how full the context is, what was edited; no figure where there is none', async (stage) => {
    const { page, close } = await open(stage);
    const [first, hostile] = [page.locator('.session').nth(0), page.locator('.session').nth(1)];
    await first.locator('.fill').waitFor();
    assert.match(await first.innerText(), /3 files\s+\+1.2k −12\s+≈ 87 %/);
    assert.equal(await first.locator('[title^="≈ 87 % of the context is full: 174k of ≈ 200k tokens"]').count(), 1);
    assert.equal(await first.locator('.fill[data-full] > span').evaluate((bar) => bar.style.width), '87%');
    await hostile.locator('.marks .failed').waitFor();
    assert.equal(await hostile.locator('.fill').count(), 0);
    await close();
  }],
  ['sessions: filtered by copies, by pauses and by stars, which stay in the browser', async (stage) => {
    const { page, mock, close } = await open(stage, '/', { more: 3 });
    const path = (session) => `/home/mia/.claude/projects/x/${session}.jsonl`;
    mock.groups = [[path(FIRST), path('44444444-0000-4000-8000-000000000001')]];
    const chip = (name) => page.locator('.has .chip', { hasText: name });
    const listed = (count) => page.locator('.count', { hasText: new RegExp(`^${count} sessions?$`) }).waitFor();
    await listed(5);
    assert.equal(mock.calls.filter(({ method }) => method === 'history/copies').length, 0, 'files are read for it, so only when asked');
    await chip('copies').click();
    await listed(2);
    await page.locator('.session .marks [title="has entries in common with 1 other session"]').nth(1).waitFor();
    await chip('pauses').click();
    await listed(2);
    await chip('copies').click();
    await listed(4);
    await page.locator('.session .marks [title="2 pauses of half an hour or longer"]').first().waitFor();
    await chip('pauses').click();
    await listed(5);
    await page.locator('.screen').first().focus();
    await page.keyboard.press('j');
    await page.keyboard.press('s');
    await page.locator('.session .star').waitFor();
    await chip('stars').click();
    await listed(1);
    await page.reload();
    await page.locator('.session .star').waitFor();
    await page.keyboard.press('s');
    await listed(0);
    assert.ok(mock.calls.every(({ params }) => !JSON.stringify(params).includes('star')), 'the server is not told');
    await close();
  }],
  ['copies: a line where they end, with links; also where the row is folded', async (stage) => {
    const other = '44444444-0000-4000-8000-000000000000';
    const relation = (session, kinship, row) => ({ session, path: `/home/mia/.claude/projects/x/${session}.jsonl`, kinship, shared: 7, lastShared: `11111111-0000-4000-8000-${String(row).padStart(12, '0')}` });
    const { page, close } = await open(stage, `/s/${FIRST}`, { more: 1, change: (session) => { session.copies = [relation(other, 'copy', 7), relation(HOSTILE, 'origin', 7), relation('gone', 'twin', 999_999)]; } });
    const line = page.locator('.mark.copies');
    await line.waitFor();
    assert.match(await line.innerText(), /up to here also in 2 sessions: Session 0 \(a copy\), <img src=x onerror=window.hacked=9>⟨202E⟩ \(the original\)/);
    assert.equal(await page.evaluate(() => document.querySelector('.mark.copies').previousElementSibling.dataset.item), '7');
    const ticks = () => page.evaluate(() => {
      const canvas = document.querySelector('.rail canvas');
      const { data } = canvas.getContext('2d').getImageData(0, Math.floor((7 / 400) * (canvas.height - 2)), 1, 1);
      return data[3];
    });
    assert.equal(await ticks(), 255, 'a tick on the rail');
    await page.keyboard.press('1');
    await page.locator('.transcript .fold[aria-expanded=false]').first().waitFor();
    assert.ok(await page.evaluate(() => Number(document.querySelector('.mark.copies').previousElementSibling.dataset.item)) < 0, 'behind the fold line that hides it');
    await line.locator('a').first().click();
    await page.waitForURL(new RegExp(`/s/${other}\\?in=`));
    await close();
  }],
  ['find: hits in subagents are counted apart, and lead there', async (stage) => {
    const { page, mock, close } = await open(stage, `/s/${FIRST}`);
    mock.agentHits = 2;
    await page.locator('.card').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('line');
    await page.locator('.find .count', { hasText: '0 of 4' }).waitFor();
    await page.locator('.find a', { hasText: '2 hits in subagents' }).click();
    await page.waitForURL(/agent=a1.*find=line/);
    await close();
  }],
  ['search: hits by session, a preview of the chosen one, facets in the address', async (stage) => {
    const { page, close } = await open(stage, '/search');
    await page.locator('.filters input[type=search]').fill('line');
    await page.locator('.hit mark').first().waitFor();
    await page.locator('.hit').first().click();
    await page.locator('.preview .card-body').waitFor();
    await page.locator('.facets .chip', { hasText: 'tool output' }).click();
    assert.equal(new URL(page.url()).searchParams.get('in'), 'output');
    await page.locator('.hit').nth(1).click();
    await page.locator('.hit').nth(1).click();
    await page.waitForURL(/\/s\/.*find=line/);
    await close();
  }],
  ['usage: a plot with the table behind it, and each sum leads to its replies', async (stage) => {
    const { page, close } = await open(stage, '/usage');
    await page.locator('.plot rect.part').first().waitFor();
    assert.equal(await page.locator('.numbers').first().locator('tbody tr').count(), 14);
    await page.locator('.levels button', { hasText: 'Tokens' }).click();
    assert.equal(new URL(page.url()).searchParams.get('what'), 'tokens');
    await page.locator('.insight', { hasText: 'file not found' }).waitFor();
    assert.equal(await page.locator('.hours rect').count(), 7 * 24);
    await page.locator('.numbers').first().locator('tbody td a').nth(2).click();
    assert.equal(new URL(page.url()).searchParams.get('why'), '2026-11-03');
    await page.locator('#replies', { hasText: 'the 1 most expensive of 1,200 replies' }).waitFor();
    await page.locator('#replies tbody a').click();
    await page.waitForURL(/\/s\/.*#L31/);
    await page.waitForFunction(() => document.querySelector('.transcript [aria-current=true]')?.dataset.item === '30');
    await close();
  }],
  ['health: findings lead to their lines; the trash gives sessions back', async (stage) => {
    const { page, mock, close } = await open(stage, '/health');
    await page.locator('.findings a', { hasText: 'line 8112' }).waitFor();
    await page.locator('h2', { hasText: '1 error and 0 warnings in 1 session' }).waitFor();
    assert.equal(mock.calls.filter(({ method }) => method === 'history/repair').length, 0, 'a plan is made on request');
    await page.locator('button', { hasText: 'Show the plan' }).click();
    const plan = page.locator('.repair-plan');
    await plan.locator('li', { hasText: 'lines 10, 11, 12, 13, 14 and 2 more: its parent is not in the file' }).waitFor();
    await plan.locator('li', { hasText: '1 new line: a new entry' }).waitFor();
    await plan.locator('dd', { hasText: 'restores 3 messages and loses 42; the request would be refused: thinking-signature' }).waitFor();
    await plan.locator('dd', { hasText: /^Claude Code restores 45 messages$/ }).waitFor();
    await plan.locator('code', { hasText: `annals repair ${FIRST} --branch b-1` }).waitFor();
    await plan.locator('.plan', { hasText: '--apply' }).locator('button').click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `annals repair ${FIRST} --apply`);
    await page.locator('button', { hasText: 'Hide the plan' }).click();
    await plan.locator('li').first().waitFor({ state: 'detached' });
    const checked = () => mock.calls.filter(({ method }) => method === 'history/check').length;
    await page.locator('button', { hasText: 'Check all' }).click();
    await page.locator('.check-bar', { hasText: '2 of 2 sessions checked' }).waitFor();
    assert.equal(checked(), 4);
    await close();
  }],
  ['actions: rename, archive, delete and undo; none of them when read-only', async (stage) => {
    const { page, mock, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('.menu-box > button').click();
    await page.locator('.menu button', { hasText: 'Rename' }).click();
    await page.locator('.ask input').fill('New title 新');
    await page.keyboard.press('Enter');
    await page.locator('.toasts', { hasText: 'Renamed' }).waitFor();
    assert.equal(mock.sessions.get(FIRST).title, 'New title 新');
    await page.locator('.menu-box > button').click();
    await page.locator('.menu button', { hasText: 'resume' }).click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `cd /home/mia/annals && claude --resume ${FIRST}`);
    await page.locator('.menu-box > button').click();
    await page.locator('.menu button', { hasText: 'Delete' }).click();
    await page.locator('.ask button[type=submit]').click();
    await page.waitForFunction(() => document.querySelectorAll('.session').length === 1);
    assert.ok(!mock.sessions.has(FIRST));
    await page.locator('.toasts button', { hasText: 'Undo' }).click();
    await page.waitForFunction(() => document.querySelectorAll('.session').length === 2);
    assert.ok(mock.sessions.has(FIRST));
    await close();
    const other = await open(stage, `/s/${FIRST}`, { readOnly: true });
    await other.page.locator('.foot', { hasText: 'read-only' }).waitFor();
    await other.page.locator('.menu-box > button').click();
    const entries = await other.page.locator('.menu button').allTextContents();
    assert.deepEqual(entries, ['Copy link', 'Copy resume command', 'Export…']);
    await other.close();
  }],
  ['export: a review before the file is saved; what is missing is said, and half a file is never offered', async (stage) => {
    const { page, mock, close } = await open(stage, `/s/${FIRST}`);
    await page.locator('.transcript .row').first().waitFor();
    const place = { turn: 2, uuid: mock.sessions.get(FIRST).row(10).uuid };
    mock.exported = { file: 'the whole file', report: { rows: 12, leftOut: 2, leftOutAt: [place], masked: 3, rules: [{ rule: 'github-token', count: 2, places: [place] }, { rule: 'url-password', count: 1, places: [{}] }] } };
    await page.keyboard.press('x');
    await page.locator('.sheet input[type=radio]').nth(1).check();
    await page.locator('.sheet input[type=number]').nth(0).fill('2');
    await page.locator('.sheet input[type=number]').nth(1).fill('4');
    await page.locator('.sheet input[type=checkbox]').first().uncheck();
    assert.equal(await page.locator('.review .primary').count(), 0, 'nothing can be saved before the review');
    await page.keyboard.press('Enter');
    await page.locator('.review .primary').waitFor();
    const { params } = mock.calls.find(({ method }) => method === 'export');
    assert.deepEqual(params, { sessionId: FIRST, format: 'md', noThinking: true, noResults: false, subagents: false, fromTurn: 2, toTurn: 4, report: true });
    const review = await page.locator('.review').textContent();
    for (const words of ['2 parts could not be read or masked', '3 values masked', 'github-token', 'url-password', 'Turn 2', 'title and facts', '12 rows']) assert.ok(review.includes(words), `${words}: ${review}`);
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.review .primary').click()]);
    assert.equal(download.suggestedFilename(), 'annals-x.md');
    assert.equal(readFileSync(await download.path(), 'utf8'), 'the whole file');
    // Another choice makes the prepared file void.
    await page.locator('.sheet input[type=checkbox]').first().check();
    assert.equal(await page.locator('.review .primary').count(), 0);
    mock.exported = { file: 'half a file\nwithout its end' };
    await page.locator('.export button[type=submit]').click();
    await page.locator('.review .trouble').waitFor();
    assert.equal(await page.locator('.review .primary').count(), 0);
    await page.keyboard.press('Escape');
    await page.locator('.sheet').waitFor({ state: 'detached' });
    await close();
  }],
  ['palette: Ctrl K finds sessions and commands; ? lists the keys', async (stage) => {
    const { page, close } = await open(stage);
    await page.locator('.session').first().waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('glued');
    await page.locator('.palette [role=option]', { hasText: 'Fix the parser' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/s\//);
    await page.locator('.card').first().waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('u 120');
    await page.locator('.palette [role=option]', { hasText: 'Turn 13' }).click();
    await page.waitForFunction(() => document.querySelector('.transcript [aria-current=true]')?.dataset.item === '120');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('health');
    await page.locator('.palette [role=option]', { hasText: 'Health' }).first().click();
    await page.waitForURL(/\/health/);
    await page.keyboard.press('?');
    await page.locator('.help dt', { hasText: 'Ctrl k' }).waitFor();
    await page.keyboard.press('Escape');
    await close();
  }],
  ['access: a tab without a token asks for the link and returns to the place', async (stage) => {
    const { page, mock, close } = await open(stage);
    await page.locator('.session').first().waitFor();
    const other = await page.context().newPage();
    await other.goto(`${mock.url}/s/${FIRST}?view=read#11111111-0000-4000-8000-000000000100`);
    await other.locator('.sign-in input').fill('nonsense');
    await other.keyboard.press('Enter');
    await other.locator('.sign-in [role=alert]').waitFor();
    await other.locator('.sign-in input').fill(`${mock.url}/?${TOKEN}`);
    await other.keyboard.press('Enter');
    await other.waitForFunction(() => document.querySelector('.transcript [aria-current=true]')?.dataset.item === '100');
    assert.equal(new URL(other.url()).search, '?view=read');
    await close();
  }],
  ['safety: a hostile transcript is text, whatever is opened', async (stage) => {
    const { page, close } = await open(stage, `/s/${HOSTILE}`);
    await page.locator('.transcript .prose', { hasText: '<script>window.hacked' }).first().waitFor();
    await page.keyboard.press('Alt+o');
    for (const head of await page.locator('.transcript .card-head:visible').all()) await head.click().catch(() => undefined);
    await page.waitForTimeout(500);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator('.transcript script, .transcript img, .transcript svg:not(.icon), .transcript iframe, .transcript [onerror], .transcript [onmouseover], .transcript style').count(), 0);
    const links = await page.evaluate(() => [...document.querySelectorAll('.transcript .prose a')].map((link) => [link.href, link.rel, link.target]));
    assert.ok(links.length > 0 && links.every(([href, rel, target]) => href === 'https://example.org/' && rel.includes('noopener') && target === '_blank'), JSON.stringify(links));
    await page.locator('.transcript', { hasText: '⟨202E⟩' }).waitFor();
    await page.evaluate(() => history.pushState(null, '', '/'));
    await page.evaluate(() => dispatchEvent(new PopStateEvent('popstate')));
    await page.locator('.session', { hasText: 'onerror' }).waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await close();
  }],
  ['safety: markup cannot be made from text, even by a mistake of the page', async (stage) => {
    const { page, close } = await open(stage);
    const refused = await page.evaluate(() => { try { document.createElement('div').innerHTML = '<b>x</b>'; return false; } catch { return true; } });
    assert.ok(refused, 'Trusted Types are not enforced');
    page.wrong = page.wrong.filter((text) => !/CSP: require-trusted-types-for|TrustedHTML/.test(text));
    await close();
  }],
  ['accessibility: axe finds nothing in any place, light, dark and high contrast', async (stage) => {
    const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    let count = 0;
    for (const [theme, places] of [['light', ['/', `/s/${FIRST}`, `/s/${FIRST}?view=model`, `/s/${FIRST}?view=raw`, '/search?q=line', '/usage', '/usage?why=2026-11-03', '/health', `/s/${FIRST}?file=/home/mia/annals/src/read.rs`, `/s/${FIRST}?compaction=${BOUNDARY}`]], ['dark', ['/', `/s/${FIRST}`]], ['contrast', ['/', `/s/${FIRST}`]]]) {
      for (const place of places) {
        const { page, close } = await open(stage, place, { change: compact });
        await page.evaluate((theme) => { localStorage.setItem('annals-theme', theme); }, theme);
        await page.reload();
        await page.locator('.session, .row, .hit, .plot, .panel').first().waitFor();
        await page.waitForTimeout(400);
        if (place.startsWith('/s/') && !place.includes('?')) {
          for (const head of (await page.locator('.transcript .card-head:visible').all()).slice(0, 3)) await head.click();
          await page.waitForTimeout(300);
        }
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
        assert.deepEqual(violations.map(({ id, nodes }) => `${theme} ${place} ${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`).join(' | ')}`), []);
        count++;
        await close();
      }
    }
    return `${count} pages`;
  }],
  ['phone: nothing is wider than 360 pixels, all places', async (stage) => {
    for (const place of ['/', `/s/${FIRST}`, `/s/${FIRST}?view=model`, `/s/${FIRST}?compaction=${BOUNDARY}`, `/s/${FIRST}?file=/home/mia/annals/src/read.rs`, `/s/${HOSTILE}`, '/search?q=line', '/usage?why=x', '/health']) {
      const { page, close } = await open(stage, place, { change: compact, viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
      await page.locator('.session, .row, .hit, .plot, .panel').first().waitFor();
      await page.waitForTimeout(400);
      const width = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth));
      assert.ok(width <= 360, `${place}: ${width}`);
      await close();
    }
  }],
  ['zoom: at 200 % nothing is lost, all places', async (stage) => {
    // A window of 1400 by 900 pixels, zoomed: half as many CSS pixels, each twice as large.
    for (const place of ['/', `/s/${FIRST}`, `/s/${FIRST}?view=model`, `/s/${FIRST}?view=raw`, `/s/${FIRST}?compaction=${BOUNDARY}`, `/s/${FIRST}?export=md`, `/s/${FIRST}?file=/home/mia/annals/src/read.rs`, '/search?q=line', '/usage', '/health']) {
      const { page, close } = await open(stage, place, { change: compact, viewport: { width: 700, height: 450 }, deviceScaleFactor: 2 });
      await page.locator('.session, .row, .hit, .plot, .panel').first().waitFor();
      await page.waitForTimeout(300);
      const lost = await page.evaluate(() => {
        const top = document.querySelector('dialog[open]') ?? document.body;
        const found = [];
        if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
        // A control is lost if it is outside of everything that shows or scrolls it.
        for (const control of top.querySelectorAll('button, a[href], input, select, [role=tab]')) {
          if (!control.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
          const name = control.getAttribute('aria-label') ?? control.textContent.slice(0, 30);
          let { left, right } = control.getBoundingClientRect();
          if (right - left < 4) continue;
          let isScrolled = false;
          for (let box = control.parentElement; box; box = box.parentElement) if (/auto|scroll/.test(getComputedStyle(box).overflowX) && box.scrollWidth > box.clientWidth) isScrolled = true;
          if (!isScrolled && (left < -1 || right > innerWidth + 1)) found.push(`${name}: ${left.toFixed(0)} to ${right.toFixed(0)}`);
        }
        const screen = top.querySelector('main .screen');
        if (screen && screen.clientHeight < 150) found.push(`${screen.clientHeight} pixels are left for the text`);
        return found;
      });
      assert.deepEqual(lost, [], place);
      await close();
    }
  }],
  ['language: Chinese from the same catalogue', async (stage) => {
    const { page, close } = await open(stage, '/', { locale: 'zh-CN' });
    await page.locator('.bar nav a', { hasText: '会话' }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh');
    await page.locator('.session').first().click();
    await page.locator('.card .fact', { hasText: '81 行' }).first().waitFor();
    await page.locator('.card', { hasText: 'cargo test' }).locator('.fact', { hasText: '另有 2 行' }).first().waitFor();
    await close();
  }],
  ['language: findings, reasons of repairs and refusals in Chinese; what a newer server adds stays as it is', async (stage) => {
    const { page, mock, close } = await open(stage, '/health', { locale: 'zh-CN' });
    await page.locator('.findings li', { hasText: '最后一行不完整' }).filter({ hasText: '写入者停止时正在写的条目丢失了' }).waitFor();
    await page.locator('.repair-plan button').click();
    await page.locator('.repair-plan li', { hasText: '它的上一条不在文件中' }).waitFor();
    await page.locator('.repair-plan li', { hasText: 'a new entry' }).waitFor();
    await page.locator('.repair-plan dd', { hasText: '思考没有有效的签名' }).waitFor();
    mock.sessions.delete(FIRST);
    await page.evaluate((session) => { history.pushState(null, '', `/s/${session}?view=raw&file=x`); dispatchEvent(new PopStateEvent('popstate')); }, FIRST);
    await page.locator('main', { hasText: '没有使用此标识的会话' }).waitFor();
    mock.refuse = { code: -32012, message: 'the server is read-only' };
    await page.evaluate(() => { history.pushState(null, '', '/search?q=line'); dispatchEvent(new PopStateEvent('popstate')); });
    await page.locator('.trouble', { hasText: '服务器拒绝此操作' }).waitFor();
    assert.equal(await page.locator('.trouble', { hasText: 'read-only' }).count(), 0);
    await close();
  }],
];
