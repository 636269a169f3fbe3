// The page in a browser: a demo is stalled, and the page has to name the culprit.
//
// node test.mjs --modules FOLDER --chromium PROGRAM --blitz PROGRAM --images FOLDER
//
// FOLDER of --modules has playwright-core below node_modules. Screenshots go to the folder of
// --images. With --assets FOLDER the page's own files come from that folder, so that a change of
// them needs no build.

import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { browser, Checks, demo, options } from './browser.mjs';

const VIEWS = ['overview', 'workers', 'timeline', 'tasks', 'stalls', 'explain'];
const NAME = '<script>alert(1)</script>';
const KIBIBYTES_MAX = 250;

const given = options();
const checks = new Checks();
mkdirSync(given.images, { recursive: true });

/// What each view has to show when all is well.
const CONTENT = {
  overview: async (page) => await page.locator('.card').count() === 5 && await page.locator('.range').count() > 1 && await page.locator('.row').count() >= 4,
  workers: async (page) => await page.locator('tbody tr').count() >= 4,
  timeline: async (page) => (await page.evaluate(() => timeline.data && timeline.data.tracks.length)) >= 4 && await colors(page) > 3,
  tasks: async (page) => (await page.locator('main').innerText()).includes('client 0'),
  stalls: async (page) => (await page.locator('main').innerText()).includes('since the pool was built'),
  explain: async (page) => (await page.locator('main').innerText()).includes('Longest waits'),
};

/// How many colours the canvas of the timeline has.
async function colors(page) {
  return page.evaluate(() => {
    const canvas = document.getElementById('canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const found = new Set();
    for (let at = 0; at < data.length; at += 4) found.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
    return found.size;
  });
}

async function open(page, view) {
  await page.locator('#tabs [data-view="' + view + '"]').click();
  await checks.until('the view ' + view + ' has its content', () => CONTENT[view](page));
}

async function picture(page, name) {
  await page.mouse.move(5, 5);
  const file = join(given.images, 'insight-' + name + '.png');
  await page.screenshot({ path: file });
  const size = statSync(file).size / 1024;
  checks.that(size < KIBIBYTES_MAX, file + ' is small', size.toFixed(0) + ' KiB');
}

const text = (page) => page.locator('main').innerText();

/// Watches for everything that a page must not do.
function watch(page, origin, troubles) {
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== 'blob:') troubles.push('a request to ' + url.origin);
  });
  page.on('dialog', (dialog) => { troubles.push('a dialog: ' + dialog.message()); dialog.dismiss(); });
  page.on('pageerror', (error) => troubles.push('an exception: ' + error.message));
  page.on('console', (message) => { if (message.type() === 'error' && !/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/.test(message.text())) troubles.push('an error: ' + message.text()); });
}

async function allViews(page) {
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const view of VIEWS) {
      await open(page, view);
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        checks.that(over <= 0, view + ' fits into ' + width + ' pixels', over + ' too wide');
      }
      await page.setViewportSize({ width: 1280, height: 800 });
    }
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const [red] = ground.match(/\d+/g).map(Number);
    checks.that(scheme === 'dark' ? red < 60 : red > 200, 'the ground is ' + scheme, ground);
  }
}

async function namesStayText(page) {
  await open(page, 'tasks');
  await page.locator('input[type="search"]').fill('<script>');
  await checks.until('a task with the name ' + NAME + ' is listed', async () => (await page.locator('tbody strong').allInnerTexts()).includes(NAME));
  checks.that(await page.locator('script').count() === 1, 'a name makes no element');
  await page.locator('input[type="search"]').fill('');
}

