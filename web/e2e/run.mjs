// Runs the checks in a real browser: `node e2e/run.mjs [FILTER]`. With ANNALS=PATH, some run against the real server, too. With BROWSER=firefox or
// BROWSER=webkit, the checks of scrolling run in Firefox or WebKitGTK.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { launch } from './browser.mjs';
import { launchFirefox } from './firefox.mjs';
import { checks as places } from './places.mjs';
import { checks as real } from './real.mjs';
import { checks as scroll } from './scroll.mjs';
import { launchWebKit } from './webkit.mjs';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const filter = process.argv[2] ?? '';
const isFirefox = process.env.BROWSER === 'firefox';
const isWebKit = process.env.BROWSER === 'webkit';
const isOther = isFirefox || isWebKit;
const all = [...scroll, ...(isOther ? [] : places), ...(process.env.ANNALS && !isOther ? real : [])].filter(([name]) => name.includes(filter));
// In one process, Firefox no longer answered after some of the checks (seen with the WebSocket of Node 20), and the driver of WebKit has one session at
// a time, also that of a check that failed; so each check is a process of its own.
if (isOther && all.length > 1) {
  const run = ([name]) => spawnSync(process.execPath, ['--experimental-websocket', fileURLToPath(import.meta.url), name], { stdio: 'inherit' }).status === 0;
  process.exit(all.filter((check) => !run(check)).length > 0 ? 1 : 0);
}
const browser = await (isFirefox ? launchFirefox() : isWebKit ? launchWebKit() : launch());
let failures = 0;
const start = Date.now();
for (const [name, check] of all) {
  const begun = Date.now();
  try {
    const facts = await check({ browser, dist, annals: process.env.ANNALS });
    console.log(`ok    ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)${facts ? `: ${facts}` : ''}`);
  } catch (error) {
    failures++;
    console.log(`FAIL  ${name}: ${error.stack}`);
  }
}
await browser.close();
console.log(`${all.length - failures} of ${all.length} checks passed in ${((Date.now() - start) / 1000).toFixed(0)} s`);
process.exit(failures > 0 ? 1 : 0);
