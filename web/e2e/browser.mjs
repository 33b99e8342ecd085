// What the suites and the screenshots share: a browser, and pages that remember what went wrong in them.
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

export function findChromium() {
  for (const name of [process.env.CHROMIUM, 'chromium', 'chromium-browser', 'google-chrome'].filter(Boolean)) {
    try {
      return execFileSync('which', [name]).toString().trim();
    } catch { /* The next one. */ }
  }
  throw new Error('there is no Chromium');
}

export function launch() {
  return chromium.launch({
    executablePath: findChromium(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--js-flags=--expose-gc'],
  });
}

/** A new page. `page.wrong` has errors, violations of the content security policy, and requests to other hosts. */
export async function visit(browser, options = {}) {
  if (browser.isFirefox) return browser.visit(options);
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'], locale: 'en-GB', ...options });
  const page = await context.newPage();
  page.wrong = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) page.wrong.push(`${message.text()} ${message.location().url}`); });
  page.on('pageerror', (error) => page.wrong.push(String(error)));
  page.on('request', (request) => { if (!/^(http:\/\/127\.0\.0\.1:|blob:|data:)/.test(request.url())) page.wrong.push(`a request to ${request.url()}`); });
  await page.addInitScript(() => addEventListener('securitypolicyviolation', (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`)));
  page.setDefaultTimeout(15_000);
  return page;
}
