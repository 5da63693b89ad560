// Shows the bar at the top: the run, its progress and its results.

import { byId, element, setText } from './dom.js';
import { accuracy, count, duration, many, metric, NONE, trainingLoss } from './format.js';

const FIGURES = ['updates', 'epoch', 'elapsed', 'left', 'mean samples/s', 'loss', 'accuracy'];

/** Names of the counts of a stream that are shown once they are not 0. */
const LEFT_OUT = [
  ['events left out', 'bad'],
  ['events lost', 'lost'],
  ['events without label', 'unlabelled'],
  ['labels without event', 'unmatched'],
];

const LINE = {
  connecting: 'connecting',
  loading: 'loading',
  connected: 'live',
  lost: 'connection lost, trying again',
  outdated: 'another version runs, reload the page',
  replay: 'replay',
  finished: 'finished',
  failed: 'failed',
  stopped: 'stopped',
  interrupted: 'interrupted',
};

export class Bar {
  constructor() {
    this.values = new Map();
    FIGURES.forEach((name) => this.#add(name));
    this.progress = byId('progress');
  }

  line(state) {
    byId('line').dataset.state = state;
    setText(byId('line'), LINE[state]);
  }

  show(run) {
    const state = run.state;
    document.title = `${run.job} · ${state.phase}`;
    setText(byId('job'), run.job);
    setText(byId('phase'), [state.phase, run.flaw].filter(Boolean).join(', '));
    byId('phase').dataset.phase = run.flaw ? 'flawed' : state.phase;
    byId('phase').title = state.reason ?? '';
    setText(byId('description'), describe(run));
    this.#figures(run);
    const done = Math.min(100, (100 * (state.version ?? 0)) / (state.lastVersion || Infinity));
    this.progress.firstElementChild.style.width = `${done}%`;
    this.progress.setAttribute('aria-valuenow', Math.round(done));
  }

  #add(name) {
    const value = element('dd', {}, NONE);
    this.values.set(name, value);
    byId('figures').append(element('div', {}, element('dt', {}, name), value));
    return value;
  }

  /** Shows the tests of a stream, each of an event before it was trained on. */
  #stream(stream, set) {
    set('events', count(stream.events));
    if (stream.rmse !== undefined) {
      const { value } = metric('rmse');
      set('RMSE, last events', value(stream.windowRmse));
      set('RMSE of no change', value(stream.noChange));
    } else {
      set('accuracy, last events', accuracy(100 * stream.windowAccuracy));
      set('no change', accuracy(100 * stream.noChange));
      set('kappa', stream.kappa.toFixed(3));
    }
    for (const [name, key] of LEFT_OUT) {
      if (stream[key]) set(name, count(stream[key]));
    }
  }

  #figures(run) {
    const state = run.state;
    const of = state.lastVersion && !run.endless ? ` / ${count(state.lastVersion)}` : '';
    const set = (name, text) => setText(this.values.get(name) ?? this.#add(name), text);
    set('updates', `${count(state.version ?? 0)}${of}`);
    set('epoch', count(state.epoch ?? 0));
    set('elapsed', state.startedMillis ? duration(run.seconds) : NONE);
    set('left', duration(run.secondsLeft));
    set('mean samples/s', count(run.samplesPerSecond));
    set('loss', trainingLoss(state.loss ?? undefined));
    const other = metric(state.metric, run.run.config.model?.loss);
    const hasAccuracy = !other || Number.isFinite(state.accuracy) && other.name === 'perplexity';
    this.values.get('accuracy').parentElement.hidden = !hasAccuracy;
    set('accuracy', accuracy(state.accuracy ?? undefined));
    if (state.stream) {
      this.values.get('accuracy').parentElement.hidden = true;
      this.values.get('epoch').parentElement.hidden = true;
      this.#stream(state.stream, set);
    }
    if (other) {
      set(other.name, other.value(state.metricValue ?? undefined));
    }
    if (state.topK > 0) {
      set(`top-${state.topK} accuracy`, accuracy(state.topAccuracy ?? undefined));
    }
    if (Number.isFinite(state.trainingAccuracy)) {
      set('training accuracy', accuracy(state.trainingAccuracy));
    }
  }
}

function describe(run) {
  const config = run.run.config;
  const servers = run.run.servers > 0 ? many(run.run.servers, 'server') : 'no server';
  return [
    config.strategy?.name ?? run.state.strategy,
    config.model?.name,
    config.data?.name,
    many(run.run.workers, run.trainer),
    servers,
    config.engine && `${config.engine} on ${config.workers?.device ?? 'cpu'}`,
  ]
    .filter(Boolean)
    .join(' · ');
}
