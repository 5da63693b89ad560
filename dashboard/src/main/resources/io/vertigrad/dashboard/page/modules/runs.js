// Shows the runs of a folder: a list that renews itself, and the curves of the runs that are checked in it.
// docs/reference/metrics.md describes the input.

import { byId, fillOptions, setText } from './dom.js';
import { clock, count, many } from './format.js';
import { dashOf, ofRank, onThemeChange } from './palette.js';
import { RunArchive } from './runs-archive.js';
import { RunCharts } from './runs-charts.js';
import {
  columnsOf,
  firstDrawn,
  legendsOf,
  matches,
  severalData,
  sorted,
  unknownKeys,
  verdictOf,
  winnersIn,
} from './runs-columns.js';
import { RunDetails } from './runs-details.js';
import { showSide } from './runs-side.js';
import { RunSweep } from './runs-sweep.js';
import { RunTable } from './runs-table.js';
import { token } from './token.js';

const POLL_MILLIS = 2000;

/** After a longer silence the page says that nothing answers. */
const SILENT_MILLIS = 2700;
const LISTEN_MILLIS = 250;
const ANSWER_MILLIS = 30_000;

/** Number of runs in the charts until the reader checks others. */
const FIRST = 8;

/** Number of columns of settings until the reader asks for more. */
const SETTINGS = 4;

/** Most runs whose curves one request asks for, and whose names the address keeps. */
const AT_ONCE = 16;

const ORDER = 'falling startedMillis';

/** The group that the address names when the reader wants none. */
const UNGROUPED = 'nothing';

const NOTHING = { timeMillis: [], version: [], loss: [], segment: [], accuracy: [] };

class Runs {
  constructor() {
    this.kept = new URLSearchParams(location.hash.slice(1));
    this.runs = [];
    this.curves = new Map();
    this.places = new Map();
    this.groupPlaces = new Map();
    this.few = SETTINGS;
    this.group = this.kept.get('group') ?? undefined;
    this.sort = sortOf(this.kept.get('sort') ?? ORDER);
    this.checked = this.kept.has('runs') ? new Set(this.kept.get('runs').split('/')) : null;
    this.charts = new RunCharts(this.kept.get('axis'), () => this.#show());
    this.sweep = new RunSweep((run) => this.#open(run));
    this.details = new RunDetails(token, (change) => this.#note(change));
    this.archive = new RunArchive(token, {
      mark: ({ name }, archived) => this.#note({ run: name, token, archived }),
      remove: (run) => this.#delete(run),
      show: () => this.#change(),
    });
    this.table = new RunTable(byId('list'), {
      check: ({ name }, on) => this.#check((names) => (on ? names.add(name) : names.delete(name))),
      sort: ({ key, falling }) => this.#order(key, this.sort.key === key ? !this.sort.falling : Boolean(falling)),
      details: (run) => this.#open(run),
    });
    byId('filter').value = this.kept.get('filter') ?? '';
    this.#listenToReader();
    this.heardAt = performance.now();
    setInterval(() => this.#say(), LISTEN_MILLIS);
    this.#poll();
  }

  #listenToReader() {
    byId('filter').addEventListener('input', () => this.#change());
    byId('group').addEventListener('change', () => {
      this.group = byId('group').value || UNGROUPED;
      this.groupPlaces.clear();
      this.#show();
    });
    byId('sort').addEventListener('change', () => {
      const { key, falling } = sortOf(byId('sort').value);
      this.#order(key, falling);
    });
    const checkAll = (names) => this.listed.forEach(({ name }) => names.add(name));
    byId('all').addEventListener('click', () => this.#check(checkAll));
    byId('none').addEventListener('click', () => this.#check((names) => names.clear()));
    byId('more').addEventListener('click', () => {
      this.few = this.few === SETTINGS ? Infinity : SETTINGS;
      this.#show();
    });
    onThemeChange(() => this.#show());
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) {
        this.heardAt = performance.now();
        this.#poll();
      }
    });
  }

  /** Asks for the list, and again a while after the answer. */
  async #poll() {
    if (this.asking || document.hidden) {
      return;
    }
    clearTimeout(this.timer);
    this.asking = true;
    let answer = null;
    try {
      answer = await ask('runs');
      this.heardAt = performance.now();
      this.answeredAt = Date.now();
      this.failure = null;
    } catch (error) {
      this.failure = error;
    }
    this.asking = false;
    this.timer = setTimeout(() => this.#poll(), POLL_MILLIS);
    if (answer) {
      this.#take(answer);
    }
    this.#say();
  }

  /** Says how many runs there are, or that nothing answers. */
  #say() {
    const late = this.asking && performance.now() - this.heardAt > SILENT_MILLIS;
    const since = this.answeredAt ? `since ${clock(this.answeredAt)}` : 'yet';
    const silence = `no answer from vertigrad ui ${since}; is it still running?`;
    const wrong = late || this.failure?.silent ? silence : this.failure?.message;
    const running = this.runs.filter(({ state }) => state === 'running').length;
    const words = this.answeredAt ? `${many(this.runs.length, 'run')}, ${count(running)} running` : 'loading';
    byId('line').dataset.state = wrong ? 'lost' : this.answeredAt ? 'connected' : 'loading';
    setText(byId('line'), wrong ?? words);
  }

  #take({ folder, runs }) {
    const before = new Set(this.runs.map(({ name }) => name));
    for (const { name, state } of runs) {
      // A run that begins joins those that the reader has checked.
      if (this.checked && this.listed && state === 'running' && !before.has(name)) {
        this.checked.add(name);
      }
    }
    this.folder = folder;
    this.runs = runs;
    const names = new Set(runs.map(({ name }) => name));
    [...this.curves.keys()].filter((name) => !names.has(name)).forEach((name) => this.curves.delete(name));
    this.#change();
  }

  #check(change) {
    if (!this.answeredAt) {
      return;
    }
    this.checked = this.checked ?? new Set(this.shown.map(({ name }) => name));
    change(this.checked);
    this.#change();
  }

  #order(key, falling) {
    this.sort = { key, falling };
    this.#show();
  }

