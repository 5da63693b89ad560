// Draws curves over time or over updates with uPlot.

import { element, fillChildren, setText } from './dom.js';
import { bytes, count, duration, significant } from './format.js';
import { named } from './palette.js';

const HEIGHT = 220;
const LEGEND_NAMES = 9;

/** Room before the first point, as a share of x, so that a mark at 0 lies inside the picture. */
const INDENT = 0.01;

const KEYS = 'Keys: + and - zoom, arrows move, Escape shows everything.';

/** Names of the first column of a CSV file, by axis. */
const UNITS = { time: 'seconds', version: 'updates' };

/** uPlot's null mode, per column: a gap of a line stays a gap where other lines have points. */
const OVER_THE_WHOLE_GAP = [0, 2];

/** Of each line this share of its points lies within a scale that leaves out outliers. */
const WITHIN = 0.95;

/** A line that rises to less than so many times the value at which the lines begin is never outside. */
const RISEN = 1.5;

/** What other charts of the page hear of the cursor; a drag stays in its own chart. */
const OF_CURSOR = ['mousemove', 'mouseleave'];

/** The charts of the page: those with the same axis share the cursor and the zoom. */
const charts = new Set();

const WHOLE_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400, 604800];
const UPDATE_STEPS = [1, 2, 5].flatMap((n) => [...Array(12).keys()].map((e) => n * 10 ** e)).sort((a, b) => a - b);

/**
 * One chart with a text legend above it; it receives all lines at each update. Nothing was measured
 * between two segments of a line, so nothing is drawn there. A drag zooms along x, a double click
 * shows everything again; with the keyboard +, -, the arrow keys and Escape do. All charts of the page with
 * the same axis zoom together. A name in the legend hides its line.
 */
