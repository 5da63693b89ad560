// Draws curves over time or over updates with uPlot.

import { element, setText } from './dom.js';
import { count, duration, significant } from './format.js';
import { named } from './palette.js';

const HEIGHT = 220;
const LEGEND_NAMES = 9;

/** uPlot's null mode, per column: a gap of a line stays a gap where other lines have points. */
const OVER_THE_WHOLE_GAP = [0, 2];
const WHOLE_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400, 604800];
const UPDATE_STEPS = [1, 2, 5].flatMap((n) => [...Array(12).keys()].map((e) => n * 10 ** e)).sort((a, b) => a - b);

/**
 * One chart with a text legend above it; it receives all lines at each update. Nothing was measured
 * between two segments of a line, so nothing is drawn there.
 */
export class Chart {
  /** `options.value` formats the values of lines without their own `value`; `options.range` may fix the scale. */
  constructor(host, options) {
    this.host = host;
    this.options = options;
    this.legend = element('ul', { class: 'legend' });
    this.canvas = element('div', { role: 'img', 'aria-label': options.label });
    this.empty = element('p', { class: 'empty' }, options.empty);
    this.markLegend = element('ul', { class: 'legend marks' });
    host.append(this.legend, this.canvas, this.markLegend, this.empty);
    new ResizeObserver(() => this.#resize()).observe(host);
  }

  /** Changes what the chart shows: its label and the format of its values. */
  named(label, value) {
    this.options = { ...this.options, label, value };
    this.canvas.setAttribute('aria-label', label);
  }

  /**
   * Draws `lines`, each {name, color, x, y, segment, width, value}: x, y and the segment's number are
   * columns. `marks` are {x, kind, name}. Every x lies before `end`.
   */
  show(lines, axis, marks, end) {
    this.end = end;
    const drawn = lines.filter((line) => line.x.length > 0);
    this.marks = marks;
    this.lines = drawn;
    this.empty.hidden = drawn.length > 0;
    if (drawn.length === 0) {
      this.#forget();
      return;
    }
    const data = uPlot.join(drawn.map(withGaps), drawn.map(() => OVER_THE_WHOLE_GAP));
    this.host.dataset.points = new Set(drawn.flatMap((line) => line.x)).size;
    this.host.dataset.first = Math.min(...drawn.map((line) => line.x[0]));
    this.host.dataset.gaps = drawn.reduce((sum, line) => sum + gapsOf(line).length, 0);
    const look = JSON.stringify([axis, drawn.map((line) => [line.name, line.color, line.width])]);
    if (look !== this.look) {
      this.#forget();
      this.look = look;
      this.plot = new uPlot(this.#options(drawn, axis), data, this.canvas);
    } else {
      this.plot.setData(data);
    }
    this.#label(null);
    this.#nameMarks();
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
    const shared = { stroke: named('muted'), grid, ticks: { show: false }, font: '11px system-ui' };
    return {
      width: Math.max(120, this.host.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { points: { size: 6 }, drag: { x: false, y: false } },
      scales: { x: { time: false, range: () => [0, this.end] }, y: { range: this.options.range ?? padded } },
      axes: [
        { ...shared, size: 28, incrs: axis === 'time' ? WHOLE_STEPS : UPDATE_STEPS, values: (u, ticks) => ticks.map(axis === 'time' ? duration : count) },
        { ...shared, size: 52, values: (u, ticks) => ticks.map((v) => shortened(v)) },
      ],
      series: [
        {},
        ...lines.map((line) => ({
          label: line.name,
          stroke: line.color,
          width: line.width ?? 1.5,
          spanGaps: false,
          points: { show: line.x.length < 3, size: 5, filter: alone },
        })),
      ],
      hooks: { setCursor: [(plot) => this.#label(plot.cursor.idx)], draw: [(p) => this.#mark(p)] },
    };
  }

  /** Shows the value under the cursor, or the newest one. */
  #label(index) {
    const shown = this.lines.slice(0, LEGEND_NAMES).map((line, i) => {
      const column = this.plot.data[i + 1];
      const value = index === null ? line.y.at(-1) : nearest(column, index);
      return { color: line.color, text: line.name, value: (line.value ?? this.options.value)(value) };
    });
    while (this.legend.children.length > shown.length) {
      this.legend.lastChild.remove();
    }
    shown.forEach((entry, i) => {
      const item = this.legend.children[i] ?? this.legend.appendChild(legendItem());
      item.children[0].style.background = entry.color;
      setText(item.children[1], entry.text);
      setText(item.children[2], entry.value);
    });
    const rest = this.lines.length - shown.length;
    if (rest > 0) {
      setText(this.legend.lastChild.children[1], `and ${rest + 1} more`);
      setText(this.legend.lastChild.children[2], '');
    }
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
    this.markLegend.replaceChildren();
    delete this.markLegend.dataset.shown;
  }
}

/** Makes x rise, as uPlot requires; a worker that starts again, or a repeated test, may step back a little. */
export function rising(values) {
  let last = -Infinity;
  return values.map((value) => (last = value > last ? value : last + 1e-6));
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

function legendItem() {
  return element(
    'li',
    {},
    element('span', { class: 'swatch' }),
    element('span', {}),
    element('span', { class: 'value' }),
  );
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