  #change() {
    if (this.answeredAt) {
      this.#show();
      this.#fetch();
    }
  }

  /** Gets the curves that are missing or have changed, all of them before they are drawn. */
  async #fetch() {
    this.again = true;
    if (this.fetching) {
      return;
    }
    this.fetching = true;
    while (this.again) {
      this.again = false;
      const wanted = this.#wanted();
      if (wanted.length === 0 && !this.problem) {
        continue;
      }
      const parts = [];
      for (let i = 0; i < wanted.length; i += AT_ONCE) {
        parts.push(this.#fetchSome(wanted.slice(i, i + AT_ONCE)));
      }
      const failures = (await Promise.all(parts)).filter(Boolean);
      this.problem = failures.length > 0 ? `Curves are missing: ${failures[0].message}` : '';
      this.#show();
    }
    this.fetching = false;
    document.body.dataset.ready = 'true';
  }

  /** Gets the curves of a few runs; returns the error, if any. */
  async #fetchSome(wanted) {
    try {
      const { runs } = await ask(`curves?${wanted.map(({ name }) => `run=${encodeURIComponent(name)}`).join('&')}`);
      for (const run of runs) {
        const { changed } = wanted.find(({ name }) => name === run.name);
        this.curves.set(run.name, { training: NOTHING, tests: NOTHING, ...run, changed });
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #wanted() {
    const { curves } = this;
    return this.shown.filter(({ name, changed }) => !curves.has(name) || curves.get(name).changed !== changed);
  }

  async #note(change) {
    const parts = await ask('notes', posted(change));
    const run = this.runs.find(({ name }) => name === change.run);
    const cleared = { label: undefined, tags: undefined, note: undefined, kept: undefined, archived: undefined };
    Object.assign(run ?? {}, cleared, parts);
    this.#change();
  }

  /** Opens the details of a run; what they archive and delete is this run. */
  #open(run) {
    this.archive.offer(run);
    this.details.open(run);
  }

  async #delete({ name }) {
    await ask('delete', posted({ run: name, token }));
    this.runs = this.runs.filter((run) => run.name !== name);
    this.#change();
  }

  #show() {
    if (!this.answeredAt) {
      return;
    }
    const filter = byId('filter').value.trim();
    const found = (run) => filter === '' || matches(run, filter);
    this.listed = this.archive.listed(this.runs).filter(found);
    const columns = columnsOf(this.runs, this.listed);
    const by = columns.find(({ key }) => key === this.sort.key) ?? columns[0];
    const runs = sorted(this.listed, by, this.sort.falling);
    const { checked } = this;
    const chosen = new Set(checked ? this.listed.filter(({ name }) => checked.has(name)) : firstDrawn(this.listed, FIRST));
    const winners = winnersIn(this.listed);
    const drawn = runs.filter((run) => chosen.has(run));
    this.shown = [...drawn.filter(({ name }) => winners.has(name)), ...drawn.filter(({ name }) => !winners.has(name))];
    const key = this.group ?? (severalData(this.listed) ? 'data' : '');
    const group = columns.find((column) => column.key === key);
    const parts = group ? grouped(runs, group) : [{ runs }];
    // Runs on other data are apart by themselves; then each run keeps a colour of its own.
    const looks = this.#looks(this.group ? parts : [{ runs }]);
    const order = { key: by.key, falling: this.sort.falling };
    const list = (visible) => this.table.show(parts, visible, order, ({ name }) => looks.get(name), winners);
    this.#fit(columns, list);
    this.#words(filter);
    fillOptions(byId('group'), [['', 'nothing'], ...columns.map(({ key, title }) => [key, title])], group?.key ?? '');
    const orders = columns.flatMap(({ key, title }) =>
      ['falling', 'rising'].map((direction) => [`${direction} ${key}`, `${title}, ${direction}`]),
    );
    fillOptions(byId('sort'), orders, `${this.sort.falling ? 'falling' : 'rising'} ${by.key}`);
    this.sweep.show(this.listed);
    this.#draw(looks);
    showSide(this.shown, columns, ({ name }) => this.curves.get(name));
    this.#remember(filter);
  }

  /** Shows the list with as many settings as there is room for; `list` shows these columns. */
  #fit(columns, list) {
    const host = byId('list');
    const state = JSON.stringify([host.clientWidth, this.few, columns.map(({ key }) => key)]);
    this.fits = state === this.fitted ? this.fits : SETTINGS;
    list(this.#visible(columns));
    while (this.few === SETTINGS && this.fits > 0 && host.scrollWidth > host.clientWidth) {
      this.fits--;
      list(this.#visible(columns));
    }
    this.fitted = state;
  }

  /** Returns the columns without those in which all runs are equal, and further settings, until the reader asks for them. */
  #visible(columns) {
    const settings = columns.filter(({ setting }) => setting);
    const further = [...settings.slice(this.fits), ...columns.filter(({ constant }) => constant)];
    const all = this.few > SETTINGS;
    byId('more').hidden = further.length === 0;
    byId('more').setAttribute('aria-expanded', all);
    setText(byId('more'), all ? 'fewer columns' : many(further.length, 'more column'));
    const hidden = new Set(all ? [] : further.filter(({ key }) => ![this.group, this.sort.key].includes(key)));
    return columns.filter((column) => !hidden.has(column));
  }

  /** Returns the colour and the dashes of each run in the charts, those of its group when they are grouped. */
  #looks(parts) {
    const names = new Set(this.shown.map(({ name }) => name));
    [...this.places.keys()].filter((name) => !names.has(name)).forEach((name) => this.places.delete(name));
    this.shown.forEach(({ name }) => place(this.places, name));
    const looks = new Map();
    for (const { title, runs } of parts) {
      for (const { name } of runs.filter(({ name }) => names.has(name))) {
        const rank = title === undefined ? this.places.get(name) : place(this.groupPlaces, title);
        looks.set(name, { color: ofRank(rank), dash: dashOf(rank) });
      }
    }
    return looks;
  }

  #words(filter) {
    document.body.classList.remove('loading');
    document.body.classList.toggle('nothing', this.runs.length === 0);
    setText(byId('folder'), `in ${this.folder}`);
    const unknown = unknownKeys(this.runs, filter).map((key) => ` No run has ${key}.`);
    const matched = `${this.listed.length} of ${many(this.runs.length, 'run')}.${unknown.join('')}`;
    setText(byId('filter-note'), filter === '' ? '' : matched);
    const empty = `There is no run in ${this.folder} yet. ./vertigrad train makes one; it appears here by itself.`;
    const verdict = this.listed.length > 0 ? verdictOf(this.listed) : filter === '' ? 'All runs are archived.' : 'No run matches the filter.';
    setText(byId('verdict'), this.runs.length > 0 ? verdict : empty);
  }

  #draw(looks) {
    const drawn = this.shown.filter(({ name }) => this.curves.has(name));
    const legends = legendsOf(this.shown);
    const curves = drawn.map(({ name }) => ({
      ...this.curves.get(name),
      name,
      legend: legends.get(name),
      look: looks.get(name),
    }));
    const missing = this.shown.length - drawn.length;
    const loading = missing > 0 && !this.problem ? `Loading the curves of ${many(missing, 'run')}.` : '';
    const why = this.shown.length === 0 ? 'No run is checked in the list.' : loading || this.problem;
    const { axis, smoothing, outliers } = this.charts;
    const lines = curves.map(({ name, legend, changed, look }) => [name, legend, changed, look]);
    const state = JSON.stringify([lines, axis, smoothing.value, outliers.checked, drawn.length === 0 && why]);
    if (state !== this.drawn) {
      this.drawn = state;
      this.undrawn = this.charts.show(curves, drawn.length === 0 ? why : '');
    }
    const thinned = this.charts.thinned ? 'Many points: the lines show means over thousandths of the axis.' : '';
    const told = this.undrawn.map((name) => {
      const { problem } = this.curves.get(name) ?? {};
      return problem ? `${name} (${problem})` : name;
    });
    const undrawn = told.length > 0 ? `Nothing to draw of ${few(told)}.` : '';
    const unsaved = curves.filter((run) => run.unsaved && run.state !== 'running').map(({ name }) => name);
    const read = unsaved.length > 0 ? `Read from all events, because curves.json is missing: ${few(unsaved)}.` : '';
    const outside = [...(this.charts.leftOut ?? [])];
    const cut = outside.length > 0 ? `Outside the scale until you choose all values: ${few(outside)}.` : '';
    const parts = [drawn.length > 0 && loading, this.problem, this.#unchosen(), cut, thinned, read, undrawn];
    setText(byId('drawn'), parts.filter(Boolean).join(' '));
  }

  /** Says how many runs are listed but not drawn, before the reader has chosen. */
  #unchosen() {
    const left = this.listed.filter((run) => !this.shown.includes(run));
    const wrong = left.filter(({ state, diverged }) => state === 'failed' || diverged).length;
    const words = `Drawn are the best, the newest and the running runs; ${count(left.length)} of those listed are not`;
    return this.checked || left.length === 0 ? '' : `${words}${wrong > 0 ? `, ${count(wrong)} because they failed or diverged` : ''}.`;
  }

  /** Keeps in the address what the reader has chosen. */
  #remember(filter) {
    const names = [...(this.checked ?? [])];
    const order = `${this.sort.falling ? 'falling' : 'rising'} ${this.sort.key}`;
    const chosen = {
      filter,
      group: this.group ?? '',
      sort: order === ORDER ? '' : order,
      axis: this.charts.axis === 'samples' ? '' : this.charts.axis,
      runs: names.length <= AT_ONCE ? names.join('/') : '',
    };
    const before = this.kept.toString();
    Object.entries(chosen).forEach(([key, value]) => (value ? this.kept.set(key, value) : this.kept.delete(key)));
    if (this.kept.toString() !== before) {
      history.replaceState(null, '', `#${this.kept}`);
    }
  }
}

