// Drives a real browser through the page of `annals serve`.
import { strict as assert } from 'node:assert';
import { appendFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const told = JSON.parse(process.argv[2]);
const [first, second, third, ...rest] = told.lines;
const scratch = mkdtempSync(join(tmpdir(), 'annals-browser-'));
const browser = await chromium.launch({
  executablePath: (await import('node:child_process')).execFileSync('which', [told.chromium]).toString().trim(),
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});
const write = (...lines) => appendFileSync(told.path, lines.map((line) => `${line}\n`).join(''));
const picture = (page, name) => page.screenshot({ path: join(told.pictures, `${name}.png`) });

/** A page that remembers what went wrong in it. */
async function visit(options) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  const page = await context.newPage();
  page.wrong = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && page.wrong.push(`${message.text()} ${message.location().url}`));
  page.on('pageerror', (error) => page.wrong.push(String(error)));
  await page.addInitScript(() => addEventListener('securitypolicyviolation', (event) => console.error(`CSP: ${event.violatedDirective}`)));
  page.setDefaultTimeout(20_000);
  return page;
}

/** Checks that text stayed text. */
async function unharmed(page) {
  assert.equal(await page.evaluate(() => window.hacked), undefined, 'text of a transcript was run');
  assert.equal(await page.locator('#history img, #history script, #sessions img, #sessions script').count(), 0);
}

