// The page of a pool. Everything that comes from the pool becomes text nodes, never markup.
'use strict';

// ---- Elements --------------------------------------------------------------------------------

const $ = (id) => document.getElementById(id);

/// Makes an element with the properties `set`. Children that are no nodes become text.
function el(tag, set, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(set || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') node.className = value;
    else if (name === 'style') Object.assign(node.style, value);
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined).map((child) =>
    child instanceof Node ? child : document.createTextNode(String(child))));
  return node;
}

function svg(tag, set, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(set || {})) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

const panel = (title, note, right, ...body) => el('section', { class: 'panel' },
  el('header', null, el('h2', null, title), note ? el('span', { class: 'muted' }, note) : null,
    right ? el('div', { class: 'right' }, right) : null), ...body);

const verdict = (kind, ...lines) => el('div', { class: 'verdict ' + kind },
  el('span', { class: 'mark', 'aria-hidden': 'true' }, kind === 'good' ? '✓' : '!'),
  el('div', null, lines.map((line) => el('p', null, line))));

// ---- Numbers ---------------------------------------------------------------------------------

const num = (value) => Number(value || 0);

function time(ns) {
  const value = num(ns);
  if (!Number.isFinite(value) || value > 9e18) return '∞';
  if (value < 1e3) return value.toFixed(0) + ' ns';
  for (const [unit, size] of [['µs', 1e3], ['ms', 1e6], ['s', 1e9]]) {
    if (value < size * 999.5 || unit === 's') {
      if (unit === 's' && value >= 120e9) return long(value / 1e9);
      const scaled = value / size;
      return scaled.toFixed(scaled < 9.95 ? 1 : 0) + ' ' + unit;
    }
  }
}

function long(seconds) {
  if (seconds < 7200) return Math.floor(seconds / 60) + ' min ' + Math.floor(seconds % 60) + ' s';
  return Math.floor(seconds / 3600) + ' h ' + Math.floor(seconds % 3600 / 60) + ' min';
}

function count(value) {
  const number = num(value);
  if (number < 1e4) return number < 10 && number % 1 ? number.toFixed(1) : Math.round(number).toString();
  for (const [unit, size] of [['k', 1e3], ['M', 1e6], ['G', 1e9]]) {
    if (number < size * 999.5 || unit === 'G') return (number / size).toFixed(number < size * 9.95 ? 1 : 0) + ' ' + unit;
  }
}

const percent = (share) => (share * 100).toFixed(share > 0 && share < 0.0095 ? 1 : 0) + ' %';
const plural = (number, one, many) => count(number) + ' ' + (num(number) === 1 ? one : many || one + 's');

/// Matches the types that the runtime wraps around the future of a task with a name.
const NAMED = /^(?:\w+::)*Named<(?:\w+::)*TaskLocalFuture<(?:\w+::)*Arc<str>, (.*)>>$/;

