// Lists the processes, one row each: members and resource use; below, their use of resources over time.

import { Chart, rising } from './charts.js';
import { byId, element, fillChildren, setText } from './dom.js';
import { bytes, fixed, millis, NONE } from './format.js';
import { ofRank, onThemeChange } from './palette.js';

/**
 * The columns of the table: title, and the text for a node by the newest report of its members and the greatest value
 * of any of them.
 */
const COLUMNS = [
  ['CPU', ({ cores, processors }) => `${fixed(cores, 1)} of ${processors}`],
  ['Heap', ({ heapBytes, heapLimitBytes }) => `${bytes(heapBytes)} of ${bytes(heapLimitBytes)}`],
  ['Off-heap', ({ offHeapBytes }) => bytes(offHeapBytes)],
  ['Resident', ({ residentBytes }) => bytes(residentBytes)],
  ['Round trip p50', (newest, greatest) => millis(greatest('roundTripMillis50'))],
  ['p99', (newest, greatest) => millis(greatest('roundTripMillis99'))],
];
const TITLES = ['Node', 'Members', ...COLUMNS.map(([title]) => title)];

/** The charts over time: column of the history, title, format. */
const HISTORY = [
  ['cores', 'Busy processors of each node', (value) => fixed(value, 1)],
  ['heapBytes', 'Heap of each node', bytes],
  ['residentBytes', 'Resident memory of each node', bytes],
  ['busyGpus', 'Busy GPUs of each node', (value) => fixed(value, 1)],
  ['gpuBytes', 'Memory of the GPUs of each node', bytes],
];

export class Nodes {
  constructor() {
    this.body = element('tbody');
    const head = element('tr', {}, ...TITLES.map((name) => element('th', { scope: 'col' }, name)));
    byId('nodes').append(
      element('div', { class: 'scroll' }, element('table', {}, element('thead', {}, head), this.body)),
    );
    const hosts = HISTORY.map(([column, label]) => element('div', { class: 'chart', id: `nodes-${column}`, 'aria-label': label, role: 'group' }));
    byId('nodes').append(element('div', { class: 'history' }, ...hosts));
    this.charts = HISTORY.map(([column, label, value], i) => [
      column,
      new Chart(hosts[i], { label, value, title: label, empty: 'No node has reported yet.', range: (plot, low, high) => [0, high * 1.08 || 1] }),
    ]);
    onThemeChange(() => this.run && this.show(this.run));
  }

  /** Draws the use of resources over time; a node's colour follows from its place among the nodes. */
  #history(run) {
    const end = Math.max(1, run.spanSeconds);
    for (const [column, chart] of this.charts) {
      const lines = [...run.nodes].map(([name, history], i) => {
        const kept = history.timeMillis.map((_, k) => k).filter((k) => history.timeMillis[k] >= run.startMillis);
        return rising('time', {
          name,
          color: ofRank(i),
          x: kept.map((k) => (history.timeMillis[k] - run.startMillis) / 1000),
          y: kept.map((k) => history[column][k]),
          segment: kept.map((k) => history.segment[k]),
        });
      });
      // Without a GPU there is nothing to draw.
      chart.host.hidden = /gpu/i.test(column) && !lines.some(({ y }) => y.some((value) => value > 0));
      chart.show(lines, 'time', [], end);
    }
  }

  show(run) {
    this.run = run;
    this.#history(run);
    const nodes = new Map();
    for (const member of run.members.values()) {
      const name = member.node ?? 'unknown';
      nodes.set(name, [...(nodes.get(name) ?? []), member]);
    }
    fillChildren(this.body, [...nodes], row, (child, [name, members]) => fill(child, name, members, run));
  }
}

function row() {
  return element('tr', {}, ...TITLES.map((name) => element('td', { 'data-name': name })));
}

function fill(row, name, members, run) {
  // A member that has left reports nothing, and its last report does not describe its process now.
  const told = members.filter((member) => Number.isFinite(member.cores));
  const newest = told.reduce((a, b) => (a && a.timeMillis > b.timeMillis ? a : b), undefined);
  const greatest = (key) => Math.max(...told.map((member) => member[key]));
  const texts = [
    name,
    members.map((m) => `${run.called(m)}${m.condition === 'up' ? '' : ` (${m.condition})`}`).join(', '),
    ...COLUMNS.map(([, text]) => (newest ? text(newest, greatest) : NONE)),
  ];
  texts.forEach((text, i) => setText(row.children[i], text));
  row.toggleAttribute('data-lost', members.some((m) => m.condition === 'lost'));
}
