// Draws the curves of several runs over each other.

import { Chart, rising, smoothed } from './charts.js';
import { byId, element, setText } from './dom.js';
import { accuracy, metric, significant, testLoss, trainingLoss } from './format.js';

const WIDTH = 1.75;

/** A chart with more places along x times lines than this is drawn at fewer places. */
const CELLS = 400_000;
const PLACES = 1000;

const AXES = ['samples', 'time', 'versions'];

export class RunCharts {
  /** `changed()` is called when the reader has chosen another axis or smoothing. */
  constructor(axis, changed) {
    this.smoothing = byId('smoothing');
    this.outliers = byId('outliers');
    const chart = (id, label, value, unit) => new Chart(byId(id), { label, value, unit });
    this.training = chart('training', 'Training loss of each run', trainingLoss, 'loss');
    this.loss = chart('loss', 'Test loss of each run', testLoss, 'loss');
    this.accuracy = chart('accuracy', 'Accuracy of each run, percent', accuracy, '%');
    this.scalars = new Map();
    this.#choose(AXES.includes(axis) ? axis : 'samples');
    for (const radio of document.getElementsByName('axis')) {
      radio.addEventListener('change', () => {
        this.axis = radio.value;
        changed();
      });
    }
    this.smoothing.addEventListener('input', changed);
    this.outliers.addEventListener('change', changed);
  }

  /**
   * Draws `runs`, the curves of each with its `look` and its `legend`; `why` says why there may be none. Returns
   * the names of the runs that have nothing to draw.
   */
  show(runs, why) {
    const factor = Number(this.smoothing.value);
    setText(byId('smoothing-value'), factor.toFixed(2));
    this.#nameVersions(runs);
    this.thinned = false;
    this.drawn = new Set();
    this.leftOut = new Set();
    const untested = why || 'None of these runs was tested.';
    const smooth = ({ training }) => [training, smoothed(training.loss, factor, training.segment)];
    this.#draw(this.training, 'high', runs, smooth, why || 'No step was reported.');
    this.#draw(this.loss, 'high', runs, ({ tests }) => [tests, tests.loss], untested);
    // Runs with the same metric share a scale; otherwise each run has its own figures.
    const tested = runs.map(({ tests }) => tests).filter(({ version }) => version.length > 0);
    const kind = ({ metric }) => metric?.find(Boolean) ?? '';
    const kinds = new Set(tested.map(kind));
    const other = metric(kinds.size === 1 ? [...kinds][0] : '');
    const title = other ? other.title : 'Accuracy';
    setText(byId('accuracy-title'), kinds.size > 1 ? 'Metrics of the tests' : `${title} of the tests`);
    const one = other ? `${title} of each run${other.unit}` : 'Accuracy of each run, percent';
    const percent = [...kinds].every((key) => key === '' || key === 'labelAccuracy');
    const several = kinds.size > 1 ? 'Metric of each run, in its unit' : one;
    this.accuracy.named(several, other ? other.value : accuracy, percent ? '%' : (other?.name ?? ''));
    const format = ({ tests }) => metric(kind(tests))?.value ?? accuracy;
    const worse = percent ? 'low' : kinds.size > 1 ? null : 'high';
    const values = ({ tests }) => [tests, tests.metricValue ?? tests.accuracy];
    this.#draw(this.accuracy, worse, runs, values, untested, format);
    this.#drawScalars(runs);
    return runs.filter((run) => !this.drawn.has(run)).map(({ name }) => name);
  }

