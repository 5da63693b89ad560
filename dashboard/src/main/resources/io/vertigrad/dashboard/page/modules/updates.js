// Lists for each worker how far its updates are from what was accepted, as a strategy that combines them robustly
// reports it, and draws both over time.

import { element, fillChildren, setText } from './dom.js';
import { count, fixed, percent } from './format.js';
import { ofUpdates, Scalars } from './scalars.js';

/** The columns of the table: title, and the text for a worker's updates. */
const COLUMNS = [
  ['Distance', ({ distance }) => fixed(distance, 2)],
  ['Cosine', ({ cosine }) => fixed(cosine, 2)],
  ['Left out', ({ leftOut, expelledSince }) => (expelledSince === undefined ? percent(100 * leftOut) : `since version ${count(expelledSince)}`)],
  ['Found', ({ sentence }) => sentence ?? ''],
];

export class Updates extends Scalars {
  constructor() {
    const body = element('tbody');
    const head = element('tr', {}, ...['Worker', ...COLUMNS.map(([title]) => title)].map((title) => element('th', { scope: 'col' }, title)));
    const table = element('table', {}, element('thead', {}, head), body);
    const legend = 'Medians of the last reports. Distance from what was accepted: 1 is usual. Cosine with it: below 0 points the other way.';
    super('updates-by-worker', 'Updates of each worker', ofUpdates, [element('div', { class: 'scroll' }, table), element('p', { class: 'muted' }, legend)]);
    this.body = body;
  }

  show(run) {
    super.show(run);
    const workers = run.of('worker').filter(({ update }) => update);
    this.panel.hidden = workers.length === 0;
    fillChildren(this.body, workers, row, (child, { rank, update }) => fill(child, rank, update));
  }
}

const row = () => element('tr', {}, element('td'), ...COLUMNS.map(() => element('td')));

function fill(row, rank, update) {
  const texts = [`worker ${rank}`, ...COLUMNS.map(([, text]) => text(update))];
  texts.forEach((text, i) => setText(row.children[i], text));
  row.toggleAttribute('data-outlier', Boolean(update.finding));
}
