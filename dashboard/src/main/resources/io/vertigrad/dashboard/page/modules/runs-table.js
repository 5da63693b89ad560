// Shows the list of runs as a table. Rows, cells and the focus stay while values change.

import { painted } from './charts.js';
import { element, setText } from './dom.js';
import { many, NONE } from './format.js';
import { nameOf, summaryOf } from './runs-columns.js';

export class RunTable {
  /** `check(run, checked)`, `sort(column)` and `details(run)` are called when the reader asks for it. */
  constructor(host, { check, sort, details }) {
    Object.assign(this, { check, sort, details });
    this.rows = new Map();
    this.heads = new Map();
    this.groups = new Map();
    this.boxes = element('th', { scope: 'col' }, element('span', { class: 'visually-hidden' }, 'in the charts'));
    this.head = element('tr', {});
    this.body = element('tbody', {});
    host.append(element('table', {}, element('thead', {}, this.head), this.body));
  }

  /**
   * Shows runs in `parts`, each {title, runs}, without a title when they are not grouped. `lookOf(run)`
   * is {color, dash}, or undefined for a run that is not in the charts.
   */
  show(parts, columns, { key, falling }, lookOf, winners) {
    arrange(this.head, [this.boxes, ...columns.map((column) => this.#head(column, key, falling))]);
    const rows = [];
    for (const { title, runs } of parts) {
      if (title !== undefined) {
        rows.push(this.#group(title, runs, columns.length + 1, lookOf));
      }
      rows.push(...runs.map((run) => this.#row(run, columns, lookOf(run), winners)));
    }
    arrange(this.body, rows);
    const names = new Set(parts.flatMap(({ runs }) => runs.map(({ name }) => name)));
    for (const name of this.rows.keys()) {
      if (!names.has(name)) {
        this.rows.delete(name);
      }
    }
  }

  #head(column, key, falling) {
    if (!this.heads.has(column.key)) {
      // A long key may break after a dot.
      const words = column.title.split('.').flatMap((word, i) => (i === 0 ? [word] : ['.', element('wbr'), word]));
      const button = element('button', { type: 'button' }, ...words);
      button.addEventListener('click', () => this.sort(this.heads.get(column.key).column));
      this.heads.set(column.key, { cell: element('th', { scope: 'col', 'data-key': column.key }, button) });
    }
    const head = this.heads.get(column.key);
    head.column = column;
    head.cell.classList.toggle('number', Boolean(column.number));
    head.cell.setAttribute('aria-sort', column.key !== key ? 'none' : falling ? 'descending' : 'ascending');
    return head.cell;
  }

  #group(title, runs, span, lookOf) {
    if (!this.groups.has(title)) {
      const cell = element('th', {}, element('span', { class: 'swatch' }), element('span', {}));
      this.groups.set(title, element('tr', { class: 'group' }, cell));
    }
    const row = this.groups.get(title);
    row.firstChild.colSpan = span;
    const drawn = runs.map(lookOf).find(Boolean);
    row.firstChild.children[0].style.background = drawn ? painted(drawn) : '';
    const words = [title, many(runs.length, 'run'), summaryOf(runs)].filter(Boolean);
    setText(row.firstChild.children[1], words.join(' · '));
    return row;
  }

  #row(run, columns, look, winners) {
    if (!this.rows.has(run.name)) {
      this.rows.set(run.name, this.#made(run.name));
    }
    const row = this.rows.get(run.name);
    row.run = run;
    row.box.checked = Boolean(look);
    row.swatch.style.background = look ? painted(look) : '';
    const marks = [run.kept && 'kept', run.archived && 'archived'].filter(Boolean).join(', ');
    row.marks.hidden = marks === '';
    setText(row.marks, marks);
    const problem = [run.reason, run.problem].filter(Boolean).join('; ');
    row.problem.hidden = problem === '';
    row.problem.title = problem;
    setText(row.problem, problem);
    setText(row.link, nameOf(run));
    row.folder.hidden = !run.label;
    arrange(row.line, [row.check, ...columns.map((column) => this.#cell(row, column, winners))]);
    return row.line;
  }

  #cell(row, { key, title, text, number, doubtful }, winners) {
    if (key === 'name') {
      return row.title;
    }
    if (!row.cells.has(key)) {
      row.cells.set(key, element('td', { 'data-name': title, 'data-key': key }));
    }
    const cell = row.cells.get(key);
    const shown = text(row.run);
    const wins = winners.get(row.run.name) === key;
    const part = shown !== NONE && doubtful?.(row.run);
    const classes = [number && 'number', shown === NONE && 'unknown', wins && 'wins', part && 'doubtful'];
    cell.className = classes.filter(Boolean).join(' ');
    cell.title = part ? 'Tested on a part of the test samples' : '';
    setText(cell, wins ? `best ${shown}` : shown);
    return cell;
  }

  #made(name) {
    const row = { cells: new Map() };
    row.box = element('input', { type: 'checkbox', 'aria-label': `${name} in the charts` });
    row.box.addEventListener('change', () => this.check(row.run, row.box.checked));
    row.swatch = element('span', { class: 'swatch' });
    const page = `run/${encodeURIComponent(name)}/`;
    row.link = element('a', { href: page, target: '_blank', rel: 'noopener' }, name);
    row.folder = element('span', { class: 'folder', hidden: '' }, name);
    row.marks = element('span', { class: 'phase', hidden: '' });
    const details = element('button', { type: 'button', class: 'more', 'aria-label': `details of ${name}` }, 'details');
    details.addEventListener('click', () => this.details(row.run));
    row.problem = element('p', { class: 'problem', hidden: '' });
    row.check = element('td', { class: 'check', 'data-name': 'in the charts' }, row.box, row.swatch);
    row.title = element('th', { scope: 'row' }, row.link, ' ', row.marks, ' ', details, row.folder, row.problem);
    row.line = element('tr', { 'data-run': name }, row.check, row.title);
    return row;
  }
}

/** Makes these the children of an element. What is in place stays, and so do the focus and what is in view. */
function arrange(parent, nodes) {
  const focused = document.activeElement;
  const wanted = new Set(nodes);
  [...parent.children].filter((node) => !wanted.has(node)).forEach((node) => node.remove());
  let next = parent.firstChild;
  for (const node of nodes) {
    if (node === next) {
      next = next.nextSibling;
    } else {
      parent.insertBefore(node, next);
    }
  }
  if (focused !== document.activeElement && focused.isConnected) {
    focused.focus({ preventScroll: true });
  }
}
