// What both tests of the page need: a demo, a browser, and a list of what went wrong.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

/// `--name value` pairs of the command line.
export function options() {
  const words = process.argv.slice(2), found = {};
  for (let at = 0; at + 1 < words.length; at += 2) found[words[at].replace(/^--/, '')] = words[at + 1];
  return found;
}

/// Starts `blitz demo` and returns its addresses once it has printed them.
export async function demo(program, seconds, more = []) {
  const child = spawn(program, ['demo', '--seconds', String(seconds), '--port', '0', '--workers', '4', ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((done) => child.on('exit', done));
  const found = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [, what, where] = /^(.+?) {2,}(http\S+)$/.exec(line) || [];
    if (what) found[what] = where;
    if (found['look inside'] && found['break things']) break;
  }
  if (!found['break things']) throw new Error('the demo has not said where it is');
  return {
    pid: child.pid, page: found['look inside'], ended,
    async post(path) {
      const answer = await fetch(new URL(path, found['break things']), { method: 'POST', redirect: 'manual' });
      if (answer.status !== 303) throw new Error(path + ': ' + answer.status + ' ' + await answer.text());
    },
    async stop() { child.kill(); await ended; },
  };
}

/// Starts the browser with a profile of its own, and calls `use` with it.
export async function browser({ modules, chromium }, use) {
  const require = createRequire(join(resolve(modules), 'package.json'));
  const playwright = require('playwright-core');
  const profile = mkdtempSync(join(tmpdir(), 'blitz-page-'));
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'];
  const context = await playwright.chromium.launchPersistentContext(profile, {
    executablePath: chromium, headless: true, args, viewport: { width: 1280, height: 800 }, acceptDownloads: true,
  });
  try {
    return await use(context);
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/// Collects complaints, so that one run shows all of them.
export class Checks {
  constructor() { this.failed = 0; this.passed = 0; }

  that(holds, what, detail) {
    if (holds) this.passed += 1;
    else { this.failed += 1; console.error('FAILED: ' + what + (detail === undefined ? '' : ': ' + detail)); }
  }

  /// Waits until `look` returns something, for `seconds` at most.
  async until(what, look, seconds = 30) {
    const end = Date.now() + seconds * 1000;
    let last;
    for (;;) {
      try { const found = await look(); if (found) { this.passed += 1; return found; } } catch (error) { last = error; }
      if (Date.now() > end) { this.that(false, what + ' within ' + seconds + ' s', last && last.message); return undefined; }
      await new Promise((wake) => setTimeout(wake, 100));
    }
  }

  end() {
    console.log(this.passed + ' checks passed, ' + this.failed + ' failed');
    process.exitCode = this.failed ? 1 : 0;
  }
}