/// Shows made-up stalls and explanations, which have parts that this server may not report.
async function shapes(page, origin) {
  const task = { id: '0x7', type: 'app::api::handler::{{closure}}', site: 'src/api.rs:88:9', name: NAME, state: 'running', idle_ms: '93000', waits: [{ kind: 'io', detail: 'read fd 7 10.0.0.3:5432' }] };
  const stall = { worker: 1, tid: 4711, task, since_ns: '840000000', kind: 'blocked', syscall: 'futex', wchan: 'futex_wait_queue', behind: 12, events: ['poll begins'] };
  const explain = { verdict: 'Two tasks wait for each other.', cycles: [['0x7', '0x8']], possible: [['0x8', '0x9']], never: ['0x9'], oldest: [task, { ...task, id: '0x8', name: 'B' }, { ...task, id: '0x9', name: 'C' }], edges: [] };
  await page.route('**/api/v1/stalls*', (route) => route.continue());
  await page.route('**/api/v1/explain*', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...await answer.json(), ...explain } });
  });
  await page.route('**/api/v1/stream*', async (route) => {
    const ask = async (what) => (await fetch(origin + '/api/v1/' + what)).json();
    const events = { summary: await ask('summary'), workers: await ask('workers'), stalls: { ...await ask('stalls'), total: '1', stalls: [stall] } };
    const body = Object.entries(events).map(([kind, data]) => 'event: ' + kind + '\ndata: ' + JSON.stringify(data) + '\n\n').join('');
    await route.fulfill({ contentType: 'text/event-stream', body });
  });
  await page.goto(origin + '/#stalls');
  await page.reload();
  for (const part of ['Worker 1', NAME, 'handler::{{closure}}', 'src/api.rs:88:9', 'futex', '4711', '12 tasks', '840 ms']) {
    await checks.until('a stall shows ' + part, async () => (await text(page)).includes(part), 10);
  }
  await page.goto(origin + '/#overview');
  await checks.until('the overview names the culprit', async () => (await page.locator('.verdict.bad').innerText()).includes(NAME), 10);
  await page.goto(origin + '/#explain');
  for (const part of ['Two tasks wait for each other.', 'Deadlocks', 'Possible deadlocks', 'Never wakes', 'read fd 7 10.0.0.3:5432', NAME]) {
    await checks.until('an explanation shows ' + part, async () => (await text(page)).includes(part), 10);
  }
  checks.that(await page.locator('script').count() === 1, 'no name of a stall makes an element');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
}

/// Blocks a worker for real, and checks what the page shows.
async function realStall(page, server, origin) {
  const ask = async (what) => (await fetch(origin + '/api/v1/' + what)).json();
  await page.goto(origin + '/#overview');
  await page.reload();
  await server.post('/stall?seconds=120');
  await checks.until('the stall is counted', async () => Number((await ask('stalls')).total) > 0);
  await checks.until('the process names the culprit', async () => JSON.stringify((await ask('stalls')).stalls).includes('report writer'), 15);
  await checks.until('the overview names the culprit', async () => (await page.locator('.verdict.bad').innerText()).includes('report writer'));
  await page.emulateMedia({ colorScheme: 'dark' });
  await picture(page, 'stall-overview');
  await open(page, 'stalls');
  await checks.until('the stall has its evidence', async () => /futex|blocked/.test(await text(page)));
  await picture(page, 'stalls');
  await open(page, 'timeline');
  await checks.until('the timeline shows the stall', async () => page.evaluate(() => timeline.data.tracks.some((track) => track.slices.some(([kind]) => kind === 'stall'))));
  await picture(page, 'timeline');
  await server.post('/deadlock');
  await open(page, 'explain');
  await checks.until('the deadlock is explained', async () => { const shown = await page.locator('.chain').innerText(); return shown.includes('ledger') && shown.includes('invoice'); });
  await picture(page, 'explain');
  await server.post('/free');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(origin + '/#overview');
  // On a busy machine the page warns of too few cores. So any verdict will do that is not bad.
  await checks.until('nothing is stuck again', async () => await page.locator('.verdict').count() > 0 && await page.locator('.verdict.bad').count() === 0);
}