  /** Draws a chart for each scalar that a run reports, with a line for each of its sources. */
  #drawScalars(runs) {
    const names = new Set(runs.flatMap(({ scalars = {} }) => Object.keys(scalars)).sort());
    byId('scalars-panel').hidden = names.size === 0;
    for (const [name, { host }] of this.scalars) {
      if (!names.has(name)) {
        host.remove();
        this.scalars.delete(name);
      }
    }
    for (const name of names) {
      if (!this.scalars.has(name)) {
        const host = byId('scalars').appendChild(element('div', { class: 'chart', 'data-scalar': name }));
        const options = { label: `${name} of each run`, title: name, value: (value) => significant(value, 4) };
        this.scalars.set(name, { host, chart: new Chart(host, options) });
      }
      const lines = runs.flatMap((run) => sourcesOf(run, name));
      const { chart } = this.scalars.get(name);
      this.#draw(chart, 'both', lines, ({ columns }) => [columns, columns.value], 'No finite value.');
    }
  }

  #choose(axis) {
    this.axis = axis;
    document.querySelector(`[name=axis][value=${axis}]`).checked = true;
  }

  /** Names the axis of versions: rounds of all workers and updates by one worker cannot share it. */
  #nameVersions(runs) {
    const kinds = new Set(runs.map(({ counted }) => counted ?? 'versions'));
    byId('versions').hidden = kinds.size > 1;
    if (kinds.size > 1 && this.axis === 'versions') {
      this.#choose('samples');
    }
    if (kinds.size === 1) {
      setText(byId('versions').lastChild, [...kinds][0]);
    }
  }

  /**
   * `worse` is the side on which outliers lie; `format(run)` returns the format of a run's values, where it is
   * not the chart's.
   */
  #draw(chart, worse, runs, curve, empty, format = () => undefined) {
    chart.leaveOut(this.outliers.checked ? null : worse);
    setText(chart.empty, empty);
    const lines = [];
    for (const run of runs) {
      const [columns, y] = curve(run);
      const x = this.#along(run, columns);
      const kept = x.map((_, i) => i).filter((i) => Number.isFinite(y[i]) && Number.isFinite(x[i]));
      if (kept.length > 0) {
        this.drawn.add(run);
      }
      lines.push(
        rising(this.axis, {
          name: run.legend,
          ...run.look,
          end: this.#end(run),
          value: format(run),
          width: WIDTH,
          x: kept.map((i) => x[i]),
          y: kept.map((i) => y[i]),
          segment: kept.map((i) => columns.segment[i]),
        }),
      );
    }
    const end = Math.max(...lines.map((line) => line.x.at(-1) ?? 0), 1e-3);
    chart.show(this.#fewer(lines, end), this.axis, [], end, this.#named());
    chart.leftOut().forEach((name) => this.leftOut.add(name));
  }

  /** Returns where a run ended along the axis: its lines have no value after that. */
  #end(run) {
    const last = ({ training, tests }) => [training, tests].map((columns) => this.#along(run, columns).at(-1) ?? 0);
    return Math.max(...last(run));
  }

  #named() {
    const versions = byId('versions').textContent.trim();
    return { samples: 'training samples', time: 'time since the run began, min:s' }[this.axis] ?? versions;
  }

  #along(run, columns) {
    switch (this.axis) {
      case 'time':
        return columns.timeMillis.map((time) => Math.max(0, time - run.startedMillis) / 1000);
      case 'samples':
        return columns.version.map((version) => version * run.samplesPerVersion);
      default:
        return columns.version;
    }
  }

  /** Returns the lines, or when they are too many points for a quick page, means at common places. */
  #fewer(lines, end) {
    const places = new Set(lines.flatMap(({ x }) => x)).size;
    if (places * lines.length <= CELLS) {
      return lines;
    }
    this.thinned = true;
    return lines.map((line) => atPlaces(line, end / PLACES));
  }
}

/** Returns the curves of a scalar of a run, one for each source. */
function sourcesOf(run, scalar) {
  const sources = Object.entries(run.scalars?.[scalar] ?? {});
  return sources.map(([source, columns]) => ({
    ...run,
    legend: sources.length > 1 ? `${run.legend}, ${source}` : run.legend,
    columns,
  }));
}

/** Returns a line whose x are multiples of a step, with the mean of the points at each; segments stay apart. */
function atPlaces(line, step) {
  const places = [];
  const y = [];
  const segment = [];
  let points = 0;
  line.x.forEach((x, i) => {
    const place = Math.round(x / step);
    const last = places.at(-1) ?? -1;
    if (place <= last && segment.at(-1) === line.segment[i]) {
      points++;
      y[y.length - 1] += (line.y[i] - y.at(-1)) / points;
    } else {
      points = 1;
      places.push(Math.max(place, last + 1));
      y.push(line.y[i]);
      segment.push(line.segment[i]);
    }
  });
  return { ...line, x: places.map((place) => place * step), y, segment };
}
