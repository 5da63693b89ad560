// Shows the runs of a folder: a list that renews itself, and the curves of the runs that are checked in it.
// docs/reference/metrics.md describes the input.

import { byId, element, setText } from './dom.js';
import { clock, count, many } from './format.js';
import { dashOf, ofRank, onThemeChange } from './palette.js';
import { RunCharts } from './runs-charts.js';
import { columnsOf, matches, sorted, unknownKeys, verdictOf, winnersIn } from './runs-columns.js';
import { RunDetails } from './runs-details.js';
import { showSide } from './runs-side.js';
import { RunSweep } from './runs-sweep.js';
import { RunTable } from './runs-table.js';

const POLL_MILLIS = 2000;

/** After a longer silence the page says that nothing answers. */
const SILENT_MILLIS = 2700;
const LISTEN_MILLIS = 250;
const ANSWER_MILLIS = 30_000;

/** Number of runs in the charts until the reader checks others. */
const NEWEST = 8;

/** Number of columns of settings until the reader asks for more. */
const SETTINGS = 4;

/** Most runs whose curves one request asks for, and whose names the address keeps. */
const AT_ONCE = 16;

const ORDER = 'falling startedMillis';

const NOTHING = { timeMillis: [], version: [], loss: [], segment: [], accuracy: [] };

class Runs {
  constructor() {
    this.kept = new URLSearchParams(location.hash.slice(1));
    this.runs = [];
    this.curves = new Map();
    this.places = new Map();
    this.groupPlaces = new Map();
    this.few = SETTINGS;
    this.group = this.kept.get('group') ?? '';
    this.sort = sortOf(this.kept.get('sort') ?? ORDER);
    this.checked = this.kept.has('runs') ? new Set(this.kept.get('runs').split('/')) : null;
    this.charts = new RunCharts(this.kept.get('axis'), () => this.#show());
    this.details = new RunDetails(this.kept.get('token'), (change) => this.#note(change));
    this.sweep = new RunSweep((run) => this.details.open(run));
    this.table = new RunTable(byId('list'), {
      check: ({ name }, on) => this.#check((names) => (on ? names.add(name) : names.delete(name))),
      sort: ({ key, falling }) => this.#order(key, this.sort.key === key ? !this.sort.falling : Boolean(falling)),
      details: (run) => this.details.open(run),
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
      this.group = byId('group').value;
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
    const parts = await ask('notes', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(change),
    });
    const run = this.runs.find(({ name }) => name === change.run);
    Object.assign(run ?? {}, { tags: undefined, note: undefined, kept: undefined }, parts);
    this.#show();
  }

  #show() {
    if (!this.answeredAt) {
      return;
    }
    const filter = byId('filter').value.trim();
    this.listed = this.runs.filter((run) => filter === '' || matches(run, filter));
    const columns = columnsOf(this.runs, this.listed);
    const visible = this.#visible(columns);
    const by = columns.find(({ key }) => key === this.sort.key) ?? columns[0];
    const runs = sorted(this.listed, by, this.sort.falling);
    const newest = this.listed.filter(({ state }) => state !== 'unreadable').slice(0, NEWEST);
    const chosen = new Set(this.checked ? this.listed.filter(({ name }) => this.checked.has(name)) : newest);
    this.shown = runs.filter((run) => chosen.has(run));
    const group = columns.find(({ key }) => key === this.group);
    const parts = group ? grouped(runs, group) : [{ runs }];
    const looks = this.#looks(parts);
    const order = { key: by.key, falling: this.sort.falling };
    this.table.show(parts, visible, order, ({ name }) => looks.get(name), winnersIn(this.listed));
    this.#words(filter);
    options(byId('group'), [['', 'nothing'], ...columns.map(({ key, title }) => [key, title])], group?.key ?? '');
    const orders = columns.flatMap(({ key, title }) =>
      ['falling', 'rising'].map((direction) => [`${direction} ${key}`, `${title}, ${direction}`]),
    );
    options(byId('sort'), orders, `${this.sort.falling ? 'falling' : 'rising'} ${by.key}`);
    this.sweep.show(this.listed);
    this.#draw(looks);
    showSide(this.shown, columns, ({ name }) => this.curves.get(name));
    this.#remember(filter);
  }

  /** Returns the columns without the settings that the reader has not asked for. */
  #visible(columns) {
    const settings = columns.filter(({ setting }) => setting);
    const left = settings.slice(SETTINGS).length;
    byId('more').hidden = left === 0;
    byId('more').setAttribute('aria-expanded', this.few > SETTINGS);
    setText(byId('more'), this.few > SETTINGS ? 'fewer settings' : many(left, 'more setting'));
    const hidden = new Set(settings.slice(this.few).filter(({ key }) => ![this.group, this.sort.key].includes(key)));
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
    const verdict = this.listed.length > 0 ? verdictOf(this.listed) : 'No run matches the filter.';
    setText(byId('verdict'), this.runs.length > 0 ? verdict : empty);
  }

  #draw(looks) {
    const drawn = this.shown.filter(({ name }) => this.curves.has(name));
    const curves = drawn.map(({ name }) => ({ ...this.curves.get(name), name, look: looks.get(name) }));
    const missing = this.shown.length - drawn.length;
    const loading = missing > 0 && !this.problem ? `Loading the curves of ${many(missing, 'run')}.` : '';
    const why = this.shown.length === 0 ? 'No run is checked in the list.' : loading || this.problem;
    const { axis, smoothing } = this.charts;
    const lines = curves.map(({ name, changed, look }) => [name, changed, look]);
    const state = JSON.stringify([lines, axis, smoothing.value, drawn.length === 0 && why]);
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
    const parts = [drawn.length > 0 && loading, this.problem, thinned, read, undrawn];
    setText(byId('drawn'), parts.filter(Boolean).join(' '));
  }

  /** Keeps in the address what the reader has chosen. */
  #remember(filter) {
    const names = [...(this.checked ?? [])];
    const order = `${this.sort.falling ? 'falling' : 'rising'} ${this.sort.key}`;
    const chosen = {
      filter,
      group: this.group,
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

function options(select, entries, chosen) {
  const state = JSON.stringify(entries);
  if (select.shown !== state) {
    select.shown = state;
    select.replaceChildren(...entries.map(([value, text]) => element('option', { value }, text)));
  }
  select.value = chosen;
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