/** Returns an order that is written as a direction and a key. */
function sortOf(text) {
  const [direction, ...key] = text.split(' ');
  return { key: key.join(' '), falling: direction === 'falling' };
}

function grouped(runs, column) {
  const parts = new Map();
  for (const run of runs) {
    const title = `${column.title}: ${(column.group ?? column.text)(run)}`;
    parts.set(title, parts.get(title) ?? { title, runs: [] });
    parts.get(title).runs.push(run);
  }
  return [...parts.values()];
}

/** Returns the first of several names. */
function few(names) {
  return names.slice(0, 4).join(', ') + (names.length > 4 ? ' and others' : '');
}

/** Returns the place of a name among the colours, the first free one for a new name. */
function place(places, name) {
  if (!places.has(name)) {
    const taken = new Set(places.values());
    places.set(name, [...Array(taken.size + 1).keys()].find((i) => !taken.has(i)));
  }
  return places.get(name);
}

/** Returns a request that changes something. */
function posted(change) {
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(change) };
}

/** Returns the JSON of an answer; throws an error that says in words why there is none. */
async function ask(path, request) {
  let response;
  let text;
  try {
    response = await fetch(path, { ...request, signal: AbortSignal.timeout(ANSWER_MILLIS) });
    text = await response.text();
  } catch {
    throw Object.assign(new Error('no answer from vertigrad ui; is it still running?'), { silent: true });
  }
  if (!response.ok) {
    throw new Error(refusal(text) || `vertigrad ui answered with status ${response.status}`);
  }
  return JSON.parse(text);
}

function refusal(text) {
  try {
    return JSON.parse(text).refused;
  } catch {
    return text.trim();
  }
}

new Runs();
