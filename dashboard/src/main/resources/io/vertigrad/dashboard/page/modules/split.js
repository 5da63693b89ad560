// Shows which part of its time each worker computes, exchanges, and waits for data.

import { byId, element, fillChildren, setText } from './dom.js';
import { count } from './format.js';
import { ofRank } from './palette.js';

const PARTS = [
  ['computing', 'computing'],
  ['exchanging', 'exchanging'],
  ['waitingForData', 'waiting for data'],
];

export class Split {
  constructor() {
    const key = element('ul', { class: 'legend' });
    for (const [name, text] of PARTS) {
      key.append(element('li', {}, element('span', { class: `swatch ${name}` }), text));
    }
    this.rows = element('div', { class: 'rows' });
    this.empty = element('p', { class: 'empty' }, 'No step has been reported yet.');
    byId('split').append(key, this.rows, this.empty);
  }

  show(run) {
    const workers = run
      .of('worker')
      .filter((worker) => Number.isFinite(worker.computing) || worker.condition === 'lost');
    this.empty.hidden = workers.length > 0;
    fillChildren(this.rows, workers, row, (child, worker) => fill(child, worker, run));
  }
}

function row() {
  return element(
    'div',
    { class: 'split' },
    element('span', { class: 'name' }, element('span', { class: 'swatch' }), element('span')),
    element('div', { class: 'parts', role: 'img' }, ...PARTS.map(([name]) => element('div', { class: name }))),
    element('span', { class: 'value' }),
  );
}

function fill(row, worker, run) {
  const [name, parts, value] = row.children;
  name.firstChild.style.background = ofRank(worker.rank);
  setText(name.lastChild, run.called(worker));
  row.dataset.condition = worker.condition;
  const shares = shareOf(worker);
  const gone = worker.condition === 'lost' || worker.condition === 'left';
  PARTS.forEach(([key], i) => {
    const part = parts.children[i];
    part.style.width = `${100 * shares[key]}%`;
    setText(part, !gone && shares[key] * parts.clientWidth > 34 ? `${Math.round(100 * shares[key])} %` : '');
  });
  parts.setAttribute(
    'aria-label',
    PARTS.map(([key, text]) => `${Math.round(100 * shares[key])} percent ${text}`).join(', '),
  );
  setText(value, gone ? worker.condition : `${count(worker.samplesPerSecond)} /s`);
}

/** Returns a worker's shares of the time that it accounts for, 0 to 1. */
export function shareOf(worker) {
  const all = PARTS.reduce((sum, [key]) => sum + (worker[key] || 0), 0) || 1;
  return Object.fromEntries(PARTS.map(([key]) => [key, (worker[key] || 0) / all]));
}
