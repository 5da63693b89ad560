// Shows the staleness of applied gradients, and the outcome of partitions at the servers.

import { byId, element, fillChildren, setText } from './dom.js';
import { count, significant, staleness } from './format.js';

const OUTCOMES = [
  ['applied', 'applied'],
  ['late', 'late'],
  ['duplicate', 'duplicate'],
  ['tooStale', 'too stale'],
  ['refused', 'refused'],
];

/** The outcomes of all updates, each counted once; known when the run is over. */
const LEDGER = [
  ['sent', 'sent'],
  ['applied', 'applied'],
  ['late', 'late'],
  ['tooStale', 'too stale'],
  ['refused', 'refused'],
  ['lost', 'lost'],
  ['rolledBack', 'undone and repeated'],
];
const NO_TROUBLE = new Set(['sent', 'applied', 'rolledBack']);

export class Staleness {
  constructor() {
    this.bars = element('div', { class: 'rows' });
    this.mean = element('p', { class: 'note' });
    byId('staleness').append(this.bars, this.mean);
    [this.list, this.counters] = counterList(OUTCOMES);
    [this.ledger, this.ledgerCounters] = counterList(LEDGER);
    this.ledger.hidden = true;
    this.problems = element('ul', { class: 'note' });
    this.replicas = element('p', { class: 'note' });
    byId('updates').append(this.list, this.ledger, this.problems, this.replicas);
  }

  show(run) {
    this.#histogram(run.of('worker'));
    const servers = run.of('server');
    for (const [key, value] of this.counters) {
      const sum = servers.reduce((all, server) => all + (server[key] ?? 0), 0);
      setText(value, count(sum));
      value.parentElement.toggleAttribute('data-some', sum > 0 && key !== 'applied');
    }
    this.#ledger(run.state.updates);
    const distance = run.state.consensusDistance;
    setText(
      this.replicas,
      run.run.servers > 0
        ? ''
        : `No servers: workers exchange among themselves.${distance === undefined ? '' : ` Consensus distance ${significant(distance, 2)}.`}`,
    );
  }

  #ledger(updates) {
    const known = updates?.sent !== undefined;
    this.list.hidden = known;
    this.ledger.hidden = !known;
    const problems = (known && updates.problems) || [];
    if (problems.length !== this.problems.children.length) {
      this.problems.replaceChildren(...problems.map((text) => element('li', {}, text)));
    }
    for (const [key, value] of this.ledgerCounters) {
      const n = updates?.[key] ?? 0;
      setText(value, count(n));
      value.parentElement.toggleAttribute('data-some', n > 0 && !NO_TROUBLE.has(key));
    }
  }

  #histogram(workers) {
    const sums = new Map();
    for (const worker of workers) {
      for (const [age, n] of Object.entries(worker.staleness ?? {})) {
        sums.set(Number(age), (sums.get(Number(age)) ?? 0) + n);
      }
    }
    const bars = binned(sums);
    const most = Math.max(1, ...bars.map((bar) => bar.n));
    const all = bars.reduce((sum, bar) => sum + bar.n, 0);
    fillChildren(this.bars, bars, histogramRow, (row, bar) => {
      setText(row.children[0], bar.name);
      row.children[1].firstChild.style.width = `${(100 * bar.n) / most}%`;
      setText(row.children[2], count(bar.n));
    });
    const total = [...sums].reduce((sum, [age, n]) => sum + age * n, 0);
    setText(
      this.mean,
      all > 0
        ? `${staleness(total / all)} updates old on average`
        : 'Counted where servers apply gradients.',
    );
  }
}

/** Returns a list of counters, and the element of each counter's value. */
function counterList(names) {
  const values = new Map();
  const list = element('dl', { class: 'counters' });
  for (const [key, text] of names) {
    const value = element('dd', {}, '0');
    values.set(key, value);
    list.append(element('div', { 'data-outcome': key }, element('dt', {}, text), value));
  }
  return [list, values];
}

/** Returns one bar per age up to 3; each later bar covers twice as many ages as the one before. */
function binned(sums) {
  if (sums.size === 0) {
    return [];
  }
  const oldest = Math.max(...sums.keys());
  const bars = [];
  for (let first = 0, width = 1; first <= oldest; first += width) {
    width = first < 4 ? 1 : first;
    const last = first + width - 1;
    let n = 0;
    for (const [age, some] of sums) {
      n += age >= first && age <= last ? some : 0;
    }
    bars.push({ name: width === 1 ? String(first) : `${first}–${last}`, n });
  }
  return bars;
}

function histogramRow() {
  return element(
    'div',
    { class: 'histogram' },
    element('span', { class: 'name' }),
    element('div', { class: 'track' }, element('div')),
    element('span', { class: 'value' }),
  );
}
