// Lists the processes, one row each: members and resource use.

import { byId, element, setText } from './dom.js';
import { bytes, fixed, millis, NONE } from './format.js';

const COLUMNS = ['Node', 'Members', 'CPU', 'Heap', 'Off-heap', 'Resident', 'Round trip p50', 'p99'];

export class Nodes {
  constructor() {
    this.body = element('tbody');
    const head = element('tr', {}, ...COLUMNS.map((name) => element('th', { scope: 'col' }, name)));
    byId('nodes').append(
      element('div', { class: 'scroll' }, element('table', {}, element('thead', {}, head), this.body)),
    );
  }

  show(run) {
    const nodes = new Map();
    for (const member of run.members.values()) {
      const name = member.node ?? 'unknown';
      nodes.set(name, [...(nodes.get(name) ?? []), member]);
    }
    while (this.body.children.length > nodes.size) {
      this.body.lastChild.remove();
    }
    [...nodes].forEach(([name, members], i) =>
      fill(this.body.children[i] ?? this.body.appendChild(row()), name, members, run),
    );
  }
}

function row() {
  return element('tr', {}, ...COLUMNS.map((name) => element('td', { 'data-name': name })));
}

function fill(row, name, members, run) {
  // A member that has left reports nothing, and its last report does not describe its process now.
  const told = members.filter((member) => Number.isFinite(member.cores));
  const newest = told.reduce((a, b) => (a && a.timeMillis > b.timeMillis ? a : b), undefined);
  const worst = (key) => (told.length ? Math.max(...told.map((member) => member[key])) : undefined);
  const limit = newest?.heapLimitBytes;
  const texts = [
    name,
    members.map((m) => `${run.called(m)}${m.condition === 'up' ? '' : ` (${m.condition})`}`).join(', '),
    newest ? `${fixed(newest.cores, 1)} of ${newest.processors}` : NONE,
    newest ? `${bytes(newest.heapBytes)} of ${bytes(limit)}` : NONE,
    newest ? bytes(newest.offHeapBytes) : NONE,
    newest ? bytes(newest.residentBytes) : NONE,
    millis(worst('roundTripMillis50')),
    millis(worst('roundTripMillis99')),
  ];
  texts.forEach((text, i) => setText(row.children[i], text));
  row.toggleAttribute('data-lost', members.some((m) => m.condition === 'lost'));
}
