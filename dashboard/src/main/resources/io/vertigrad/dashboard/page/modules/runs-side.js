// Shows the checked runs side by side: the settings in which they differ, and their results.

import { byId, element, setText } from './dom.js';
import { count, many, NONE, trainingLoss } from './format.js';
import {
  differences,
  formatOf,
  metricOf,
  nameAmong,
  settingOf,
  shortHash,
  titleOf,
  verdictOf,
  winnersIn,
} from './runs-columns.js';

const RUNS = 16;
const COUNTS = 5;

/** Shows `runs` with their results in these columns; `curvesOf(run)` may be undefined. */
export function showSide(runs, columns, curvesOf) {
  const some = runs.slice(0, RUNS);
  const left = runs.length > RUNS ? `The first ${RUNS} of ${runs.length} runs in the charts. ` : '';
  setText(byId('side-verdict'), left + (some.length > 0 ? verdictOf(some, 'of those checked') : 'No run is checked in the list.'));
  const rows = some.length > 0 ? [...settings(some), ...results(some, columns), ...tests(some, curvesOf)] : [];
  const state = JSON.stringify([some.map(({ name, label }) => [name, label]), rows]);
  const host = byId('side');
  if (host.shown !== state) {
    host.shown = state;
    host.style.setProperty('--runs', some.length);
    host.replaceChildren(...(some.length > 0 ? [tableOf(some, rows)] : []));
  }
}

function settings(runs) {
  const keys = differences(runs);
  const rows = keys.map((key) => [key, ...runs.map((run) => settingOf(run, key))]);
  return [[keys.length > 0 ? 'settings in which they differ' : 'no setting differs'], ...rows];
}

function results(runs, columns) {
  const winners = winnersIn(runs);
  const row = (title, text) => [title, ...runs.map(text)];
  const told = columns.filter(({ key, number }) => key === 'state' || (number && !key.startsWith('settings.')));
  const rows = [
    ...told.map(({ key, title, text }) =>
      row(title, (run) => (winners.get(run.name) === key ? `best ${text(run)}` : text(run))),
    ),
    row('training loss', (run) => trainingLoss(run.trainingLoss)),
    row('samples', (run) => count(run.samples)),
    row('hash of the parameters', ({ hash }) => shortHash(hash) ?? NONE),
  ];
  return [['results'], ...rows.filter(([, ...cells]) => cells.some((cell) => cell !== NONE))];
}

/** Returns the metric of the runs after the same numbers of samples. */
function tests(runs, curvesOf) {
  const points = runs.map((run) => pointsOf(curvesOf(run)));
  if (runs.length < 2 || points.some(({ length }) => length === 0) || new Set(runs.map(metricOf)).size > 1) {
    return [];
  }
  const first = Math.max(...points.map(([[x]]) => x));
  const last = Math.min(...points.map((run) => run.at(-1)[0]));
  if (first >= last) {
    return [];
  }
  const key = metricOf(runs[0]);
  const counts = [...Array(COUNTS).keys()].map((i) => first + ((last - first) * i) / (COUNTS - 1));
  return [
    [`${titleOf(key).toLowerCase()} after`],
    ...counts.map((samples) => [
      many(Math.round(samples), 'sample'),
      ...points.map((run) => formatOf(key)(valueAt(run, samples))),
    ]),
  ];
}

/** Returns [samples, metric] of each test. */
function pointsOf(run) {
  const { tests, samplesPerVersion } = run ?? { tests: { version: [] } };
  const y = tests.metricValue ?? tests.accuracy;
  return tests.version
    .map((version, i) => [version * samplesPerVersion, y[i]])
    .filter((point) => point.every(Number.isFinite));
}

/** Returns the metric between the two nearest tests. */
function valueAt(points, samples) {
  const found = points.findIndex(([x]) => x >= samples);
  const after = found < 0 ? points.length - 1 : found;
  const [[x1, y1], [x2, y2]] = [points[Math.max(0, after - 1)], points[after]];
  return x2 > x1 ? y1 + ((samples - x1) / (x2 - x1)) * (y2 - y1) : y2;
}

function tableOf(runs, rows) {
  const names = runs.map(({ name }) => name);
  const row = ([label, ...cells]) =>
    element(
      'tr',
      cells.length === 0 ? { class: 'group' } : {},
      element('th', cells.length === 0 ? { colspan: names.length + 1 } : { scope: 'row' }, label),
      ...cells.map((cell, i) => element('td', { 'data-name': names[i] }, cell)),
    );
  const head = [element('td'), ...runs.map((run) => element('th', { scope: 'col', title: run.name }, nameAmong(run, runs)))];
  return element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows.map(row)));
}
