// Shows the three charts: loss, accuracy, throughput.

import { byId, setText } from './dom.js';
import { Chart, rising, smoothed } from './charts.js';
import { accuracy, count, metric, testLoss, trainingLoss } from './format.js';
import { named, ofRank, onThemeChange } from './palette.js';

const MARKS = 60;
const KINDS = {
  memberJoined: 'mark-join',
  memberLeft: 'lost',
  memberSuspected: 'suspect',
  stallFound: 'suspect',
  checkpointWritten: 'mark-checkpoint',
};

/** The legend of the marks, by kind. */
const MARKED = {
  'mark-join': 'joined',
  lost: 'left',
  suspect: 'silent, or training waits',
  'mark-checkpoint': 'checkpoint',
};

export class Curves {
  constructor() {
    this.axis = 'time';
    this.smoothing = byId('smoothing');
    this.loss = new Chart(byId('loss'), {
      label: 'Loss of each worker and of the tests',
      unit: 'loss',
      value: trainingLoss,
      empty: 'No step has been reported yet.',
    });
    this.accuracy = new Chart(byId('accuracy'), {
      label: 'Accuracy of the tests in percent',
      unit: '%',
      value: accuracy,
      empty: 'Nothing has been tested yet.',
    });
    this.rate = new Chart(byId('rate'), {
      label: 'Samples per second of each worker',
      unit: 'samples/s',
      value: count,
      range: (plot, low, high) => [0, high * 1.08 || 1],
      empty: 'No step has been reported yet.',
    });
    for (const radio of document.getElementsByName('axis')) {
      radio.addEventListener('change', () => this.#choose(radio.value));
    }
    this.smoothing.addEventListener('input', () => this.#smooth());
    onThemeChange(() => this.run && this.show(this.run));
  }

  show(run) {
    this.run = run;
    this.totals = this.#totals();
    const workers = run.of('worker').filter((worker) => run.curves.has(`worker ${worker.rank}`));
    const factor = Number(this.smoothing.value);
    const line = (worker, column) => {
      const curve = run.curves.get(`worker ${worker.rank}`);
      return rising(this.axis, {
        name: run.called(worker),
        color: ofRank(worker.rank),
        x: this.#along(curve),
        y: smoothed(curve[column], factor, curve.segment),
        segment: curve.segment,
      });
    };
    const marks = this.#marks();
    const end = this.#end();
    byId('axis-bytes').hidden = !run.sentBytes;
    const losses = workers.map((worker) => line(worker, 'loss'));
    this.loss.show([...losses, { ...this.#test('test', 'loss'), value: testLoss }], this.axis, marks, end);
    if (run.state.stream) {
      this.#showStream(run, marks, end);
    } else {
      this.#showTests(run, marks, end);
    }
    this.rate.show(
      workers.map((worker) => line(worker, 'samplesPerSecond')),
      this.axis,
      marks,
      end,
    );
  }

  /** Shows the samples of a stream, each tested before it was trained on, beside two rules without a model. */
  #showStream(run, marks, end) {
    const values = run.state.stream.rmse !== undefined;
    const title = values ? 'RMSE before training on each event' : 'Accuracy before training on each event';
    setText(byId('accuracy-title'), title);
    this.accuracy.named(values ? title : `${title}, in percent`, values ? metric('rmse').value : accuracy, values ? '' : '%');
    // A stream has shares from 0 to 1, and its chart percent, as those of other tests.
    const unit = values ? 1 : 100;
    const rules = [
      { name: 'no change', column: 'noChange', color: ofRank(1), width: 1 },
      { name: values ? 'mean' : 'majority', column: values ? 'mean' : 'majority', color: ofRank(2), width: 1 },
      { name: 'model, all events', column: values ? 'rmse' : 'accuracy', color: ofRank(0), width: 1 },
    ];
    const last = this.#test('model, last events', values ? 'windowRmse' : 'windowAccuracy', unit);
    const others = rules.map((rule) => ({ ...this.#test(rule.name, rule.column, unit), ...rule }));
    this.accuracy.show([last, ...others], this.axis, marks, end);
  }

  #showTests(run, marks, end) {
    const other = metric(run.state.metric, run.run.config.model?.loss);
    setText(byId('accuracy-title'), other ? other.title : 'Accuracy');
    this.accuracy.named(
      other ? `${other.title} of the tests${other.unit}` : 'Accuracy of the tests in percent',
      other ? other.value : accuracy,
      other ? '' : '%',
    );
    this.accuracy.show([this.#test('test', other ? 'metricValue' : 'accuracy')], this.axis, marks, end);
  }

  #test(name, column, unit = 1) {
    const tests = this.run.tests.filter((test) => Number.isFinite(test[column]));
    return rising(this.axis, {
      name,
      color: named('ink'),
      width: 2,
      x: this.#along({
        timeMillis: tests.map((test) => test.timeMillis),
        version: tests.map((test) => test.version),
        ...(this.#alongTotals() && { [this.axis]: tests.map((test) => this.#totalAt(test.version)) }),
      }),
      y: tests.map((test) => unit * test[column]),
      segment: tests.map((test) => test.segment),
    });
  }

  #along(columns) {
    const start = this.run.startMillis;
    return this.axis === 'time' ? columns.timeMillis.map((t) => Math.max(0, (t - start) / 1000)) : columns[this.axis];
  }

  #end() {
    const { run } = this;
    switch (this.axis) {
      case 'time':
        return Math.max(1, run.spanSeconds);
      case 'version':
        return Math.max(1, run.state.version ?? 1);
      default:
        return this.totals.reduce(
          (most, point) => Math.max(most, point.total),
          Math.max(1, this.axis === 'samples' ? (run.state.samples ?? 1) : run.sentBytes),
        );
    }
  }

  #alongTotals() {
    return this.axis === 'samples' || this.axis === 'bytes';
  }

  /** Returns {version, total} of all points of all workers, by version, for an axis of totals. */
  #totals() {
    const totals = [{ version: 0, total: 0 }];
    for (const curve of this.#alongTotals() ? this.run.curves.values() : []) {
      curve.version.forEach((version, i) => totals.push({ version, total: curve[this.axis][i] }));
    }
    return totals.sort((one, other) => one.version - other.version);
  }

  /** Returns what all workers had trained or sent at a version, between the two nearest reports. */
  #totalAt(version) {
    let [low, high] = [0, this.totals.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      [low, high] = this.totals[middle].version < version ? [middle + 1, high] : [low, middle];
    }
    const after = this.totals[Math.min(low, this.totals.length - 1)];
    const before = this.totals[low - 1] ?? after;
    const share = after === before ? 0 : (version - before.version) / (after.version - before.version);
    return before.total + share * (after.total - before.total);
  }

  #marks() {
    if (this.axis !== 'time') {
      return [];
    }
    const start = this.run.startMillis;
    return this.run.events
      .filter((event) => event.type in KINDS && event.timeMillis > start)
      .filter((event) => event.type !== 'memberLeft' || event.reason !== 'finished')
      .slice(-MARKS)
      .map((event) => ({ x: (event.timeMillis - start) / 1000, kind: KINDS[event.type], name: MARKED[KINDS[event.type]] }));
  }

  #choose(axis) {
    this.axis = axis;
    if (this.run) {
      this.show(this.run);
    }
  }

  #smooth() {
    setText(byId('smoothing-value'), Number(this.smoothing.value).toFixed(2));
    if (this.run) {
      this.show(this.run);
    }
  }
}