export class Chart {
  /**
   * `options.value` formats the values of lines without their own `value`; `options.range` may fix the
   * scale; `options.title` is written above the chart; `options.unit` beside its vertical axis.
   */
  constructor(host, options) {
    this.host = host;
    this.options = options;
    this.zoom = null;
    this.log = false;
    this.cut = null;
    this.hidden = new Set();
    this.legend = element('ul', { class: 'legend' });
    this.more = button('', () => this.#expand(), { class: 'more', hidden: '' });
    this.at = element('span', { class: 'at' });
    this.canvas = element('div', { role: 'application', 'aria-roledescription': 'chart', tabindex: 0 });
    this.canvas.addEventListener('keydown', (event) => this.#key(event));
    this.empty = element('p', { class: 'empty' }, options.empty);
    this.markLegend = element('ul', { class: 'legend marks' });
    const title = options.title && element('h3', {}, options.title);
    host.append(element('div', { class: 'head' }, ...[title].filter(Boolean), this.#tools()), this.legend, this.more, this.canvas, this.markLegend, this.empty);
    this.#name();
    new ResizeObserver(() => this.#resize()).observe(host);
    charts.add(this);
  }

  /** Changes what the chart shows: its label, the format of its values and their unit. */
  named(label, value, unit) {
    this.options = { ...this.options, label, value, unit };
    this.#name();
  }

  /**
   * Leaves outliers out of the scale from the next `show` on: those above, `high`, those below, `low`, or
   * those on `both` sides; with null the scale shows all values.
   */
  leaveOut(side) {
    this.cut = side;
  }

  /** Returns the names of the lines that lie outside the scale. */
  leftOut() {
    return this.cut && this.lines ? limitsOf(this.#inZoom(), this.cut).without : [];
  }

  #name() {
    this.canvas.setAttribute('aria-label', `${this.options.label}. ${KEYS}`);
  }

  /**
   * Draws `lines`, each {name, color, x, y, segment, width, dash, value, end}: x, y and the segment's number
   * are columns; a line with an `end` has no value after it. `marks` are {x, kind, name}. Every x lies before
   * the `end` of the chart. `along` names the horizontal axis and its unit.
   */
  show(lines, axis, marks, end, along = ALONG[axis] ?? axis) {
    if (axis !== this.axis) {
      if (this.zoom) {
        this.#zoomTo(null);
      }
      this.axis = axis;
    }
    this.along = along;
    this.host.dataset.along = along;
    this.end = end;
    const drawn = lines.filter((line) => line.x.length > 0);
    this.marks = marks;
    this.lines = drawn;
    this.empty.hidden = drawn.length > 0;
    this.tools.hidden = drawn.length === 0;
    if (drawn.length === 0) {
      this.#forget();
      return;
    }
    const data = uPlot.join(drawn.map((line) => this.#columns(line)), drawn.map(() => OVER_THE_WHOLE_GAP));
    this.host.dataset.points = new Set(drawn.flatMap((line) => line.x)).size;
    this.host.dataset.first = Math.min(...drawn.map((line) => line.x[0]));
    this.host.dataset.gaps = drawn.reduce((sum, line) => sum + gapsOf(line).length, 0);
    const looks = drawn.map(({ name, color, width, dash, x }) => [name, color, width, dash, x.length < 3]);
    const look = JSON.stringify([axis, along, this.options.unit, this.log, looks]);
    if (look !== this.look) {
      this.#forget();
      this.look = look;
      this.plot = new uPlot(this.#options(drawn, axis), data, this.canvas);
    } else {
      this.plot.setData(data);
    }
    this.#label();
    this.#nameMarks();
  }

  /** Returns x and y of a line as uPlot draws them: nulls where there is a gap. */
  #columns(line) {
    const [x, y] = withGaps(line);
    // A logarithmic scale has no place for 0 and below.
    return [x, this.log ? y.map((value) => (value > 0 ? value : null)) : y];
  }

  #tools() {
    const log = button('log', () => {
      this.log = !this.log;
      log.setAttribute('aria-pressed', this.log);
      this.#again();
    }, { 'aria-pressed': 'false', 'data-tool': 'log', title: 'Logarithmic scale' });
    this.whole = button('whole', () => this.#zoomTo(null), { 'data-tool': 'whole', title: 'Show everything again', hidden: '' });
    const csv = button('CSV', () => this.#csv(), { 'data-tool': 'csv', title: 'Download the lines that are drawn' });
    const png = button('PNG', () => this.#png(), { 'data-tool': 'png', title: 'Download the picture' });
    this.tools = element('div', { class: 'tools', role: 'group', 'aria-label': 'Tools of this chart', hidden: '' }, this.at, this.whole, log, csv, png);
    return this.tools;
  }

  /** Draws the same lines again. */
  #again() {
    this.show(this.lines, this.axis, this.marks, this.end, this.along);
  }

  /** Names the marks that there are, below the chart. */
  #nameMarks() {
    const names = new Map(this.marks.map((mark) => [mark.kind, mark.name]));
    const state = JSON.stringify([...names]);
    if (this.markLegend.dataset.shown !== state) {
      this.markLegend.dataset.shown = state;
      this.markLegend.replaceChildren(
        ...[...names].map(([kind, name]) => {
          const swatch = element('span', { class: 'swatch' });
          swatch.style.borderColor = `var(--${kind})`;
          return element('li', {}, swatch, element('span', {}, name));
        }),
      );
    }
  }

  #options(lines, axis) {
    const grid = { stroke: named('grid'), width: 1 };
    const font = '11px system-ui';
    const shared = { stroke: named('muted'), grid, ticks: { show: false }, font, labelFont: font, labelSize: 14, labelGap: 0 };
    return {
      width: Math.max(120, this.host.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: {
        points: { size: 6 },
        drag: { x: true, y: false, setScale: false, dist: 5 },
        sync: { key: axis, filters: { pub: (type) => OF_CURSOR.includes(type), sub: () => true } },
        bind: { dblclick: () => () => this.#zoomTo(null) },
      },
      scales: {
        x: { time: false, range: () => this.zoom ?? [-INDENT * this.end, this.end] },
        y: this.log
          ? { distr: 3, range: (plot, low, high) => uPlot.rangeLog(...this.#limits(low ?? 1, high ?? 10), 10, false) }
          : { range: (plot, low, high) => (this.options.range ?? padded)(plot, ...this.#limits(low, high)) },
      },
      axes: [
        { ...shared, size: 26, label: this.along, incrs: axis === 'time' ? WHOLE_STEPS : UPDATE_STEPS, values: (u, ticks) => ticks.map((x) => alongOf(axis)(x)) },
        { ...shared, size: 50, label: this.options.unit, values: (u, ticks) => ticks.map((v) => (v === null || v === undefined ? '' : this.#tick(v))) },
      ],
      series: [
        {},
        ...lines.map((line) => ({
          label: line.name,
          stroke: line.color,
          width: line.width ?? 1.5,
          dash: line.dash,
          show: !this.hidden.has(line.name),
          spanGaps: false,
          points: { show: line.x.length < 3, size: 5, filter: alone },
        })),
      ],
      hooks: {
        setCursor: [() => this.#label()],
        setSelect: [(plot) => this.#selected(plot)],
        draw: [(p) => this.#mark(p)],
      },
    };
  }

  /** Memory has units of its own; other values are shortened. */
  #tick(value) {
    return this.options.value === bytes ? bytes(value) : shortened(value);
  }

  #selected(plot) {
    const { left, width } = plot.select;
    if (width > 0) {
      plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      this.#zoomTo([plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')]);
    }
  }

  /** Shows this part of x in all charts with this axis; null for everything. */
  #zoomTo(range) {
    for (const chart of charts) {
      if (!chart.host.isConnected) {
        charts.delete(chart);
      } else if (chart.axis === this.axis) {
        chart.#setZoom(range);
        chart.plot?.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        if (chart.plot) {
          chart.#again();
        }
      }
    }
  }

  /** Returns the limits of the scale without outliers, those of all values where none are left out. */
  #limits(low, high) {
    const found = this.cut ? limitsOf(this.#inZoom(), this.cut, this.log) : {};
    const limits = [found.low ?? low, found.high ?? high];
    this.host.dataset.limits = limits.join(' ');
    return limits;
  }

  /** Returns the name and the finite values of each line that is shown, within the zoom. */
  #inZoom() {
    const [first, last] = this.zoom ?? [-Infinity, Infinity];
    return this.#visible().map(([{ name, x, y }]) => ({
      name,
      values: y.filter((value, i) => Number.isFinite(value) && x[i] >= first && x[i] <= last),
    }));
  }

  #setZoom(range) {
    this.zoom = range;
    this.whole.hidden = range === null;
    this.host.dataset.zoom = range ? range.map((x) => significant(x, 4)).join(' ') : '';
  }

  #key(event) {
    const [low, high] = this.zoom ?? [0, this.end];
    const quarter = (high - low) / 4;
    const moved = (by) => this.#zoomTo([low + by, high + by]);
    const keys = {
      '+': () => this.#zoomTo([low + quarter, high - quarter]),
      '-': () => this.#zoomTo(4 * quarter >= this.end / 2 ? null : [low - 2 * quarter, high + 2 * quarter]),
      ArrowLeft: () => this.zoom && moved(-Math.min(quarter, low)),
      ArrowRight: () => this.zoom && moved(Math.min(quarter, Math.max(0, this.end - high))),
      Escape: () => this.#zoomTo(null),
    };
    if (this.plot && event.key in keys && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      keys[event.key]();
    }
  }

  /** Shows the values under the cursor and where it is, or the newest values. */
  #label() {
    const index = this.plot.cursor.idx ?? null;
    const all = this.expanded || this.lines.length <= LEGEND_NAMES;
    const shown = all ? this.lines : this.lines.slice(0, LEGEND_NAMES - 1);
    setText(this.at, index === null ? '' : `at ${alongOf(this.axis)(this.plot.data[0][index])}`);
    const make = (i) => this.#legendItem(i);
    fillChildren(this.legend, shown, make, (item, line, i) => {
      const column = this.plot.data[i + 1];
      const over = index !== null && this.plot.data[0][index] > Math.max(line.end, line.x.at(-1));
      const value = index === null ? line.y.at(-1) : over ? undefined : nearest(column, index);
      const toggle = item.firstChild;
      toggle.setAttribute('aria-pressed', !this.hidden.has(line.name));
      toggle.children[0].style.background = painted(line);
      setText(toggle.children[1], line.name);
      setText(toggle.children[2], (line.value ?? this.options.value)(value));
    });
    this.more.hidden = this.lines.length <= LEGEND_NAMES;
    setText(this.more, all ? 'fewer' : `and ${this.lines.length - shown.length} more`);
  }

  #legendItem(i) {
    const toggle = button('', () => this.#hide(i), { title: 'Hide or show this line' });
    toggle.append(element('span', { class: 'swatch' }), element('span', {}), element('span', { class: 'value' }));
    return element('li', {}, toggle);
  }

  #hide(i) {
    const { name } = this.lines[i];
    const hide = !this.hidden.has(name);
    this.hidden[hide ? 'add' : 'delete'](name);
    this.plot.setSeries(i + 1, { show: !hide });
    this.#label();
  }

  #expand() {
    this.expanded = !this.expanded;
    this.#label();
  }

  #mark(plot) {
    const context = plot.ctx;
    const { left, top, width, height } = plot.bbox;
    context.save();
    context.setLineDash([3, 3]);
    context.lineWidth = 1;
    for (const mark of this.marks) {
      const x = plot.valToPos(mark.x, 'x', true);
      if (x >= left && x <= left + width) {
        context.strokeStyle = named(mark.kind);
        context.beginPath();
        context.moveTo(x, top);
        context.lineTo(x, top + height);
        context.stroke();
      }
    }
    context.restore();
  }

  #visible() {
    return this.lines.map((line, i) => [line, i]).filter(([line]) => !this.hidden.has(line.name));
  }

  /** Downloads the points of the lines that are shown, one row for each x. */
  #csv() {
    const visible = this.#visible();
    const joined = uPlot.join(visible.map(([line]) => [line.x, line.y]));
    const rows = [
      [UNITS[this.axis] ?? this.axis, ...visible.map(([line]) => line.name)],
      ...joined[0].map((x, row) => [x, ...joined.slice(1).map((column) => column[row] ?? '')]),
    ];
    const text = rows.map((row) => row.map(cell).join(',')).join('\r\n');
    download(`${this.#file()}.csv`, new Blob([`${text}\r\n`], { type: 'text/csv' }));
  }

  /** Downloads the picture with its title and the names of its lines. */
  #png() {
    const from = this.plot.ctx.canvas;
    const scale = from.width / this.plot.width;
    const names = this.#visible().map(([line]) => line);
    const picture = element('canvas', { width: from.width, height: from.height + scale * (24 + 16 * names.length) });
    const context = picture.getContext('2d');
    context.fillStyle = named('panel');
    context.fillRect(0, 0, picture.width, picture.height);
    context.scale(scale, scale);
    context.font = '600 13px system-ui';
    context.fillStyle = named('ink');
    context.fillText(this.options.label, 8, 16);
    context.font = '12px system-ui';
    names.forEach((line, i) => {
      context.strokeStyle = line.color;
      context.lineWidth = line.dash ? 4 : 10;
      context.setLineDash(line.dash ?? []);
      context.beginPath();
      context.moveTo(line.dash ? 4 : 8, 29 + 16 * i);
      context.lineTo(line.dash ? 20 : 18, 29 + 16 * i);
      context.stroke();
      context.fillStyle = named('ink');
      context.fillText(line.name, 24, 33 + 16 * i);
    });
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(from, 0, picture.height - from.height);
    picture.toBlob((blob) => download(`${this.#file()}.png`, blob));
  }

  #file() {
    return `${document.title} ${this.options.label}`.replace(/[^\w.-]+/g, '-');
  }

  #resize() {
    if (this.plot && this.host.clientWidth > 0) {
      this.plot.setSize({ width: this.host.clientWidth, height: HEIGHT });
    }
  }