/// A type as people call it: its last names, without the modules before them.
function short(type) {
  if (!type) return 'not polled yet';
  const plain = type.replace(NAMED, '$1').replace(/\{\{closure\}\}/g, '{closure}').replace(/\{async_block\$\d+\}/g, '{async}');
  return plain.replace(/(?:[A-Za-z0-9_]+::)+(?=[A-Za-z0-9_]+::[A-Za-z0-9_{])/g, '');
}

// ---- The connection --------------------------------------------------------------------------

const STATES = ['poll', 'job', 'search', 'driver', 'park'];
const HISTORY = 120;
const WINDOW = 30;

const live = { summary: null, workers: null, workersBefore: null, stalls: null, history: [], link: 'connecting', pool: null };
let token = null;
try { token = sessionStorage.getItem('blitz-token'); } catch { /* no storage: the fragment is enough */ }

/// Takes the token out of the address, so that the screen does not show it.
function takeToken() {
  const found = /[#&]token=([A-Za-z0-9_-]+)/.exec(location.hash);
  if (!found) return;
  token = found[1];
  try { sessionStorage.setItem('blitz-token', token); } catch { /* as above */ }
  history.replaceState(null, '', location.pathname + '#overview');
}

async function ask(path, more, method = 'GET') {
  const query = new URLSearchParams(more);
  if (live.pool) query.set('pool', live.pool);
  const headers = token ? { Authorization: 'Bearer ' + token } : {};
  const response = await fetch('/api/v1/' + path + '?' + query, { method, headers, cache: 'no-store' });
  if (response.ok) return response;
  let why = response.statusText;
  try { why = (await response.json()).error || why; } catch { /* no JSON: the status is enough */ }
  throw Object.assign(new Error(why), { status: response.status });
}

const askJson = async (path, more, method) => (await ask(path, more, method)).json();

/// Reads the stream of events and connects again when it ends.
async function follow() {
  const own = {};
  follow.current = own;
  while (follow.current === own) {
    try {
      const response = await ask('stream');
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      link('live');
      for (;;) {
        const { value, done } = await reader.read();
        if (follow.current !== own) { reader.cancel(); return; }
        if (done) break;
        text += value;
        const events = text.split('\n\n');
        text = events.pop();
        events.forEach(event);
      }
      if (live.link === 'live') link('lost', 'The connection has ended.');
    } catch (error) {
      if (follow.current !== own) return;
      if (error.status === 401) link('refused', 'This page needs its token: open the address that the program printed, with everything behind “#”.');
      else if (error.status === 404) link('ended', 'This pool has ended. The page shows what was last seen of it.');
      else link('lost', 'The process does not answer (' + error.message + '). The page shows what was last seen of it.');
    }
    await new Promise((wake) => setTimeout(wake, 1000));
    if (live.link === 'ended') await choosePools();
  }
}

function event(text) {
  const kind = /^event: (\w+)$/m.exec(text);
  const data = /^data: (.*)$/m.exec(text);
  if (!kind || !data) return;
  if (kind[1] === 'ended') return link('ended', 'This pool has ended. The page shows what was last seen of it.');
  const value = JSON.parse(data[1]);
  if (kind[1] === 'summary') {
    live.summary = value;
    live.history.push(value);
    if (live.history.length > HISTORY) live.history.shift();
    poolNames(value.pools);
  } else if (kind[1] === 'workers') {
    live.workersBefore = live.workers;
    live.workers = value;
  } else if (kind[1] === 'stalls') {
    live.stalls = value;
    head();
    refresh();
  }
}

function link(state, notice) {
  live.link = state;
  const pill = $('link');
  pill.textContent = state;
  pill.className = 'pill ' + ({ live: 'good', connecting: '', ended: 'warn' }[state] ?? 'bad');
  $('notice').hidden = !notice;
  $('notice').textContent = notice || '';
}

function poolNames(names) {
  const select = $('pool');
  const wanted = names.join('\n');
  if (select.dataset.names !== wanted) {
    select.dataset.names = wanted;
    select.replaceChildren(...names.map((name) => el('option', { value: name }, name)));
    if (live.pool && !names.includes(live.pool)) select.prepend(el('option', { value: live.pool }, live.pool + ' (ended)'));
  }
  if (!live.pool) live.pool = live.summary ? live.summary.pool : names[0] || null;
  select.value = live.pool || '';
  $('pools').hidden = names.length === 0;
}

async function choosePools() {
  try {
    const chosen = live.pool;
    live.pool = null;
    const { pools } = await askJson('pools');
    live.pool = chosen;
    poolNames(pools);
  } catch { /* the next attempt to follow says why */ }
}

// ---- What two readings tell ------------------------------------------------------------------

/// The reading about `seconds` before the newest one.
function past(seconds) {
  const newest = live.history[live.history.length - 1];
  const from = num(newest.now_ns) - seconds * 1e9;
  return live.history.find((reading) => num(reading.now_ns) >= from) || newest;
}

function rate(field, seconds = 5) {
  const newest = live.summary, before = past(seconds);
  const passed = (num(newest.now_ns) - num(before.now_ns)) / 1e9;
  return passed > 0 ? (field(newest) - field(before)) / passed : 0;
}

/// Which share of the time between two readings went to each state.
function shares(now, before) {
  const passed = STATES.map((state) => Math.max(0, num(now[state]) - num(before ? before[state] : 0)));
  const all = passed.reduce((sum, value) => sum + value, 0);
  return Object.fromEntries(STATES.map((state, i) => [state, all > 0 ? passed[i] / all : 0]));
}

const busyOf = (share) => share.poll + share.job;

/// Which share of the workers' time went to polls and jobs. Spares at rest do not count.
function busyBetween(now, before) {
  const passed = num(now.now_ns) - num(before ? before.now_ns : 0);
  const spent = ['poll', 'job'].reduce((sum, state) => sum + num(now.states[state]) - num(before ? before.states[state] : 0), 0);
  return passed > 0 ? Math.min(1, Math.max(0, spent / passed / now.workers)) : 0;
}

const busyLately = (seconds) => busyBetween(live.summary, past(seconds) === live.summary ? null : past(seconds));

/// The times that were measured between two readings, by quantile.
function quantiles(now, before) {
  const old = new Map((before ? before.buckets : []).map(([end, n]) => [end, num(n)]));
  const buckets = now.buckets.map(([end, n]) => [num(end), num(n) - (old.get(end) || 0)]).filter(([, n]) => n > 0);
  const all = buckets.reduce((sum, [, n]) => sum + n, 0);
  const at = (q) => {
    let seen = 0;
    for (const [end, n] of buckets) if ((seen += n) >= q * all) return end;
    return 0;
  };
  return { count: all, p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) };
}

const active = () => ((live.stalls && live.stalls.stalls) || []).filter((stall) => !stall.over);

// ---- The head --------------------------------------------------------------------------------

function head() {
  const { summary } = live;
  if (!summary) return;
  $('program').textContent = summary.program + ' · ' + summary.pid;
  document.title = (active().length ? '! ' : '') + summary.program + ' · blitz';
  const stalled = active().length;
  const fact = (value, name, bad) => el('div', { class: bad ? 'bad' : '' }, el('dt', null, name), el('dd', null, value));
  $('facts').replaceChildren(
    fact(summary.workers, summary.workers === 1 ? 'worker' : 'workers'),
    fact(percent(busyLately(3)), 'busy'),
    fact(count(summary.tasks.runnable), 'runnable'),
    fact(count(stalled), stalled === 1 ? 'stalled' : 'stalled', stalled > 0));
  const badge = document.querySelector('#tabs [data-view="stalls"]');
  badge.replaceChildren('Stalls', stalled ? el('span', { class: 'count' }, stalled) : '');
  $('footer').textContent = 'Scheduler ' + summary.scheduler + ' · up ' + long(num(summary.now_ns) / 1e9) +
    (num(summary.lost) ? ' · ' + count(summary.lost) + ' events lost' : '') + ' · times of the last ' + WINDOW + ' s';
}

// ---- Overview --------------------------------------------------------------------------------

const LATENCIES = [
  ['delay', 'runnable until polled', 'tasks wait for a worker: too much work, or long polls'],
  ['poll', 'one poll', 'a task keeps its worker for as long'],
  ['wake', 'notified until awake', 'the system starts threads late'],
  ['steal', 'search until stolen', 'an idle worker looks for work: what there is comes in small pieces'],
  ['timer', 'due until fired', 'timers wait for their slack, or for a worker that looks at the clock'],
  ['job', 'one job', 'a stolen or injected closure'],
  ['blocking', 'spawn_blocking until run', 'all threads that may block are in use'],
];

function sparkline(values, max) {
  const top = Math.max(max || 0, ...values, 1e-9);
  const points = values.map((value, i) => (i / Math.max(1, values.length - 1) * 100).toFixed(2) + ',' + (30 - value / top * 28).toFixed(2));
  const line = 'M' + points.join('L');
  return svg('svg', { viewBox: '0 0 100 32', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    ...(values.length > 1 ? [svg('path', { class: 'spark-area', d: line + 'L100,32L0,32Z' }), svg('path', { class: 'spark', d: line })] : []));
}

/// How much a counter grew per second, from reading to reading.
function series(field) {
  return live.history.slice(1).map((reading, i) => {
    const before = live.history[i];
    const passed = (num(reading.now_ns) - num(before.now_ns)) / 1e9;
    return passed > 0 ? Math.max(0, field(reading) - field(before)) / passed : 0;
  });
}

function card(label, value, unit, values, max) {
  return el('div', { class: 'card' }, el('span', { class: 'label' }, label),
    el('span', { class: 'value' }, value, unit ? el('small', null, unit) : null), sparkline(values, max));
}

function cards() {
  const { summary, history } = live;
  const busy = history.slice(1).map((reading, i) => busyBetween(reading, history[i]));
  const polls = (reading) => num(reading.tasks.polls), jobs = (reading) => num(reading.jobs);
  return el('div', { class: 'cards' },
    card('Workers busy', percent(busyLately(3)), '', busy, 1),
    card('Runnable tasks', count(summary.tasks.runnable), '', history.map((reading) => num(reading.tasks.runnable))),
    card('Tasks alive', count(summary.tasks.alive), '', history.map((reading) => num(reading.tasks.alive))),
    card('Polls', count(rate(polls)), '/s', series(polls)),
    card('Jobs', count(rate(jobs)), '/s', series(jobs)));
}

/// What is wrong, in words; the most pressing first.
function findings() {
  const { summary } = live;
  const found = active().slice(0, 4).map((stall) => stallSentence(stall));
  if (found.length) return verdict('bad', ...found, el('a', { href: '#stalls' }, 'Evidence'));
  const busy = busyLately(10);
  const runnable = num(summary.tasks.runnable);
  const delay = runDelay();
  const notes = [];
  if (num(summary.spares_refused) > num(past(WINDOW).spares_refused)) notes.push('Work waits, and the pool may start no more spare threads.');
  if (delay > 0.1) notes.push('Workers wait for a core ' + percent(delay) + ' of the time: the machine has too few, or other threads use them.');
  if (runnable > 4 * summary.workers && busy > 0.9) notes.push(plural(runnable, 'task') + ' wait for busy workers: there is more work than they can do.');
  if (notes.length) return verdict('warn', ...notes);
  return verdict('good', busy < 0.005 ? 'Nothing is stuck: there is hardly anything to do.' : 'Nothing is stuck. Workers are busy ' + percent(busy) + ' of the time.');
}

/// Which share of the time workers were runnable without a core.
function runDelay() {
  const { workers, workersBefore } = live;
  if (!workers || !workersBefore) return 0;
  const passed = num(workers.now_ns) - num(workersBefore.now_ns);
  const old = new Map(workersBefore.workers.map((worker) => [worker.index, worker]));
  const known = workers.workers.filter((worker) => worker.run_delay_ns !== null && old.get(worker.index)?.tid === worker.tid);
  const delay = known.reduce((sum, worker) => sum + num(worker.run_delay_ns) - num(old.get(worker.index).run_delay_ns), 0);
  return known.length && passed > 0 ? Math.min(1, delay / passed / known.length) : 0;
}

function latencies() {
  const before = past(WINDOW), { summary } = live;
  const rows = LATENCIES.map(([key, name, why]) => {
    const lately = quantiles(summary.hist[key], before === summary ? null : before.hist[key]);
    return { key, name, why, ...(lately.count ? lately : { ...quantiles(summary.hist[key]), old: true }) };
  }).filter((row) => row.count > 0);
  const judged = rows.filter((row) => ['delay', 'poll', 'wake', 'blocking'].includes(row.key) && !row.old);
  const top = judged.reduce((most, row) => (!most || row.p99 > most.p99 ? row : most), null);
  // From 100 ns to 10 s, each power of ten as wide as the next.
  const place = (ns) => Math.min(100, Math.max(0, (Math.log10(Math.max(ns, 100)) - 2) / 8 * 100)) + '%';
  const body = rows.map((row) => el('tr', { class: row === top ? 'top' : '', title: row.why },
    el('td', { class: 'nowrap' }, row.name, row === top ? el('span', { class: 'tag' }, 'largest') : null, row.old ? el('span', { class: 'muted' }, ' (earlier)') : null),
    el('td', { class: 'narrow wide' }, el('div', { class: 'range' },
      el('i', { style: { left: place(row.p50), right: 'calc(100% - ' + place(row.p999) + ')' } }), el('b', { style: { left: place(row.p99) } }))),
    el('td', { class: 'n' }, time(row.p50)), el('td', { class: 'n' + (row === top ? ' largest' : '') }, time(row.p99)),
    el('td', { class: 'n narrow' }, time(row.p999)), el('td', { class: 'n' }, time(row.max))));
  return panel('Where the time goes', 'below these times, last ' + WINDOW + ' s', null, rows.length === 0
    ? el('p', { class: 'empty' }, 'Nothing was measured yet.')
    : el('div', { class: 'scroll' }, el('table', null, el('thead', null, el('tr', null, el('th', null, 'from … to'), el('th', { class: 'narrow' }, '100 ns … 10 s'),
      ...['half', '99 %', '99.9 %', 'all'].map((name) => el('th', { class: 'n' + (name === '99.9 %' ? ' narrow' : '') }, name)))), el('tbody', null, body))));
}

function bar(share, tall) {
  return el('div', { class: 'states' + (tall ? ' tall' : ''), title: STATES.map((state) => state + ' ' + percent(share[state])).join(', ') },
    STATES.map((state) => el('i', { class: state, style: { width: share[state] * 100 + '%' } })));
}

const keys = (...names) => el('div', { class: 'keys' }, names.map((name) => el('span', { class: 'key ' + name }, name)));

/// Each worker that is not a resting spare, with what it did since the reading before.
function workersNow() {
  const { workers, workersBefore } = live;
  if (!workers) return [];
  const old = new Map((workersBefore ? workersBefore.workers : []).map((worker) => [worker.index, worker]));
  const passed = workersBefore ? (num(workers.now_ns) - num(workersBefore.now_ns)) / 1e9 : 0;
  const stuck = new Map(active().map((stall) => [stall.worker, stall]));
  return workers.workers.filter((worker) => worker.state !== 'rest').map((worker) => {
    const before = old.get(worker.index);
    const per = (field) => (before && passed > 0 ? Math.max(0, num(worker[field]) - num(before[field])) / passed : 0);
    const same = before && before.tid === worker.tid && worker.run_delay_ns !== null;
    return {
      ...worker, share: shares(worker.states, before && before.states), stall: stuck.get(worker.index), per,
      delay: same && passed > 0 ? Math.min(1, (num(worker.run_delay_ns) - num(before.run_delay_ns)) / passed / 1e9) : null,
    };
  });
}

function workerRows() {
  const workers = workersNow();
  const legend = keys(...STATES);
  if (workers.length > 24) {
    const cell = (worker) => el('i', { class: worker.stall ? 'bad' : worker.state, title: 'worker ' + worker.index + ': ' + worker.state + ', busy ' + percent(busyOf(worker.share)) });
    return panel('Workers', workers.length + ' in service', legend, el('div', { class: 'grid' }, workers.map(cell)));
  }
  return panel('Workers', 'last second', legend, workers.map((worker) => el('div', { class: 'row' + (worker.stall ? ' bad' : '') },
    el('span', { class: 'name mono' }, (worker.spare ? 's' : 'w') + worker.index), bar(worker.share, true),
    el('span', { class: 'n' }, percent(busyOf(worker.share))))));
}

/// Parts of computations that the program has named, since the pool was built.
function regions() {
  const rows = live.summary.regions;
  if (!rows || !rows.length) return null;
  const body = rows.slice(0, 20).map((row) => el('tr', null, el('td', { class: 'mono' }, row.name), el('td', { class: 'n' }, count(row.runs)),
    el('td', { class: 'n' }, time(num(row.wall_ns) / Math.max(1, num(row.runs)))), el('td', { class: 'n' }, time(row.wall_ns)),
    el('td', { class: 'n' }, count(num(row.stolen) / Math.max(1, num(row.runs))))));
  const heads = [['runs', 'how many have ended'], ['mean', 'from start to end'], ['all', 'from start to end, together'], ['stolen jobs', 'per run: what other workers took; zero means that nothing ran in parallel']];
  return panel('Regions', 'since the pool was built', null, el('div', { class: 'scroll' }, el('table', null, el('thead', null, el('tr', null,
    el('th', null, 'name'), heads.map(([name, title]) => el('th', { class: 'n', title }, name)))), el('tbody', null, body))));
}

const overview = {
  title: 'Overview',
  update(root) {
    if (!live.summary) return root.replaceChildren(el('p', { class: 'empty' }, 'Waiting for the first reading …'));
    root.replaceChildren(findings(), cards(), el('div', { class: 'columns' }, latencies(), workerRows()), ...[regions()].filter(Boolean));
  },
};

// ---- Workers ---------------------------------------------------------------------------------

const workersView = {
  title: 'Workers',
  update(root) {
    const workers = workersNow();
    if (!workers.length) return root.replaceChildren(el('p', { class: 'empty' }, 'Waiting for the first reading …'));
    const busy = workers.map((worker) => busyOf(worker.share));
    const mean = busy.reduce((sum, value) => sum + value, 0) / busy.length;
    const spread = Math.max(...busy) - Math.min(...busy);
    const resting = live.workers.workers.length - workers.length;
    const throttled = live.workers.throttled_ns;
    const advice = mean > 0.9 ? 'All are busy: more workers help only if there are more cores.'
      : mean < 0.15 ? 'They are mostly idle: fewer would do.'
      : spread > 0.6 ? 'Some are busy while others are idle: the work is not divided, or comes in long pieces.'
      : 'There is room for more work.';
    const delay = runDelay();
    const rows = workers.map((worker) => el('tr', { class: worker.stall ? 'bad' : '' },
      el('td', { class: 'mono' }, (worker.spare ? 's' : 'w') + worker.index),
      el('td', null, worker.stall ? el('span', { class: 'pill bad' }, 'stalled ' + time(worker.stall.since_ns)) : el('span', { class: 'pill ' + worker.state }, worker.state)),
      el('td', { class: 'wide' }, bar(worker.share)),
      el('td', { class: 'n' }, percent(busyOf(worker.share))),
      el('td', { class: 'n' }, count(worker.tasks)),
      el('td', { class: 'n narrow' }, count(worker.per('jobs'))),
      el('td', { class: 'n narrow' }, count(worker.per('steals'))),
      el('td', { class: 'n narrow' }, count(worker.per('parks'))),
      el('td', { class: 'n' + (worker.delay > 0.1 ? ' largest' : '') }, worker.delay === null ? '–' : percent(worker.delay)),
      el('td', { class: 'n narrow' }, worker.tid ?? '–')));
    const titles = [['worker'], ['now'], ['last second'], ['busy', 'n'], ['queued', 'n'], ['jobs/s', 'n narrow'], ['steals/s', 'n narrow'], ['sleeps/s', 'n narrow'], ['no core', 'n'], ['thread', 'n narrow']];
    root.replaceChildren(
      verdict(delay > 0.1 ? 'warn' : 'good', 'Busy ' + percent(mean) + ' on average. ' + advice,
        ...(delay > 0.1 ? ['They were runnable without a core for ' + percent(delay) + ' of the time: too many threads for the cores of this machine.'] : []),
        ...(num(throttled) > 0 ? ['The control group was held back for ' + time(throttled) + ' so far: its CPU quota is spent.'] : [])),
      panel('Workers', resting ? plural(resting, 'spare thread') + ' at rest' : '', keys(...STATES), el('div', { class: 'scroll' }, el('table', null,
        el('thead', null, el('tr', null, titles.map(([name, kind]) => el('th', { class: kind || '' }, name)))), el('tbody', null, rows)))));
  },
};

// ---- Tasks -----------------------------------------------------------------------------------

const tasks = {
  title: 'Tasks', data: null, before: null, sort: 'busy', filter: '', shown: 100,
  mount(root) {
    const search = el('input', { type: 'search', placeholder: 'Filter by type, name or place', 'aria-label': 'filter', value: this.filter,
      oninput: (input) => { this.filter = input.target.value.toLowerCase(); this.shown = 100; this.draw(); } });
    this.types = el('div', { class: 'scroll' });
    this.list = el('div', { class: 'scroll' });
    this.note = el('span', { class: 'muted' });
    root.replaceChildren(panel('By type', 'busy and polls per second since the last reading', null, this.types),
      panel('Tasks', this.note, search, this.list));
    this.load();
  },
  update() { if (!this.loading && live.link === 'live' && (!this.at || Date.now() - this.at > 1900)) this.load(); },
  async load() {
    this.loading = true;
    try {
      const data = await askJson('tasks', { limit: 10000 });
      this.before = this.data && this.data.pool === data.pool ? this.data : null;
      this.data = data;
      this.at = Date.now();
      this.draw();
    } catch (error) { this.note.textContent = error.message; }
    this.loading = false;
  },
  rows() {
    const { data, before } = this;
    const old = new Map((before ? before.types : []).map((row) => [row.type, row]));
    const passed = before ? num(data.now_ns) - num(before.now_ns) : 0;
    const longest = new Map();
    for (const task of data.tasks) longest.set(task.type, Math.max(longest.get(task.type) || 0, num(task.idle_ms)));
    return data.types.map((row) => {
      const was = old.get(row.type);
      const per = (field) => (was && passed > 0 ? Math.max(0, num(row[field]) - num(was[field])) / passed : 0);
      return { ...row, alive: num(row.alive), polls: per('polls') * 1e9, busy: per('busy_ns'), all: num(row.busy_ns), p99: num(row.p99_ns), oldest: num(row.oldest_ms ?? longest.get(row.type)) };
    }).sort((a, b) => b[this.sort] - a[this.sort] || b.all - a.all);
  },
  draw() {
    if (!this.data) return;
    const head = (key, name, kind) => el('th', { class: kind || 'n' }, el('button', { 'aria-sort': this.sort === key ? 'descending' : null, onclick: () => { this.sort = key; this.draw(); } }, name));
    const matches = (...texts) => !this.filter || texts.some((text) => text && text.toLowerCase().includes(this.filter));
    const types = this.rows().filter((row) => matches(row.type));
    this.types.replaceChildren(types.length === 0 ? el('p', { class: 'empty' }, 'No tasks.') : el('table', null,
      el('thead', null, el('tr', null, el('th', null, 'type'), head('alive', 'alive'), head('polls', 'polls/s'), head('busy', 'busy'), head('p99', 'p99 of a poll', 'n narrow'), head('all', 'busy so far', 'n narrow'), head('oldest', 'longest wait', 'n narrow'))),
      el('tbody', null, types.slice(0, 50).map((row) => el('tr', null,
        el('td', { class: 'wide mono', title: row.type }, short(row.type)), el('td', { class: 'n' }, count(row.alive)), el('td', { class: 'n' }, count(row.polls)),
        el('td', { class: 'n' }, percent(row.busy)), el('td', { class: 'n narrow' }, row.p99 ? time(row.p99) : '–'), el('td', { class: 'n narrow' }, time(row.all)), el('td', { class: 'n narrow' }, row.alive && row.oldest ? time(row.oldest * 1e6) : '–'))))));
    const found = this.data.tasks.filter((task) => matches(task.type, task.name, task.site, task.id));
    this.note.textContent = count(found.length) + (this.filter ? ' match' : ' shown') + ' of ' + count(this.data.total);
    const rows = found.slice(0, this.shown).map((task) => el('tr', null,
      el('td', { class: 'mono nowrap narrow' }, task.id), el('td', { class: 'wide', title: task.type || '' }, taskName(task)),
      el('td', { class: 'mono nowrap narrow' }, task.site || ''), el('td', { class: 'nowrap' }, String(task.state || '').toLowerCase().split(' ')[0]),
      el('td', { class: 'n' }, task.idle_ms === undefined || task.idle_ms === null ? '–' : time(num(task.idle_ms) * 1e6)),
      el('td', { class: 'narrow muted' }, (task.waits || []).map((edge) => edge.detail || edge.kind).join(', '))));
    this.list.replaceChildren(rows.length === 0 ? el('p', { class: 'empty' }, this.filter ? 'No task matches.' : 'No task waits.') : el('table', null,
      el('thead', null, el('tr', null, el('th', { class: 'narrow' }, 'id'), el('th', null, 'task'), el('th', { class: 'narrow' }, 'spawned at'), el('th', null, 'state'), el('th', { class: 'n' }, 'idle'), el('th', { class: 'narrow' }, 'waits for'))),
      el('tbody', null, rows)), found.length > this.shown ? el('button', { class: 'button', onclick: () => { this.shown += 500; this.draw(); } }, 'Show more') : '');
  },
};

/// The name of a task if it has one, else its type.
function taskName(task) {
  return [task.name ? el('strong', null, task.name) : null, task.name ? ' ' : null, el('span', { class: task.name ? 'mono muted' : 'mono' }, short(task.type))];
}

// ---- Stalls ----------------------------------------------------------------------------------

/// A stall in one sentence.
function stallSentence(stall) {
  const task = stall.task || {};
  const what = task.name || (task.type ? short(task.type) : 'a job');
  return el('span', null, el('strong', null, 'Worker ' + stall.worker + ' has not come back for ' + time(stall.since_ns)), ': ',
    el('strong', null, what), task.site ? ' (' + task.site + ')' : '', ' ', stallKind(stall), '.');
}

function stallKind(stall) {
  if (stall.kind === 'blocked') return 'is blocked' + (stall.syscall ? ' in the system call ' + stall.syscall : stall.wchan ? ' in ' + stall.wchan : '');
  if (stall.kind === 'cpu') return 'computes without a pause';
  if (stall.kind === 'preempted') return 'waits for a core';
  return stall.kind ? 'is ' + stall.kind : 'does not return';
}

const stallsView = {
  title: 'Stalls',
  update(root) {
    const { stalls } = live;
    if (!stalls) return root.replaceChildren(el('p', { class: 'empty' }, 'Waiting for the first reading …'));
    const open = [...root.querySelectorAll('details[open]')].map((node) => node.dataset.key);
    const entry = (stall) => {
      const task = stall.task || {};
      const key = stall.worker + ' ' + (stall.id ?? task.id ?? '');
      const facts = [['Task', task.type ? el('span', { class: 'mono' }, task.type) : 'a job'], ['Name', task.name], ['Spawned at', task.site && el('span', { class: 'mono' }, task.site)],
        ['Doing', stallKind(stall)], ['System call', stall.syscall], ['In the kernel', stall.wchan], ['Thread', stall.tid], ['Waiting behind it', stall.behind === undefined ? null : plural(stall.behind, 'task')]];
      const events = stall.events || [];
      return el('section', { class: 'panel stall' + (stall.over ? ' over' : '') },
        el('h3', null, 'Worker ' + stall.worker + ' ', el('span', { class: 'kind' }, (stall.over ? 'was away for ' : 'does not come back: ') + time(stall.since_ns)), ' · ', task.name || short(task.type)),
        el('dl', { class: 'facts' }, facts.filter(([, value]) => value !== undefined && value !== null && value !== '').map(([name, value]) => [el('dt', null, name), el('dd', null, value)])),
        events.length ? el('details', { 'data-key': key, open: open.includes(key) }, el('summary', null, 'What the worker did before'), el('pre', null, events.map((item) => typeof item === 'string' ? item : JSON.stringify(item)).join('\n'))) : null);
    };
    const all = stalls.stalls || [];
    const now = all.filter((stall) => !stall.over), over = all.filter((stall) => stall.over);
    root.replaceChildren(
      now.length ? verdict('bad', plural(now.length, 'worker') + (now.length === 1 ? ' does' : ' do') + ' not come back. Other workers take over the tasks that wait behind; the task or job that a stuck worker runs is stuck with it.')
        : verdict('good', 'Each worker comes back from its polls and jobs.'),
      ...now.map(entry), ...over.map(entry),
      el('p', { class: 'muted' }, plural(stalls.total, 'stall') + ' since the pool was built.'));
  },
};

// ---- Explain ---------------------------------------------------------------------------------

const explain = {
  title: 'Explain', data: null, probed: null,
  mount(root) { this.root = root; this.draw(); this.load(); },
  /// Makes the pool poll each task that waits once. Only on request, since that changes the pool.
  async probe() {
    this.probing = true;
    this.draw();
    try { this.probed = await askJson('probe', undefined, 'POST'); } catch (error) { this.probed = { problem: error.message }; }
    this.probing = false;
    if (current === this) this.draw();
  },
  /// The places at which tasks wait, and the button that starts the search for them.
  places(node) {
    const { probed } = this;
    const button = el('button', { class: 'button', type: 'button', id: 'probe', disabled: this.probing || !token, onclick: () => this.probe() }, this.probing ? 'Probing …' : 'Probe');
    const note = token ? 'wakes each task that waits once, up to 1,000, and notes in which functions it waits' : 'needs a page with a token, since it wakes tasks: Inspect::token or BLITZ_INSPECT_TOKEN=random';
    if (!probed) return panel('Where tasks wait', note, button);
    if (probed.problem) return panel('Where tasks wait', note, button, el('p', { class: 'empty' }, probed.problem));
    const known = new Map([...(probed.tasks || []), ...(probed.oldest || [])].map((task) => [task.id, task]));
    const groups = new Map();
    for (const { id, stacks } of probed.stacks || []) {
      const key = JSON.stringify(stacks);
      if (!groups.has(key)) groups.set(key, { stacks, ids: [] });
      groups.get(key).ids.push(id);
    }
    const line = (frame) => el('li', null, el('span', { class: 'mono' }, frame.fn), frame.at ? el('span', { class: 'muted mono' }, ' ' + frame.at) : null);
    const counts = probed.probed || {};
    return panel('Where tasks wait', counts.polled + ' of ' + plural(counts.woken, 'task') + ' were polled in time', button,
      groups.size ? [...groups.values()].map(({ stacks, ids }) => el('div', { class: 'stack' },
        el('p', null, node(known.get(ids[0]) || ids[0]), ids.length > 1 ? ' and ' + plural(ids.length - 1, 'other') : null),
        stacks.map((stack) => el('ol', { class: 'frames' }, stack.map(line))))) : el('p', { class: 'empty' }, 'No task has shown where it waits.'));
  },
  update() { if (!this.loading && live.link === 'live' && Date.now() - (this.at || 0) > 2900) this.load(); },
  async load() {
    this.loading = true;
    try { this.data = await askJson('explain'); this.problem = null; } catch (error) { this.problem = error.message; }
    this.at = Date.now();
    this.loading = false;
    if (current === this) this.draw();
  },
  draw() {
    const { data, root } = this;
    if (!data) return root.replaceChildren(el('p', { class: 'empty' }, this.problem || 'Asking which task waits for what …'));
    const known = new Map();
    for (const task of [...(data.tasks || []), ...(data.oldest || [])]) known.set(task.id, task);
    const node = (id) => { const task = typeof id === 'object' && id ? id : known.get(id); return el('span', { class: 'node' }, task ? [...taskName(task), task.site ? el('span', { class: 'muted' }, ' ' + task.site) : null] : String(id)); };
    const chain = (cycle) => el('div', { class: 'chain' },
      cycle.flatMap((id, i) => [i ? el('span', { class: 'edge' }, 'waits for →') : null, node(id)]), el('span', { class: 'edge' }, 'waits for the first'));
    const possible = data.possible || [];
    const cycles = data.cycles || [], never = data.never || [], behind = data.behind || [], oldest = data.oldest || [];
    const lines = Array.isArray(data.verdict) ? data.verdict : String(data.verdict || 'No task waits for another in a circle, and each can be woken.').split('\n').filter(Boolean);
    root.replaceChildren(
      verdict(cycles.length || possible.length || never.length ? 'bad' : 'good', ...lines),
      ...(cycles.length ? [panel('Deadlocks', 'each waits for the next, and the last for the first', null, cycles.map(chain))] : []),
      ...(possible.length ? [panel('Possible deadlocks', 'the same, but a waker of some task was not found: an abort handle, or something that can still wake it', null, possible.map(chain))] : []),
      ...(never.length ? [panel('Never wakes', 'nothing is left that could wake them', null, el('ul', { class: 'list' }, never.map((id) => el('li', null, node(id)))))] : []),
      ...(behind.length ? [panel('Waits in vain', 'they wait for nothing but tasks above', null, el('ul', { class: 'list' }, behind.map((id) => el('li', null, node(id)))))] : []),
      panel('Longest waits', '', null, oldest.length === 0 ? el('p', { class: 'empty' }, 'No task waits.') : el('div', { class: 'scroll' }, el('table', null,
        el('thead', null, el('tr', null, el('th', null, 'task'), el('th', { class: 'narrow' }, 'spawned at'), el('th', null, 'waits for'), el('th', { class: 'n' }, 'since'))),
        el('tbody', null, oldest.map((task) => el('tr', null, el('td', { class: 'wide', title: task.type || '' }, taskName(task)), el('td', { class: 'mono nowrap narrow' }, task.site || ''),
          el('td', null, (task.waits || []).map((edge) => edge.detail || edge.kind).join(', ') || 'unknown'), el('td', { class: 'n' }, time(num(task.idle_ms) * 1e6)))))))),
      this.places(node));
  },
};

// ---- Timeline --------------------------------------------------------------------------------

const LANE = 22, GAP = 6, LABEL = 92, AXIS = 24;

const timeline = {
  title: 'Timeline', data: null, seconds: 5, follows: true, from: 0, to: 1,
  mount(root) {
    this.canvas = el('canvas', { id: 'canvas', 'aria-label': 'what each worker did' });
    this.note = el('span', { class: 'muted' });
    const choose = el('select', { 'aria-label': 'window', onchange: (change) => { this.seconds = num(change.target.value); this.load(); } },
      [1, 5, 30, 120].map((seconds) => el('option', { value: seconds, selected: seconds === this.seconds }, 'last ' + (seconds < 60 ? seconds + ' s' : seconds / 60 + ' min'))));
    this.button = el('button', { class: 'button', type: 'button', 'aria-pressed': String(this.follows), onclick: () => this.follow(!this.follows) }, 'Follow');
    const all = el('button', { class: 'button', type: 'button', onclick: () => { this.from = 0; this.to = 1; this.draw(); } }, 'Show all');
    root.replaceChildren(panel('Timeline', this.note, [choose, this.button, all], this.canvas,
      keys('poll', 'job', 'region', 'park', 'spare', 'blocking', 'stall'), el('p', { class: 'muted' }, 'Drag to zoom, double-click to see all, point at something to see what it is. Red marks are stalls.')));
    this.canvas.addEventListener('pointerdown', (event) => this.press(event));
    this.canvas.addEventListener('pointermove', (event) => this.hover(event));
    this.canvas.addEventListener('pointerleave', () => hideTip());
    this.canvas.addEventListener('dblclick', () => { this.from = 0; this.to = 1; this.draw(); });
    this.draw();
    this.load();
  },
  update() { if (this.follows && !this.loading && live.link === 'live' && !this.drag && Date.now() - (this.at || 0) > 1900) this.load(); },
  follow(yes) { this.follows = yes; this.button.setAttribute('aria-pressed', String(yes)); if (yes) { this.from = 0; this.to = 1; this.load(); } },
  async load() {
    this.loading = true;
    try {
      const data = await askJson('timeline', { seconds: this.seconds });
      const stuck = new Map(active().map((stall) => ['worker ' + stall.worker, stall]));
      const span = (num(data.end_ns) - num(data.begin_ns)) / 1e3;
      for (const track of data.tracks) {
        const stall = stuck.get(track.name);
        if (stall) withStall(track, stall, span, data.names);
        nest(track);
      }
      // Spares at rest would only fill the page.
      data.tracks = data.tracks.filter((track) => track.slices.length || track.marks.length);
      if (!this.drag) this.data = data;
    } catch (error) { this.note.textContent = error.message; }
    this.at = Date.now();
    this.loading = false;
    if (current === this) this.draw();
  },
  span() { return this.data ? Math.max(1, (num(this.data.end_ns) - num(this.data.begin_ns)) / 1e3) : 1; },
  draw() {
    const { canvas, data } = this;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue('--' + name).trim();
    const tracks = data ? data.tracks : [];
    let y = AXIS;
    for (const track of tracks) { track.y = y; y += LANE * Math.min(3, track.depth) * (track.depth > 1 ? 0.75 : 1) + GAP; }
    const width = canvas.clientWidth || 800, height = Math.max(160, y + 4), ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + 'px';
    const pen = canvas.getContext('2d');
    pen.scale(ratio, ratio);
    pen.font = '12px ' + style.getPropertyValue('--mono');
    pen.textBaseline = 'middle';
    if (!data) { pen.fillStyle = color('muted'); pen.fillText('Asking …', 12, 40); return; }
    const span = this.span(), begin = this.from * span, end = this.to * span;
    const label = width < 560 ? 40 : LABEL;
    this.label = label;
    const x = (at) => label + (at - begin) / (end - begin) * (width - label);
    this.note.textContent = time((end - begin) * 1e3) + (num(data.lost) ? ', ' + count(data.lost) + ' older events overwritten' : '');
    // The axis, with about one line per 110 pixels.
    const rough = (end - begin) / Math.max(2, (width - label) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    for (let at = Math.ceil(begin / step) * step; at <= end; at += step) {
      pen.fillStyle = color('line');
      pen.fillRect(Math.round(x(at)), AXIS - 6, 1, height - AXIS + 6);
      pen.fillStyle = color('muted');
      const ago = span - at;
      const text = ago < step / 2 ? 'now' : '−' + time(ago * 1e3);
      const room = pen.measureText(text).width;
      if (x(at) + 4 + room < width) pen.fillText(text, x(at) + 4, 8);
    }
    const fills = { poll: color('poll'), job: color('job'), batch: color('poll'), region: color('region'), park: color('park'), spare: color('driver'), blocking: color('blocking'), stall: color('bad') };
    for (const track of tracks) {
      const tall = track.depth > 1 ? LANE * 0.75 : LANE;
      pen.fillStyle = color('raised');
      pen.fillRect(label, track.y, width - label, LANE * Math.min(3, track.depth) * (track.depth > 1 ? 0.75 : 1));
      pen.fillStyle = color('text');
      pen.fillText(label < LABEL ? track.name.replace('worker ', 'w').replace('blocking ', 'b').slice(0, 5) : track.name, 0, track.y + tall / 2);
      for (const slice of track.slices) {
        const [kind, name, at, took, n] = slice, left = Math.max(label, x(at)), right = Math.min(width, x(at + took));
        if (right < label || left > width || slice.depth > 2) continue;
        const top = track.y + slice.depth * tall, wide = Math.max(right - left, 1);
        pen.fillStyle = fills[kind] || fills.poll;
        // Slices that stand for several polls or jobs are pale, and a parked worker is a thin line.
        pen.globalAlpha = n > 1 ? 0.75 : 1;
        pen.fillRect(left, top + (kind === 'park' ? tall / 2 - 2 : 1), wide, kind === 'park' ? 4 : tall - 2);
        pen.globalAlpha = 1;
        if (wide > 46 && kind !== 'park') {
          pen.save();
          pen.beginPath();
          pen.rect(left, top, wide - 4, tall);
          pen.clip();
          pen.fillStyle = color('panel');
          pen.fillText((n > 1 ? n + ' × ' : '') + short(data.names[name]), left + 5, top + tall / 2 + 0.5);
          pen.restore();
        }
      }
      for (const [kind, , at] of track.marks) {
        if (x(at) < label || x(at) > width) continue;
        const bad = kind === 'stall' || kind === 'rescue';
        pen.fillStyle = color(bad ? 'bad' : kind === 'steal' ? 'search' : 'muted');
        if (bad) pen.fillRect(x(at) - 1, track.y, 2, LANE);
        else pen.fillRect(x(at), track.y + LANE - 3, 1, 3);
      }
    }
    if (this.drag) {
      pen.fillStyle = color('accent-fill');
      pen.globalAlpha = 0.2;
      pen.fillRect(Math.min(this.drag.x, this.drag.now), AXIS - 6, Math.abs(this.drag.now - this.drag.x), height);
      pen.globalAlpha = 1;
    }
  },
  press(event) {
    const box = this.canvas.getBoundingClientRect();
    const at = (moved) => Math.min(box.width, Math.max(this.label, moved.clientX - box.left));
    this.drag = { x: at(event), now: at(event) };
    hideTip();
    const move = (moved) => { this.drag.now = at(moved); this.draw(); };
    const done = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', done);
      removeEventListener('pointercancel', done);
      const [left, right] = [Math.min(this.drag.x, this.drag.now), Math.max(this.drag.x, this.drag.now)];
      const share = (px) => this.from + (px - this.label) / (box.width - this.label) * (this.to - this.from);
      this.drag = null;
      if (right - left > 4 && (share(right) - share(left)) * this.span() > 0.05) {
        [this.from, this.to] = [share(left), share(right)];
        if (this.follows) { this.follows = false; this.button.setAttribute('aria-pressed', 'false'); }
      }
      this.draw();
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', done);
    addEventListener('pointercancel', done);
  },
  hover(event) {
    if (!this.data || this.drag || event.pointerType === 'touch') return;
    const box = this.canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    const span = this.span(), per = (this.to - this.from) * span / (box.width - this.label);
    const at = this.from * span + (px - this.label) * per;
    const track = this.data.tracks.find((own) => py >= own.y && py < own.y + LANE * Math.min(3, own.depth) * (own.depth > 1 ? 0.75 : 1));
    if (!track || px < this.label) return hideTip();
    const tall = track.depth > 1 ? LANE * 0.75 : LANE, depth = Math.floor((py - track.y) / tall);
    const mark = track.marks.find(([, , when]) => Math.abs(when - at) < 3 * per);
    const slice = track.slices.findLast((own) => own.depth === depth && own[2] - per <= at && at <= own[2] + own[3] + per);
    if (!slice && !mark) return hideTip();
    const lines = [];
    if (slice) {
      lines.push(el('strong', null, (slice[4] > 1 ? slice[4] + ' × ' : '') + this.data.names[slice[1]]),
        el('span', { class: 'muted' }, slice[0] + ' on ' + track.name + ', ' + time(slice[3] * 1e3) + (slice[5] ? ', goes on' : '')));
    }
    if (mark) lines.push(el('div', null, mark[0] + ': ' + this.data.names[mark[1]]));
    showTip(event, lines);
  },
};

/// Shows a stall from its start to now, in place of the slice of the stalled poll or job.
function withStall(track, stall, span, names) {
  const task = stall.task || {};
  const begin = Math.max(0, span - num(stall.since_ns) / 1e3);
  names.push(task.name || task.type || 'a job');
  track.slices = track.slices.filter((slice) => slice[2] + slice[3] <= begin + 1000 && !slice[5]);
  track.slices.push(['stall', names.length - 1, begin, span - begin, 1, 1]);
}

/// Sets the depth of each slice: how many slices lie around it.
function nest(track) {
  const ends = [];
  track.depth = 1;
  for (const slice of track.slices) {
    const [, , at, took] = slice;
    while (ends.length && ends[ends.length - 1] <= at + 1e-6) ends.pop();
    slice.depth = ends.length;
    ends.push(at + took);
    track.depth = Math.max(track.depth, ends.length);
  }
}

function showTip(event, lines) {
  let tip = $('tip');
  if (!tip) document.body.append(tip = el('div', { id: 'tip' }));
  tip.replaceChildren(...lines);
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + 'px';
}

function hideTip() { $('tip')?.remove(); }

// ---- The page --------------------------------------------------------------------------------

const VIEWS = { overview, workers: workersView, timeline, tasks, stalls: stallsView, explain };
let current = null;

function show() {
  takeToken();
  const name = location.hash.slice(1).split('&')[0];
  const next = VIEWS[name] || overview;
  for (const tab of $('tabs').children) tab.toggleAttribute('aria-current', VIEWS[tab.dataset.view] === next);
  hideTip();
  if (next === current) return;
  current = next;
  const root = $('view');
  root.replaceChildren();
  if (next.mount) next.mount(root);
  refresh();
}

function refresh() {
  // Drawing the page anew would clear text that the user has selected.
  if (current && (current.mount || String(getSelection()) === '')) current.update($('view'));
}

async function download() {
  const button = $('download');
  button.disabled = true;
  try {
    const response = await ask('trace', { seconds: 10, format: 'perfetto' });
    const address = URL.createObjectURL(await response.blob());
    const save = el('a', { href: address, download: 'blitz-' + (live.summary ? live.summary.pid : 'trace') + '.pftrace' });
    save.click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  } catch (error) {
    $('notice').hidden = false;
    $('notice').textContent = 'No trace: ' + error.message;
  }
  button.disabled = false;
}

$('tabs').replaceChildren(...Object.entries(VIEWS).map(([name, view]) => el('a', { href: '#' + name, 'data-view': name }, view.title)));
$('download').addEventListener('click', download);
$('pool').addEventListener('change', (change) => {
  live.pool = change.target.value;
  Object.assign(live, { summary: null, workers: null, workersBefore: null, stalls: null, history: [] });
  for (const view of Object.values(VIEWS)) if ('data' in view) view.data = null;
  const again = current;
  current = null;
  show(again);
  follow();
});
addEventListener('hashchange', show);
addEventListener('resize', () => { if (current === timeline) timeline.draw(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (current === timeline) timeline.draw(); });
show();
follow();
