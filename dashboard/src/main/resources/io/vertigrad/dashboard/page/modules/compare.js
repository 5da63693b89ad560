// Shows several runs in the same charts; docs/reference/metrics.md describes the input.

import { Chart, rising, smoothed } from './charts.js';
import { byId, element, setText } from './dom.js';
import { accuracy, many, metric, testLoss, trainingLoss } from './format.js';
import { named, ofRank, onThemeChange } from './palette.js';

const WIDTH = 1.75;

class Comparison {
  constructor({ runs, table }) {
    this.runs = runs.map((run, i) => ({ ...run, place: i, shown: true }));
    this.axis = 'samples';
    this.smoothing = byId('smoothing');
    const chart = (id, label, value, empty) => new Chart(byId(id), { label, value, empty });
    const untested = 'None of these runs was tested.';
    this.training = chart('training', 'Training loss of each run', trainingLoss, 'No step was reported.');
    this.loss = chart('loss', 'Test loss of each run', testLoss, untested);
    this.accuracy = chart('accuracy', 'Accuracy of each run, percent', accuracy, untested);
    setText(byId('description'), described(runs));
    nameVersions(runs);
    byId('runs').append(...this.runs.map((run) => this.#choice(run)));
    byId('table').append(tableOf(table));
    for (const radio of document.getElementsByName('axis')) {
      radio.addEventListener('change', () => this.#look(radio.value));
    }
    this.smoothing.addEventListener('input', () => this.show());
    onThemeChange(() => this.show());
    this.show();
  }

  show() {
    const factor = Number(this.smoothing.value);
    setText(byId('smoothing-value'), factor.toFixed(2));
    this.runs.forEach((run) => (run.swatch.style.background = ofRank(run.place)));
    const shown = this.runs.filter((run) => run.shown);
    this.#draw(this.training, shown, ({ training }) => [training, smoothed(training.loss, factor, training.segment)]);
    this.#draw(this.loss, shown, ({ tests }) => [tests, tests.loss]);
    // Runs with the same metric share a scale; otherwise each run has its own figures.
    const kinds = new Set(shown.map(({ tests }) => tests.metric?.find(Boolean) ?? ''));
    const other = metric(kinds.size === 1 ? [...kinds][0] : '');
    setText(byId('accuracy-title'), kinds.size > 1 ? 'Metrics of the tests' : `${other ? other.title : 'Accuracy'} of the tests`);
    this.accuracy.named(other ? `${other.title} of each run${other.unit}` : 'Accuracy of each run, percent', other ? other.value : accuracy);
    this.#draw(this.accuracy, shown, ({ tests }) => [tests, tests.metricValue ?? tests.accuracy]);
  }

  #look(axis) {
    this.axis = axis;
    this.show();
  }

  #draw(chart, runs, curve) {
    const lines = runs.map((run) => {
      const [columns, y] = curve(run);
      const x = rising(this.#along(run, columns));
      const kept = x.map((_, i) => i).filter((i) => Number.isFinite(y[i]));
      return {
        name: run.name,
        color: ofRank(run.place),
        width: WIDTH,
        x: kept.map((i) => x[i]),
        y: kept.map((i) => y[i]),
        segment: kept.map((i) => columns.segment[i]),
      };
    });
    const end = Math.max(...lines.map((line) => line.x.at(-1) ?? 0), 1e-3);
    chart.show(lines, this.axis, [], end);
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

  #choice(run) {
    const box = element('input', { type: 'checkbox', checked: '' });
    run.swatch = element('span', { class: 'swatch' });
    box.addEventListener('change', () => {
      run.shown = box.checked;
      this.show();
    });
    return element('label', {}, box, run.swatch, element('span', {}, run.name));
  }
}

/** Returns the number of runs, and how many of them ended in each state. */
function described(runs) {
  const states = [...new Set(runs.map((run) => run.state))].map(
    (state) => `${runs.filter((run) => run.state === state).length} ${state}`,
  );
  return `of ${many(runs.length, 'run')}: ${states.join(', ')}`;
}

/** Names the axis of versions: rounds of all workers and updates by one worker cannot share it. */
function nameVersions(runs) {
  const kinds = new Set(runs.map((run) => run.counted));
  byId('versions').hidden = kinds.size > 1;
  setText(byId('versions').lastChild, [...kinds].join(''));
}

function tableOf({ heading, summaries, accuracies }) {
  const [, ...names] = heading;
  const row = ([label, ...cells]) =>
    element(
      'tr',
      cells.every((cell) => cell === '') ? { class: 'group' } : {},
      element('th', { scope: 'row' }, label),
      ...cells.map((cell, i) => element('td', cell === '' ? {} : { 'data-name': names[i] }, cell)),
    );
  const head = [element('td'), ...names.map((name) => element('th', { scope: 'col' }, name))];
  byId('table').style.setProperty('--runs', names.length);
  return element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...[...summaries, ...accuracies].map(row)),
  );
}

new Comparison(await (await fetch('comparison')).json());
document.body.dataset.ready = 'true';