  #forget() {
    this.plot?.destroy();
    this.plot = null;
    this.look = null;
    this.legend.replaceChildren();
    this.more.hidden = true;
    this.markLegend.replaceChildren();
    delete this.markLegend.dataset.shown;
  }
}

/**
 * Returns the limits of a scale that leaves out outliers on a side: {low, high, without}. Of each line it shows
 * all but the outermost points on that side, and of several lines none that lies far outside the others.
 */
function limitsOf(lines, side, positive) {
  const sorted = lines
    .map(({ name, values }) => ({ name, values: values.filter((y) => !positive || y > 0) }))
    .filter(({ values }) => values.length > 0)
    .map(({ name, values }) => ({ name, first: values[0], values: values.sort((a, b) => a - b) }));
  const firsts = sorted.map(({ first }) => first).sort((a, b) => a - b);
  const least = sorted.length > 0 ? RISEN * quantile(firsts, 0.5) : 0;
  const high = side === 'low' ? new Set() : outside(sorted.map(({ values }) => quantile(values, WITHIN)), least);
  const low = side === 'high' ? new Set() : outside(sorted.map(({ values }) => -quantile(values, 1 - WITHIN)), -Infinity);
  const kept = sorted.filter((line, i) => !high.has(i) && !low.has(i));
  if (kept.length === 0) {
    return { without: [] };
  }
  return {
    low: Math.min(...kept.map(({ values }) => (side === 'high' ? values[0] : quantile(values, 1 - WITHIN)))),
    high: Math.max(...kept.map(({ values }) => (side === 'low' ? values.at(-1) : quantile(values, WITHIN)))),
    without: sorted.filter((line, i) => high.has(i) || low.has(i)).map(({ name }) => name),
  };
}