try {
  const page = await visit({ colorScheme: 'light' });
  await page.goto(told.url);
  await page.waitForFunction(() => location.href === `${location.origin}/`);
  await page.locator('#sessions a').nth(3).waitFor();
  await page.locator('#link', { hasText: 'live' }).waitFor();
  const all = await page.locator('#sessions a').count();
  await picture(page, 'list-light');

  // With the keyboard alone: search, choose, open.
  await page.keyboard.press('/');
  await page.keyboard.type('敌意');
  await page.waitForFunction(() => document.querySelectorAll('#sessions a').length === 1);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.locator('#history', { hasText: 'That is all.' }).waitFor();
  assert.equal(new URL(page.url()).hash, `#${told.session}`);
  await page.locator('#history', { hasText: "<script>window.hacked = 1</script><img src=x" }).waitFor();
  await unharmed(page);

  // What a person typed is told from what Claude Code added.
  const speakers = await page.locator('#history article > header b').allTextContents();
  assert.deepEqual(speakers, ['You', 'Claude', 'You', 'Output', 'Added by Claude Code', 'Claude']);
  await page.locator('article[data-role=user] .text', { hasText: /^\/rename <script>/ }).waitFor();
  await page.locator('article[data-role=other] summary', { hasText: 'OutputRenamed <script>' }).waitFor();
  await page.locator('article[data-role=other] summary', { hasText: 'Notification of a task' }).waitFor();

  // Folded: thinking, and calls with what came of them.
  assert.equal(await page.locator('details[open]').count(), 0);
  await page.locator('details.thinking summary').press('Enter');
  await page.locator('details.thinking', { hasText: '让我看看' }).waitFor();
  const call = page.locator('details.tool').first();
  assert.deepEqual(await page.locator('details.tool em').allTextContents(), ['ok', 'error', 'ok']);
  await call.locator('summary').click();
  await call.locator('pre', { hasText: 'second line' }).waitFor();
  // A value of ten thousand levels is shown as far as somebody would read it.
  const deep = page.locator('details.tool').nth(2);
  await deep.locator('summary').click();
  await deep.locator('pre').nth(2).waitFor();
  const [input, , result] = await deep.locator('pre').allTextContents();
  assert.ok(input.endsWith('\n  ],\n  "shallow": {\n    "list": [\n      1,\n      {},\n      []\n    ]\n  }\n}'), input.slice(-200));
  assert.ok(input.includes('[…]') && input.length < 30_000 && result.includes('[…]'), `${input.length} characters`);
  await unharmed(page);

  // Live: what is written appears, in order, once.
  const shown = () => page.locator('#history').textContent().then((text) => [...text.matchAll(/Line (\d+)/g)].map((match) => Number(match[1])));
  write(first);
  await page.locator('#history', { hasText: 'Line 5' }).waitFor();
  write(second, third);
  await page.locator('#history', { hasText: 'Line 7' }).waitFor();
  await unharmed(page);
  assert.deepEqual(page.wrong, [], 'the page complained');
  await picture(page, 'session-light');

  // Hidden pages give up their connections, and catch up when they are seen again.
  const pretend = (hidden) => page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await pretend(true);
  write(...rest.slice(0, 5));
  await pretend(false);
  await page.locator('#history', { hasText: 'Line 12' }).waitFor();
  // A network that breaks off: the browser comes back by itself and says where it was.
  await page.context().setOffline(true);
  write(...rest.slice(5, 10));
  await page.context().setOffline(false);
  write(...rest.slice(10));
  await page.locator('#history', { hasText: 'Line 24' }).waitFor();
  assert.deepEqual(await shown(), Array.from({ length: 20 }, (_, index) => index + 5), 'each line once and in order');

  // The project filter, and another session beside it.
  await page.locator('#query').fill('');
  const project = await page.locator('#project option', { hasText: 'hostile' }).getAttribute('value');
  await page.locator('#project').selectOption(project);
  await page.waitForFunction(() => document.querySelectorAll('#sessions a').length === 1);
  await page.locator('#project').selectOption('');
  await page.waitForFunction((all) => document.querySelectorAll('#sessions a').length === all, all);
  await page.locator('#sessions a', { hasText: 'Tea presets' }).click();
  await page.locator('#history article').first().waitFor();
  await picture(page, 'sample-light');
  await page.context().close();

  // A link on another site leads in as well; dark, and on a small screen.
  const link = join(scratch, 'link.html');
  writeFileSync(link, `<a href="${told.url}">annals</a>`);
  const dark = await visit({ colorScheme: 'dark' });
  await dark.goto(pathToFileURL(link).href);
  await dark.locator('a').click();
  await dark.locator('#sessions a').nth(3).waitFor();
  await dark.waitForFunction(() => location.href === `${location.origin}/`);
  await picture(dark, 'list-dark');
  await dark.locator('#sessions a', { hasText: '敌意' }).click();
  await dark.locator('#history', { hasText: 'That is all.' }).waitFor();
  await dark.locator('details.tool summary').first().click();
  await dark.evaluate(() => document.querySelector('main').scrollTo(0, 0));
  await picture(dark, 'session-dark');
  await dark.setViewportSize({ width: 390, height: 800 });
  await picture(dark, 'small-dark');
  // Nothing sticks out, and each line is read in its own direction.
  const layout = await dark.evaluate(() => {
    const words = [...document.querySelectorAll('#history .text')].find((element) => element.textContent.includes('from the left'));
    const range = document.createRange();
    range.setStart(words.firstChild, words.textContent.indexOf('from the left'));
    range.setEnd(words.firstChild, words.textContent.length);
    const ends = [...document.querySelectorAll('summary em')].map((badge) => badge.getBoundingClientRect().right);
    return {
      indent: range.getBoundingClientRect().left - words.getBoundingClientRect().left,
      right: Math.max(...ends, document.querySelector('main').scrollWidth),
    };
  });
  assert.ok(layout.indent < 1, `${layout.indent} pixels from the left`);
  assert.ok(layout.right <= 390, `${layout.right} pixels wide`);
  assert.deepEqual(dark.wrong, [], 'the page complained');
  await dark.context().close();

  // An address that names no session, or is none at all, leaves the list as it is.
  const lost = await visit({});
  await lost.goto(told.url);
  for (const hash of ['#%E0%A4%A', '#nothing', '#00000000-0000-4000-8000-000000000000', '#../../etc/passwd', '#%']) {
    await lost.goto(new URL(`/${hash}`, told.url).href);
    await lost.locator('#trouble', { hasText: 'There is no such session.' }).waitFor();
    await lost.reload();
    await lost.locator('#trouble', { hasText: 'There is no such session.' }).waitFor();
    await lost.locator('#sessions a').nth(3).waitFor();
  }
  assert.deepEqual(lost.wrong, [], 'the page complained');
  await lost.context().close();

  // A reload keeps the token of the tab. The cookie alone opens the page, which then says how to get in; a stolen one reads
  // nothing.
  const again = await visit({});
  await again.goto(told.url);
  await again.locator('#sessions a').nth(3).waitFor();
  await again.reload();
  await again.locator('#sessions a').nth(3).waitFor();
  assert.deepEqual(again.wrong, [], 'the page complained');
  const unlinked = await again.context().newPage();
  await unlinked.goto(new URL(`/#${told.session}`, told.url).href);
  await unlinked.locator('#trouble', { hasText: 'Open the link that `annals serve` printed' }).waitFor();
  await unlinked.locator('#link', { hasText: 'no access' }).waitFor();
  assert.equal(await unlinked.locator('#sessions a').count(), 0);
  await picture(unlinked, 'no-access');
  const cookies = again.context().request;
  assert.equal((await cookies.get(new URL('/', told.url).href)).status(), 200);
  const list = { jsonrpc: '2.0', id: 1, method: 'history/list' };
  assert.equal((await cookies.post(new URL('/rpc', told.url).href, { data: list })).status(), 401);
  assert.equal((await cookies.get(new URL('/events', told.url).href)).status(), 401);
  await unlinked.goto(told.url);
  await unlinked.locator('#sessions a').nth(3).waitFor();
  assert.equal(await unlinked.evaluate(() => document.cookie), '', 'the cookie is out of reach for scripts');
  await again.context().close();

  // Sessions are archived and deleted after a confirmation, and come back.
  const changing = await visit({});
  await changing.goto(told.url);
  await changing.locator('#sessions a').nth(3).waitFor();
  const counted = (count) => changing.waitForFunction((count) => document.querySelectorAll('#sessions a').length === count, count);
  await changing.locator('#source', { hasText: /files on the disk of the computer that runs annals, in .*root\.$/ }).waitFor();
  await changing.locator('#sessions a', { hasText: 'Tea presets' }).click();
  await changing.locator('#history article').first().waitFor();
  const act = (name) => changing.locator('#actions button', { hasText: new RegExp(`^${name}$`) });
  await act('Archive').click();
  await changing.locator('#question', { hasText: 'Archive “Tea presets”?' }).waitFor();
  await changing.keyboard.press('Escape');
  await changing.locator('#confirm').waitFor({ state: 'hidden' });
  await counted(all);
  await act('Archive').click();
  await changing.locator('#proceed').click();
  await act('Unarchive').waitFor();
  await counted(all - 1);
  await changing.locator('#archived').check();
  await counted(all);
  await changing.locator('#sessions a', { hasText: 'archived' }).waitFor();
  await act('Unarchive').click();
  await changing.locator('#proceed').click();
  await act('Archive').waitFor();
  await changing.locator('#archived').uncheck();
  await counted(all);
  await act('Delete').click();
  await changing.locator('#question', { hasText: 'Move “Tea presets” with all its files to the trash' }).waitFor();
  await picture(changing, 'delete-light');
  await changing.locator('#cancel').click();
  await counted(all);
  await act('Delete').click();
  await changing.locator('#proceed').click();
  await changing.locator('#notice', { hasText: '“Tea presets” is in the trash.' }).waitFor();
  await counted(all - 1);
  assert.equal(new URL(changing.url()).hash, '');
  await picture(changing, 'deleted-light');
  await changing.setViewportSize({ width: 390, height: 800 });
  assert.ok(await changing.locator('#notice button').isVisible(), 'the notice is in the list, which a small screen shows alone');
  await changing.setViewportSize({ width: 1200, height: 800 });
  await changing.locator('#notice button', { hasText: 'Undo' }).click();
  await counted(all);
  await changing.locator('#history article').first().waitFor();
  // What another program does is seen at once.
  const { token } = Object.fromEntries(new URL(told.url).searchParams);
  const archive = { jsonrpc: '2.0', id: 1, method: 'history/archive', params: { sessionId: new URL(changing.url()).hash.slice(1) } };
  const headers = { Authorization: `Bearer ${token}` };
  assert.equal((await changing.context().request.post(new URL('/rpc', told.url).href, { data: archive, headers })).status(), 200);
  await act('Unarchive').waitFor();
  await counted(all - 1);
  await picture(changing, 'actions-light');
  await changing.setViewportSize({ width: 390, height: 800 });
  assert.ok(await changing.evaluate(() => document.querySelector('main').scrollWidth) <= 390, 'too wide');
  await picture(changing, 'actions-small');
  assert.deepEqual(changing.wrong, [], 'the page complained');
  await changing.context().close();

  // A server that refuses changes offers none.
  const reading = await visit({});
  await reading.goto(told.readOnlyUrl);
  await reading.locator('#source', { hasText: 'in ' }).waitFor();
  await reading.locator('#sessions a', { hasText: 'Tea presets' }).click();
  await reading.locator('#history article').first().waitFor();
  assert.equal(await reading.locator('#actions button').count(), 0);
  assert.deepEqual(reading.wrong, [], 'the page complained');
  await reading.context().close();

  // Without the token there is nothing to see, and nothing breaks.
  const stranger = await visit({});
  const answer = await stranger.goto(new URL('/', told.url).href);
  assert.equal(answer.status(), 401);
  console.log(`${browser.version()}, ${all} sessions, 20 lines live`);
} finally {
  await browser.close();
  rmSync(scratch, { recursive: true, force: true });
}
