// Draws the scalars that a strategy, a model or another verticle reports: one chart for each name, a line for
// each source. Those of the workers' updates have a panel of their own.

import { Chart, rising } from './charts.js';
import { byId, element, setText } from './dom.js';
import { count, many, significant } from './format.js';
import { ofRank, onThemeChange } from './palette.js';

/** Sorts worker 10 after worker 9. */
const { compare } = new Intl.Collator('en', { numeric: true });

export const ofUpdates = (name) => name.startsWith('update.');

export class Scalars {
  /** Creates a panel for the names that `drawn` accepts; `above` are elements over its charts. */
  constructor(id = 'scalars', title = 'Scalars', drawn = (name) => !ofUpdates(name), above = []) {
    this.drawn = drawn;
    this.charts = new Map();
    this.grid = element('div', { class: 'history' });
    this.note = element('p', { class: 'note' });
    this.panel = element(
      'section',
      { id, class: 'panel full', 'aria-labelledby': `${id}-title`, hidden: '' },
      element('h2', { id: `${id}-title` }, title),
      ...above,
      this.grid,
      this.note,
    );
    byId('nodes').closest('section').before(this.panel);
    this.axes = [...document.getElementsByName('axis')];
    this.axes.forEach((radio) => radio.addEventListener('change', () => this.#again()));
    onThemeChange(() => this.#again());
  }

  show(run) {
    this.run = run;
    this.axis = this.axes.find((radio) => radio.checked)?.value ?? 'time';
    const names = [...run.scalars.keys()].filter(this.drawn).sort(compare);
    this.panel.hidden = names.length === 0;
    for (const [name, { host }] of this.charts) {
      if (!run.scalars.has(name)) {
        host.remove();
        this.charts.delete(name);
      }
    }
    names.forEach((name, i) => this.#chart(name, i).show(this.#lines(name), this.axis, [], this.#end(name)));
    setText(this.note, [...names.map((name) => remark(name, run)), leftOut(run)].filter(Boolean).join(' '));
  }

  #again() {
    if (this.run) {
      this.show(this.run);
    }
  }

  /** Returns the chart of a name, the i-th of all. */
  #chart(name, i) {
    if (!this.charts.has(name)) {
      const host = element('div', { class: 'chart', role: 'group', 'aria-label': name, 'data-scalar': name });
      this.grid.insertBefore(host, this.grid.children[i] ?? null);
      const options = { label: name, title: name, value: (value) => significant(value, 4), empty: 'No finite value yet.' };
      this.charts.set(name, { host, chart: new Chart(host, options) });
    }
    return this.charts.get(name).chart;
  }

  #lines(name) {
    return this.#sources(name).map(([source, columns], i) =>
      rising(this.axis, {
        name: source,
        color: ofRank(i),
        x: this.#along(columns),
        y: columns.value,
        segment: columns.segment,
      }),
    );
  }

  #sources(name) {
    return [...this.run.scalars.get(name)].sort(([one], [other]) => compare(one, other));
  }

  #along(columns) {
    const start = this.run.startMillis;
    return this.axis === 'time' ? columns.timeMillis.map((t) => Math.max(0, (t - start) / 1000)) : columns[this.axis];
  }

  #end(name) {
    const { run } = this;
    const ends = { time: run.spanSeconds, version: run.state.version, samples: run.state.samples, bytes: run.sentBytes };
    const last = this.#lines(name).map(({ x }) => x.at(-1) ?? 0);
    return Math.max(1, ends[this.axis] ?? 1, ...last);
  }
}

/** Says what the chart of a name does not draw: values between two points, and those that are not finite. */
function remark(name, run) {
  const sources = [...run.scalars.get(name).values()];
  const sum = (key) => sources.reduce((all, source) => all + (source[key] ?? 0), 0);
  const drawn = sources.reduce((all, source) => all + source.value.length, 0);
  const gaps = sum('notFinite') > 0 ? `${count(sum('notFinite'))} not finite, which leave gaps` : '';
  const between = sum('reports') > drawn ? `${count(drawn)} drawn` : '';
  const parts = [between, gaps].filter(Boolean).join('; ');
  return parts && `${name}: ${many(sum('reports'), 'value')} reported, ${parts}.`;
}

function leftOut(run) {
  const events = run.state.scalarsLeftOut ?? 0;
  return events > 0 ? `${many(events, 'report')} of further names or sources are not shown: the page has 128 lines.` : '';
}