/** Returns the indexes of the values above Tukey's outer fence, above twice the third quartile and above `least`. */
function outside(values, least) {
  const sorted = [...values].sort((a, b) => a - b);
  const [first, third] = [quantile(sorted, 0.25), quantile(sorted, 0.75)];
  const fence = Math.max(least, third + Math.max(3 * (third - first), Math.abs(third)));
  return new Set([...values.keys()].filter((i) => values[i] > fence));
}

/** Returns the quantile of sorted values, between the two nearest. */
function quantile(sorted, share) {
  const place = share * (sorted.length - 1);
  const before = sorted[Math.floor(place)];
  return before + (sorted[Math.ceil(place)] - before) * (place % 1);
}

/**
 * Makes the x of a line rise, as uPlot requires. Times may step back a little. Along versions and totals, steps that
 * were repeated after a loss or a resume are drawn once; of two tests of one version, the later is.
 */
export function rising(axis, line) {
  let last = -Infinity;
  if (axis === 'time') {
    return { ...line, x: line.x.map((value) => (last = value > last ? value : last + 1e-6)) };
  }
  const kept = [];
  line.x.forEach((value, i) => {
    if (value === last) {
      kept.pop();
    }
    if (value >= last) {
      kept.push(i);
      last = value;
    }
  });
  const only = (column) => kept.map((i) => column[i]);
  return { ...line, x: only(line.x), y: only(line.y), segment: only(line.segment) };
}