/// Probes tasks on a page with a token.
async function probe(context, troubles) {
  const server = await demo(given.blitz, 300, ['--token']);
  try {
    const page = await context.newPage();
    const url = new URL(server.page);
    watch(page, url.origin, troubles);
    await page.goto(server.page);
    await checks.until('the page with a token is live', async () => await page.locator('#link').innerText() === 'live');
    checks.that(!page.url().includes('token'), 'the token is not left in the address', page.url());
    await server.post('/deadlock');
    await open(page, 'explain');
    await checks.until('the deadlock is there', async () => (await text(page)).includes('ledger'));
    await page.locator('#probe').click();
    await checks.until('a probe shows the functions of the deadlock', async () => (await page.locator('.frames').allInnerTexts()).some((stack) => stack.includes('demo::trouble::awaits')));
    checks.that(await page.locator('script').count() === 1, 'no probe makes an element');
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    checks.that(over <= 0, 'stacks fit into the page', over + ' too wide');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('.stack').first().scrollIntoViewIfNeeded();
    await picture(page, 'probe');
    await page.close();
  } finally {
    await server.stop();
  }
}

/// Ends the pool that the page shows, while the process goes on.
async function poolEnds(context, server, troubles) {
  const page = await context.newPage(), own = [];
  watch(page, new URL(server.page).origin, own);
  await page.goto(server.page);
  const state = (wanted) => async () => await page.locator('#link').innerText() === wanted;
  await open(page, 'overview');
  await page.locator('#pool').selectOption('batch');
  await checks.until('the page shows the second pool', async () => await state('live')() && await page.evaluate(() => live.summary && live.summary.pool === 'batch'));
  await server.post('/end');
  await checks.until('the page says that the pool has ended', state('ended'));
  const notice = await page.locator('#notice').innerText();
  checks.that(notice.includes('This pool has ended'), 'a notice says so, too', notice);
  checks.that(await page.locator('.card').count() === 5, 'what was last seen of the pool stays');
  await checks.until('the list of pools marks it', async () => (await page.locator('#pool').innerText()).includes('batch (ended)'));
  await page.locator('#pool').selectOption('api');
  await checks.until('the page goes on with the other pool', async () => await state('live')() && await page.evaluate(() => live.summary && live.summary.pool === 'api'));
  await page.close();
  // The page asks again and again for the pool that has ended. The browser reports each refusal.
  troubles.push(...own.filter((trouble) => !trouble.includes('404')));
}

async function trace(page) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#download').click()]);
  const file = await download.path();
  checks.that(statSync(file).size > 1000, 'the trace that the page saves has something in it');
  checks.that(/^blitz-\d+\.pftrace$/.test(download.suggestedFilename()), 'its name is that of a trace', download.suggestedFilename());
}

await browser(given, async (context) => {
  const server = await demo(given.blitz, 300);
  try {
    const origin = new URL(server.page).origin;
    const page = await context.newPage();
    const troubles = [];
    watch(page, origin, troubles);
    if (given.assets) await context.route(/\/app\.(js|css)$/, (route) => route.fulfill({ path: join(given.assets, new URL(route.request().url()).pathname) }));
    await page.goto(server.page);
    await checks.until('the page is live', async () => await page.locator('#link').innerText() === 'live');
    await allViews(page);
    await page.emulateMedia({ colorScheme: 'light' });
    // Some seconds of history make the curves.
    await checks.until('there is history', () => page.evaluate(() => live.history.length > 12));
    await open(page, 'overview');
    for (const part of ['due until fired', 'search until stolen', 'stolen jobs', 'render']) {
      await checks.until('the overview measures “' + part + '”', async () => (await text(page)).includes(part));
    }
    for (const view of ['overview', 'workers', 'tasks']) {
      await open(page, view);
      await picture(page, view);
    }
    await namesStayText(page);
    await trace(page);
    await shapes(page, origin);
    await realStall(page, server, origin);
    await open(page, 'explain');
    checks.that(await page.locator('#probe').isDisabled(), 'a page without a token cannot probe');
    await probe(context, troubles);
    await poolEnds(context, server, troubles);
    await server.stop();
    await checks.until('the page says that the process is gone', async () => (await page.locator('#notice').innerText()).includes('does not answer'));
    checks.that(troubles.length === 0, 'the page behaves', [...new Set(troubles)].join('; '));
  } finally {
    await server.stop();
  }
});
checks.end();
