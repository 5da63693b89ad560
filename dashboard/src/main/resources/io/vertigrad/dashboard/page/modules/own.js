// Shows which samples each worker has if workers do not share them: how many, and how many of each label.

import { byId, element, setText } from './dom.js';
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
    resize(this.head, 'th', labels.length + 2, { scope: 'col' });
    ['Worker', 'Samples', ...labels].forEach((text, i) => setText(this.head.children[i], text));
    while (this.body.children.length > workers.length) {
      this.body.lastChild.remove();
    }
    workers.forEach((worker, i) => {
      const row = this.body.children[i] ?? this.body.appendChild(element('tr'));
      resize(row, 'td', labels.length + 2, {});
      setText(row.children[0], run.called(worker));
      setText(row.children[1], count(worker.ownSamples));
      const most = Math.max(1, ...worker.ownLabels);
      labels.forEach((label, k) => {
        const samples = worker.ownLabels[k] ?? 0;
        const cell = row.children[k + 2];
        setText(cell, samples === 0 ? '' : count(samples));
        cell.style.background = `color-mix(in srgb, var(--accent) ${Math.round((40 * samples) / most)}%, transparent)`;
      });
    });
    setText(this.note, all > MOST_LABELS ? `The samples of each of the ${all} labels are in the summary of the run.` : '');
  }
}

function resize(row, name, length, attributes) {
  while (row.children.length < length) {
    row.append(element(name, attributes));
  }
  while (row.children.length > length) {
    row.lastChild.remove();
  }
}