/**
 * Smooths exponentially, starting at the first value of each segment, without a bias towards zero.
 */
export function smoothed(values, factor, segment) {
  let sum = 0;
  let weight = 0;
  return values.map((value, i) => {
    if (segment[i] !== segment[i - 1]) {
      sum = 0;
      weight = 0;
    }
    sum = factor * sum + (1 - factor) * value;
    weight = factor * weight + (1 - factor);
    return sum / weight;
  });
}

/** Returns the background of a swatch: the colour of a line, in stripes when it is dashed. */
export function painted({ color, dash }) {
  if (!dash) {
    return color;
  }
  let at = 0;
  const stripes = dash.map((length, i) => `${i % 2 ? 'transparent' : color} ${at}px ${(at += length)}px`);
  return `repeating-linear-gradient(90deg, ${stripes})`;
}

function button(text, act, attributes) {
  const made = element('button', { type: 'button', ...attributes }, text);
  made.addEventListener('click', act);
  return made;
}

/** Names of the horizontal axes, with their units. */
const ALONG = { time: 'time, min:s', version: 'updates', samples: 'samples', bytes: 'bytes sent' };

/** Formats a position along an axis. */
const alongOf = (axis) => (axis === 'time' ? duration : axis === 'bytes' ? bytes : count);

/** Quotes a cell of a CSV file where it needs quotes. */
const cell = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

function download(name, blob) {
  const link = element('a', { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Returns the indexes at which a segment other than the first begins. */
const gapsOf = ({ segment }) =>
  segment.map((_, i) => i).filter((i) => i > 0 && segment[i] !== segment[i - 1]);

/** Inserts a null at each gap, because uPlot draws no line across a null. */
function withGaps(line) {
  const x = [...line.x];
  const y = [...line.y];
  for (const i of gapsOf(line).reverse()) {
    x.splice(i, 0, (line.x[i - 1] + line.x[i]) / 2);
    y.splice(i, 0, null);
  }
  return [x, y];
}

/** Returns the points without a neighbour, which no line shows. */
function alone(plot, series, show) {
  if (show) {
    return null;
  }
  const column = plot.data[series];
  const measured = [...column.keys()].filter((i) => column[i] !== undefined);
  return measured.filter((i, k) => {
    const before = measured[k - 1] === undefined ? null : column[measured[k - 1]];
    const after = measured[k + 1] === undefined ? null : column[measured[k + 1]];
    return column[i] !== null && before === null && after === null;
  });
}

/** Returns the last value at or before the index in the same segment. */
function nearest(column, index) {
  for (let i = index; i >= 0; i--) {
    if (column[i] !== undefined) {
      return column[i] ?? undefined;
    }
  }
  return undefined;
}

const padded = (plot, low, high) => {
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
};

const shortened = (value) =>
  Math.abs(value) >= 10000 ? `${count(value / 1000)}k` : Math.abs(value) < 0.001 && value ? significant(value, 2) : String(Number(value.toFixed(4)));
