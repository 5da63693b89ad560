// Shows which samples each worker has if workers do not share them: how many, and how many of each label.

import { byId, element, fillChildren, setText } from './dom.js';
import { count } from './format.js';

/** More columns than this are not readable; the rows then have the totals only. */
const MOST_LABELS = 20;

export class Own {
  constructor() {
    this.head = element('tr');
    this.body = element('tbody');
    this.note = element('p', { class: 'note' });
    byId('own').append(
      element('div', { class: 'scroll' }, element('table', {}, element('thead', {}, this.head), this.body)),
      this.note,
    );
  }

  show(run) {
    const workers = run.of('worker').filter((worker) => Number.isFinite(worker.ownSamples));
    byId('own-panel').hidden = workers.length === 0;
    const all = Math.max(0, ...workers.map((worker) => worker.ownLabels.length));
    const labels = all > MOST_LABELS ? [] : [...Array(all).keys()].map((label) => run.classes?.[label] ?? label);
    fillChildren(this.head, ['Worker', 'Samples', ...labels], () => element('th', { scope: 'col' }), setText);
    fillChildren(this.body, workers, () => element('tr'), (row, worker) => {
      const most = Math.max(1, ...worker.ownLabels);
      const cells = labels.map((label, k) => {
        const samples = worker.ownLabels[k] ?? 0;
        return { text: samples === 0 ? '' : count(samples), share: Math.round((40 * samples) / most) };
      });
      const own = [{ text: run.called(worker), share: 0 }, { text: count(worker.ownSamples), share: 0 }];
      fillChildren(row, [...own, ...cells], () => element('td'), (cell, { text, share }) => {
        setText(cell, text);
        cell.style.background = `color-mix(in srgb, var(--accent) ${share}%, transparent)`;
      });
    });
    setText(this.note, all > MOST_LABELS ? `The samples of each of the ${all} labels are in the summary of the run.` : '');
  }
}
