// The viewer against the real server.
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { visit } from './browser.mjs';
import { HOSTILE, Served, callLines, nextLine, recordOf } from './served.mjs';

/** A session of the sample with an edit that failed and was then made. */
const FAILED_EDIT = '50d5c783-95a7-4fd4-86f9-5cf75087c28b';

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
  ['real: a diff of 10,000 lines is shown to its last line and scrolls', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    await page.locator('.session').first().waitFor();
    const lines = Array.from({ length: 5000 }, (_, line) => [`-let old_${line} = ${line};`, `+let new_${line} = ${line};`]).flat();
    const patch = { filePath: '/home/mia/hostile/big.rs', oldString: 'x', newString: 'y', structuredPatch: [{ oldStart: 1, oldLines: 5000, newStart: 1, newLines: 5000, lines }] };
    served.append(callLines(8, { name: 'Edit', input: { file_path: '/home/mia/hostile/big.rs', old_string: 'x', new_string: 'y' } }, 'ok', { toolUseResult: patch }));
    page.setDefaultTimeout(60_000);
    await page.goto(`${served.origin}/s/${HOSTILE}#${recordOf(8)}`);
    const card = page.locator('.transcript .card', { hasText: 'big.rs' }).first();
    await card.locator('.card-head').click();
    await card.locator('.line').first().waitFor();
    for (let more = card.locator('.more'), round = 0; round < 60 && await more.count() > 0; round++) {
      const before = await card.locator('.line').count();
      await more.last().click();
      await page.waitForFunction(([card, before]) => document.querySelectorAll(`${card} .line`).length > before || !document.querySelector(`${card} .more`), ['.transcript .card', before]);
    }
    assert.equal(await card.locator('.line').count(), 10_000);
    const box = await page.locator('.transcript .screen').boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.evaluate(() => {
      window.frameTimes = [];
      let last = performance.now();
      const frame = (now) => { window.frameTimes.push(now - last); last = now; if (window.frameTimes.length < 2000) requestAnimationFrame(frame); };
      requestAnimationFrame(frame);
    });
    for (let turn = 0; turn < 150; turn++) await page.mouse.wheel(0, 400);
    const times = await page.evaluate(() => window.frameTimes.slice(1).sort((one, other) => one - other));
    await close();
    return `${times.length} frames, p95 ${times[Math.floor(times.length * 0.95)].toFixed(0)} ms, longest ${times.at(-1).toFixed(0)} ms`;
  }],
  ['real: a very long output shows its end at once, and any other part of it on request', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    await page.locator('.session').first().waitFor();
    // The checklist of the viewer asks for 50 MB; CI has a debug build.
    const lines = Number(process.env.OUTPUT_MB ?? 17) * 10_000;
    const text = Array.from({ length: lines }, (_, line) => `${String(line).padStart(9)} ${'x'.repeat(89)}`).join('\n');
    served.append(callLines(8, { name: 'Bash', input: { command: 'seq' } }, text, { toolUseResult: { stdout: text, stderr: '' } }));
    page.setDefaultTimeout(60_000);
    // What the page asks for besides reads the whole file the first time: that is not a part of what is measured.
    for (const method of ['skeleton', 'turns', 'tools', 'lineage']) await served.call(`history/${method}`, { sessionId: HOSTILE });
    await page.goto(`${served.origin}/s/${HOSTILE}#${recordOf(8)}`);
    const card = page.locator('.transcript [aria-current=true] .card');
    await card.locator('.fact', { hasText: 'MB' }).waitFor();
    const opened = () => page.evaluate(() => new Promise((resolve) => {
      const start = performance.now();
      document.querySelector('.transcript [aria-current=true] .card-head').click();
      const look = () => (document.querySelector('.transcript [aria-current=true] .ansi') ? resolve(performance.now() - start) : requestAnimationFrame(look));
      look();
    }));
    const ms = await opened();
    const shown = await card.locator('.ansi').innerText();
    assert.ok(shown.includes(` ${lines - 1} `) && shown.includes(` ${lines - 20} `), shown.slice(0, 200));
    await card.locator('.more', { hasText: 'above' }).click();
    await page.waitForFunction((line) => document.querySelector('.transcript [aria-current=true] .out').innerText.includes(` ${line} `), lines - 1020);
    await card.locator('.more', { hasText: 'from the start' }).click();
    await page.waitForFunction(() => /^ +0 x/m.test(document.querySelector('.transcript [aria-current=true] .out').innerText));
    await close();
    return `${(text.length / 1e6).toFixed(0)} MB in ${ms.toFixed(0)} ms`;
  }],
  ['real: output that stands in a file of its own is shown from there, masked', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    await page.locator('.session').first().waitFor();
    // Made here, so that no scanner takes it for a leak.
    const token = ['gh', 'p_', 'Q7fZk2mX9rT4w8B3cLs5', 'Vn1Yd6Hj0Gp3Ae8U'].join('');
    served.store('out.txt', `${Array.from({ length: 3000 }, (_, line) => `stored line ${line}`).join('\n')}\nthe token is ${token}\n`);
    served.append(callLines(8, { name: 'Bash', input: { command: 'seq' } }, '<persisted-output>\nOutput too large (50KB). Full output saved to: /elsewhere/tool-results/out.txt\n\nPreview (first 2KB):\nstored line 0\n</persisted-output>'));
    await page.goto(`${served.origin}/s/${HOSTILE}#${recordOf(8)}`);
    const card = page.locator('.transcript [aria-current=true] .card');
    await card.locator('.card-head').click();
    await card.locator('.ansi', { hasText: 'the token is ghp_[masked: github-token]' }).waitFor();
    await card.locator('.more', { hasText: 'from the start' }).click();
    await card.locator('.ansi', { hasText: 'stored line 999' }).waitFor();
    assert.ok(!(await page.content()).includes(token));
    await close();
  }],
  ['real: findings of the server have codes that the page knows in Chinese', async (stage) => {
    const { page, served, close } = await open(stage, '/health', { locale: 'zh-CN' });
    await page.locator('.findings li').first().waitFor();
    await page.waitForFunction(() => !document.querySelector('progress'));
    const texts = await page.locator('.findings li > span').allInnerTexts();
    assert.ok(texts.length > 0 && texts.every((text) => text.split('\n').every((line) => !line.trim() || /\p{Script=Han}/u.test(line))), JSON.stringify(texts.filter((text) => !/\p{Script=Han}/u.test(text)).slice(0, 5)));
    await close();
    return `${texts.length} findings`;
  }],
  ['real: a subagent of the sample is in the card of its call, and opens from it', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    const { sessions } = await served.call('history/list');
    const all = await Promise.all(sessions.map(async ({ id }) => ({ id, agents: (await served.call('history/agents', { sessionId: id })).agents, calls: (await served.call('history/tools', { sessionId: id })).calls })));
    const { id, made } = all.flatMap(({ id, agents, calls }) => calls.filter(({ name }) => agents.length > 0 && (name === 'Task' || name === 'Agent')).map((made) => ({ id, made })))[0];
    await page.locator('.session').first().waitFor();
    await page.goto(`${served.origin}/s/${id}#${made.uuid}`);
    const card = page.locator('.transcript [aria-current=true]').first();
    await card.locator('.card-head').first().click();
    await card.locator('.inline-agent .answer, .inline-agent .prompt').first().waitFor();
    await card.locator('.inline-agent .card-head').first().click();
    await card.locator('.inline-agent .card-body').first().waitFor();
    await page.keyboard.press('l');
    await page.waitForURL(/agent=/);
    await close();
  }],
  ['real: an export from the page is the file that the command line writes, and names what it masked', async (stage) => {
    const { page, served, close } = await open(stage, `/s/${HOSTILE}`);
    // Made here, so that no scanner takes it for a leak.
    const token = ['gh', 'p_', 'Q7fZk2mX9rT4w8B3cLs5', 'Vn1Yd6Hj0Gp3Ae8U'].join('');
    served.append(nextLine(8, `The token is ${token}.`));
    await page.locator('.transcript .row').first().waitFor();
    for (const [index, format] of ['html', 'md', 'text'].entries()) {
      await page.locator('.menu-box > button').click();
      await page.locator('.menu button', { hasText: 'Export' }).click();
      await page.locator('.sheet input[type=radio]').nth(index).check();
      await page.locator('.export button[type=submit]').click();
      await page.locator('.review table tbody tr', { hasText: 'github' }).waitFor();
      assert.equal(await page.locator('.left-out').count(), 0);
      const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.review .primary').click()]);
      const saved = readFileSync(await download.path(), 'utf8');
      assert.ok(!saved.includes(token.slice(4, 20)) && saved.includes('The token is'));
      assert.equal(saved, served.run(['export', HOSTILE, '--format', format, '-o', '-']));
      await page.locator('.review .places a').first().click();
      await page.locator('.sheet').waitFor({ state: 'detached' });
    }
    await close();
  }],
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
  ['real: nothing that hides or reorders text reaches the page, in any place', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    const hidden = () => page.evaluate(() => /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u.exec(document.documentElement.outerHTML)?.[0].codePointAt(0).toString(16));
    for (const [place, ready] of [['/', '.session'], [`/s/${HOSTILE}`, '.transcript .card'], [`/s/${HOSTILE}?view=raw`, '.transcript .raw'], [`/s/${HOSTILE}?view=model`, '.transcript .model'], ['/search?q=hacked', '.hit'], ['/usage?days=all', '.plot'], ['/health', '.panel']]) {
      await page.goto(`${served.origin}${place}`);
      await page.locator(ready).first().waitFor();
      await page.waitForTimeout(500);
      for (const head of await page.locator('.transcript .card-head:visible').all()) await head.click().catch(() => undefined);
      await page.waitForTimeout(500);
      assert.equal(await hidden(), undefined, place);
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
  ['real: a session of which Claude Code would lose messages says so, in both languages, and gives the command', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    const { sessions } = await served.call('history/list');
    const counted = await Promise.all(sessions.map(async ({ id }) => [(await served.call('history/turns', { sessionId: id })).lostMessages, id]));
    const [lost, session] = counted.find(([lost]) => lost > 0);
    const [, whole] = counted.find(([lost]) => !lost);
    await page.locator('.session').first().waitFor();
    await page.goto(`${served.origin}/s/${session}`);
    await page.locator('.lost-note', { hasText: `Claude Code would lose ${lost} messages here; annals repair ${session} shows how to get them back.` }).waitFor();
    await page.locator('.lost-note button').click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `annals repair ${session}`);
    await page.locator('.lost-note a').click();
    await page.waitForURL('**/health');
    await page.evaluate(() => localStorage.setItem('annals-language', 'zh'));
    await page.goto(`${served.origin}/s/${session}`);
    await page.locator('.lost-note', { hasText: `会丢失 ${lost} 条消息` }).waitFor();
    await page.goto(`${served.origin}/s/${whole}`);
    await page.locator('.conversation-head .facts', { hasText: /\d 轮/ }).waitFor();
    assert.equal(await page.locator('.lost-note').count(), 0);
    await close();
    return `${lost} messages`;
  }],
  ['real: the plan of a repair is that of the command line, and showing it changes nothing', async (stage) => {
    const { page, served, close } = await open(stage, '/health', { options: ['--read-only'] });
    await page.locator('.check-bar', { hasText: 'Check all' }).waitFor();
    served.append(`${JSON.stringify({ ...JSON.parse(nextLine(9, 'lost')), parentUuid: 'never-written' })}\n`);
    const before = readFileSync(served.path, 'utf8');
    let text = '{}';
    // What needs a repair is told by the exit code, too.
    try { text = served.run(['repair', HOSTILE, '--json']); } catch (error) { text = error.stdout; }
    const plan = JSON.parse(text);
    assert.ok(plan.changes.length > 0 && !plan.applied);
    const { changes, after, ...rest } = await served.call('history/repair', { sessionId: HOSTILE });
    assert.deepEqual({ ...rest, changes, after }, plan);
    await page.locator('button', { hasText: 'Check all' }).click();
    const group = page.locator('.finding-group', { has: page.locator(`h3 a[href*="${HOSTILE}"]`) });
    await group.locator('.repair-plan > button').click();
    await group.locator('.repair-plan li').first().waitFor();
    await group.locator('dd', { hasText: `restores ${after.sent} messages` }).first().waitFor();
    assert.equal(readFileSync(served.path, 'utf8'), before);
    await close();
  }],
  ['real: a copy names its original and the original its copy, up to the last entry of both', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    await page.locator('.session').first().waitFor();
    const fork = JSON.parse(served.run(['fork', FAILED_EDIT, '--json'])).session;
    await page.goto(`${served.origin}/s/${fork}`);
    await page.locator('.transcript .row').first().waitFor();
    await page.keyboard.press('G');
    await page.locator('.mark.copies', { hasText: 'also in 1 session' }).filter({ hasText: '(the original)' }).waitFor();
    await page.locator('.mark.copies a').click();
    await page.waitForURL(new RegExp(FAILED_EDIT));
    await page.locator('.mark.copies', { hasText: '(the original)' }).waitFor({ state: 'detached' });
    await page.locator('.transcript .row').first().waitFor();
    await page.keyboard.press('G');
    await page.locator('.mark.copies', { hasText: '(a copy)' }).waitFor();
    await page.goto(`${served.origin}/?has=copies`);
    await page.locator('.session .marks [title^="has entries in common"]').nth(1).waitFor();
    const { groups } = await served.call('history/copies');
    assert.equal(await page.locator('.session').count(), groups.flat().length);
    await close();
  }],
  ['real: an edit that failed is no change of its turn', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    const { calls } = await served.call('history/tools', { sessionId: FAILED_EDIT });
    const failed = calls.find(({ name, state }) => name === 'Edit' && state === 'error');
    await page.locator('.session').first().waitFor();
    await page.goto(`${served.origin}/s/${FAILED_EDIT}#${failed.uuid}`);
    const card = page.locator('.transcript [aria-current=true]');
    await card.locator('b', { hasText: 'Edit' }).waitFor();
    assert.equal(await card.locator('.s-add, .s-del').count(), 0);
    await page.locator('.transcript .fold', { hasText: '1 file +2 −2' }).waitFor();
    await close();
  }],
  ['real: the address of an unknown session says so, and leads to the sessions', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    await page.locator('.session').first().waitFor();
    for (const id of ['deadbeef', '00000000-0000-4000-8000-000000000000']) {
      await page.goto(`${served.origin}/s/${id}`);
      await page.locator('main h1', { hasText: 'There is no session with this id' }).waitFor();
      assert.equal(await page.locator('.inspector, .trouble').count(), 0, id);
      await page.locator('main a').click();
      await page.locator('.session').first().click();
      await page.locator('.transcript .row').first().waitFor();
    }
    await close();
  }],
  ['real: usage and health have the figures of the server', async (stage) => {
    const { page, served, close } = await open(stage, '/usage?days=all');
    const { total } = await served.call('history/usage', { by: 'day' });
    await page.locator('.totals', { hasText: total.replies.toLocaleString('en') }).waitFor();
    await page.goto(`${served.origin}/health`);
    await page.locator('.panel', { hasText: 'annals' }).first().waitFor();
    await page.locator('.findings li').first().waitFor();
    assert.equal(await page.locator('.trouble').count(), 0);
    await close();
  }],
  ['real: a compaction of the sample has what was kept and what the summary stands for', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    const { sessions } = await served.call('history/list');
    const counted = await Promise.all(sessions.map(async ({ id }) => [(await served.call('history/stats', { sessionId: id })).compactions, id]));
    const [, session] = counted.find(([compactions]) => compactions > 0);
    await page.locator('.session').first().waitFor();
    await page.goto(`${served.origin}/s/${session}`);
    await page.locator('.transcript .row').first().waitFor();
    await page.keyboard.press('c');
    await page.locator('.transcript [aria-current=true] .sheet-link').click();
    await page.locator('.column').first().locator('[data-fate=kept]').first().waitFor();
    const counts = await Promise.all(['kept', 'summarised'].map((fate) => page.locator('.column').first().locator(`[data-fate=${fate}]`).count()));
    const { compaction } = (await served.call('history/read', { sessionId: session, limit: 1000 })).items.find((item) => item.compaction);
    assert.equal(counts[0], compaction.preserved, 'as many messages as the compaction says are kept');
    assert.ok(counts[1] > 0);
    await page.locator('.column').nth(1).locator('[data-fate=summary] pre', { hasText: 'Summary' }).waitFor();
    await close();
    return `kept ${counts[0]}, summarised ${counts[1]}`;
  }],
  ['real: a branch of the sample stands beside the live conversation', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    const { sessions } = await served.call('history/list');
    const counted = await Promise.all(sessions.map(async ({ id }) => [(await served.call('history/stats', { sessionId: id })).branches, id]));
    const [, session] = counted.find(([branches]) => branches > 0);
    await page.locator('.session').first().waitFor();
    await page.goto(`${served.origin}/s/${session}`);
    await page.locator('.transcript .mark.branch .sheet-link').first().click();
    await page.locator('.column').nth(0).locator('.prompt, .answer, .card-head').first().waitFor();
    // In the sample nothing follows the fork: the branch is all that came behind it.
    await page.locator('.column').nth(1).locator('.empty').waitFor();
    await close();
  }],
  ['real: versions of a file have the content of their copies', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    const { sessions } = await served.call('history/list');
    const found = (await Promise.all(sessions.map(async ({ id }) => (await served.call('history/files', { sessionId: id })).files.map((file) => ({ id, file }))))).flat();
    const { id, file } = found.find(({ file }) => file.versions.some(({ backup }) => backup === 'kept'));
    const version = file.versions.find(({ backup }) => backup === 'kept');
    const { nodes } = await served.call('history/file', { sessionId: id, path: file.path, version: version.version });
    await page.locator('.session').first().waitFor();
    await page.goto(`${served.origin}/s/${id}?file=${encodeURIComponent(file.path)}`);
    await page.locator('.moment[data-kind=version]', { hasText: `Version ${version.version}` }).click();
    const whole = page.locator('.moment-view .levels button').nth(1);
    if (await whole.count() > 0) await whole.click();
    const first = nodes[0].lines[0].map((span) => (typeof span === 'string' ? span : span[1])).join('');
    await page.locator('.moment-view .block', { hasText: first }).waitFor();
    assert.ok(await page.locator('.moment').count() >= file.versions.length + file.edits, 'each edit and each version is a moment');
    await close();
    return `${file.versions.length} versions, ${file.edits} edits`;
  }],
  ['real: each figure of the usage page leads to its replies', async (stage) => {
    const { page, served, close } = await open(stage, '/usage?days=all&by=model');
    const { rows } = await served.call('history/usage', { by: 'model' });
    const row = rows.find(({ replies }) => replies > 1);
    await page.locator('tbody tr', { hasText: row.key }).locator('td a').first().click();
    await page.waitForFunction((count) => document.querySelectorAll('#replies tbody tr').length === count, row.replies);
    await page.locator('#replies tbody a').first().click();
    await page.locator('.transcript [aria-current=true]').waitFor();
    await close();
    return `${row.replies} replies of ${row.key}`;
  }],
  ['real: rename, tag, archive, fork from here, delete and restore change the files, and can be undone', async (stage) => {
    const { page, served, close } = await open(stage, '/');
    const { sessions } = await served.call('history/list');
    const { id } = sessions.find(({ title, messages }) => title === 'Tea presets' && messages > 0);
    const session = () => served.call('history/session', { sessionId: id });
    const choose = async (label) => {
      await page.locator('.menu-box > button').click();
      await page.locator('.menu button', { hasText: label }).click();
    };
    await page.locator('.session').first().waitFor();
    await page.goto(`${served.origin}/s/${id}`);
    await page.locator('.transcript .row').first().waitFor();
    await choose('Rename');
    await page.locator('.ask input').fill('Tea 茶 🍵');
    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: 'Tea 茶 🍵' }).waitFor();
    assert.equal((await session()).title, 'Tea 茶 🍵');
    await choose('Tag');
    await page.locator('.ask input').fill('kitchen');
    await page.keyboard.press('Enter');
    await page.locator('.conversation-head .tag', { hasText: 'kitchen' }).waitFor();
    assert.equal((await session()).tag, 'kitchen');
    await choose('Archive');
    await page.locator('.toasts', { hasText: 'Archived' }).waitFor();
    assert.equal((await session()).archived, true);
    await page.locator('.toasts p', { hasText: 'Archived' }).locator('button').click();
    await page.locator('.toasts', { hasText: 'Back from the archive' }).waitFor();
    assert.equal((await session()).archived, false);
    await page.locator('.transcript .k-u').first().click();
    await choose('Fork from here');
    await page.locator('.toasts button', { hasText: 'Open the fork' }).click();
    await page.waitForURL((url) => url.pathname.startsWith('/s/') && !url.pathname.includes(id));
    const fork = new URL(page.url()).pathname.split('/')[2];
    assert.equal((await served.call('history/session', { sessionId: fork })).forkedFrom, id);
    await page.locator('.transcript .row').first().waitFor();
    await choose('Delete');
    await page.locator('.ask button[type=submit]').click();
    await page.locator('.toasts', { hasText: 'Moved to the trash' }).waitFor();
    assert.deepEqual((await served.call('history/trash')).sessions.map(({ session }) => session), [fork]);
    await page.locator('.toasts p', { hasText: 'Moved to the trash' }).locator('button').click();
    await page.locator('.toasts', { hasText: 'Restored' }).waitFor();
    assert.equal((await served.call('history/session', { sessionId: fork })).id, fork);
    await close();
    const other = await open(stage, '/', { options: ['--read-only'] });
    await other.page.locator('.session').first().waitFor();
    await other.page.goto(`${other.served.origin}/s/${id}`);
    await other.page.locator('.menu-box > button').click();
    assert.deepEqual(await other.page.locator('.menu button').allTextContents(), ['Copy link', 'Copy resume command', 'Export…']);
    await assert.rejects(other.served.call('history/rename', { sessionId: id, title: 'no' }), /read-only/);
    await other.close();
  }],
  ['real: a session that two processes have open is flagged, and a running turn shows that it runs', async (stage) => {
    const { page, served, close } = await open(stage, `/s/${HOSTILE}`);
    await page.locator('.transcript .row').first().waitFor();
    assert.equal(await page.locator('.running-turn').count(), 0);
    served.openByProcesses(2);
    served.append(nextLine(8, 'A question', 'user'));
    await page.locator('.conversation-head', { hasText: '2 writers' }).waitFor();
    await page.locator('.running-turn', { hasText: 'running' }).waitFor();
    served.append(nextLine(9, 'An answer'));
    await page.locator('.running-turn').waitFor({ state: 'detached' });
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
