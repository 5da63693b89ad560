// Lists the predictors, one row each: what they answer with, how fast, and what they refuse.

import { byId, element, setText } from './dom.js';
import { count, duration, millis } from './format.js';

const COLUMNS = ['Predictor', 'Version', 'Age', 'Swaps', 'Answered', 'Per second', 'p50', 'p99', 'Waiting', 'Refused'];

export class Predictors {
  constructor() {
    this.body = element('tbody');
    const head = element('tr', {}, ...COLUMNS.map((name) => element('th', { scope: 'col' }, name)));
    byId('predictors').append(
      element('div', { class: 'scroll' }, element('table', {}, element('thead', {}, head), this.body)),
    );
  }

  show(run) {
    const predictors = Object.entries(run.state.predictors ?? {});
    byId('predictors-panel').hidden = predictors.length === 0;
    predictors.forEach(([id, one], i) => {
      const row = this.body.children[i] ?? this.body.appendChild(emptyRow());
      const seconds = Math.max(0, (one.ageMillis + run.timeMillis - one.timeMillis) / 1000);
      const texts = [
        id,
        count(one.version),
        duration(run.ended ? one.ageMillis / 1000 : seconds),
        count(one.swaps),
        count(one.predictions),
        count(one.predictionsPerSecond),
        millis(one.latencyMillis50),
        millis(one.latencyMillis99),
        count(one.waiting),
        count(one.overloaded + one.invalid),
      ];
      texts.forEach((text, k) => setText(row.children[k], text));
    });
  }
}

function emptyRow() {
  return element('tr', {}, ...COLUMNS.map((name) => element('td', { 'data-name': name })));
}
