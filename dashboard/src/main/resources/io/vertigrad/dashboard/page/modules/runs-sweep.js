// Shows a sweep: each trial as a line over its settings and its result, and one setting against the result.

import { byId, fillOptions, setText, shape } from './dom.js';
import { many, percent, testLoss } from './format.js';
import { formatOf, lowerIsBetter, metricOf, settingOf, titleOf, valueOf } from './runs-columns.js';

const HEIGHT = 260;
const AXIS_WIDTH = 110;
const TOP = 30;
const BOTTOM = 34;
const SIDE = 66;
const TICKS = 5;

/** Numbers that span this factor are drawn on a logarithmic axis. */
const DECADE = 10;

/** This part of the results, the worst, is drawn at the end of the axis where it would flatten the others. */
const WORST = 0.1;

const STEPS = 'steps';
const order = new Intl.Collator('en', { numeric: true });

export class RunSweep {
  /** `details(run)` is called when the reader clicks a trial. */
  constructor(details) {
    this.details = details;
    for (const id of ['sweep', 'sweep-setting']) {
      byId(id).addEventListener('change', () => this.show(this.runs));
    }
    new ResizeObserver(() => this.#draw()).observe(byId('sweep-panel'));
  }

  /** Shows the sweep that the reader has chosen, or else the newest; hides the panel when no run is a trial. */
  show(runs) {
    this.runs = runs;
    const trials = runs.filter(({ sweep }) => sweep?.sweep && sweep.settings);
    const names = [...new Set(trials.map(({ sweep }) => sweep.sweep))];
    byId('sweep-panel').hidden = names.length === 0;
    if (names.length === 0) {
      return;
    }
    const name = choose(byId('sweep'), names);
    byId('sweep-choice').hidden = names.length === 1;
    this.trials = trials.filter(({ sweep }) => sweep.sweep === name);
    this.keys = [...new Set(this.trials.flatMap(({ sweep }) => Object.keys(sweep.settings)))].sort(order.compare);
    choose(byId('sweep-setting'), [...this.keys, STEPS]);
    this.result = resultOf(this.trials);
    setText(byId('sweep-title'), `Sweep ${name}`);
    setText(byId('sweep-verdict'), this.#words());
    this.#draw();
  }

  #words() {
    const { trials, result } = this;
    const ended = trials.filter(({ state, sweep }) => state === 'finished' && sweep.steps >= sweep.most).length;
    const running = trials.filter(({ state }) => state === 'running').length;
    const steps = trials.reduce((sum, { sweep }) => sum + sweep.steps / sweep.most, 0);
    const untested = trials.length - result.trials.length;
    const parts = [
      many(trials.length, 'trial'),
      running > 0 && `${running} running`,
      `${ended} with all steps`,
      untested > 0 && `${untested} without a result`,
      `${percent((100 * steps) / trials.length)} of the steps without early stopping`,
    ];
    const best = result.trials[0];
    const settings = best && this.keys.map((key) => `${key} ${valueIn(best, key)}`).join(', ');
    const reached = best ? ` Best ${result.title}: ${result.text(best)} by trial ${best.sweep.trial}, ${settings}.` : '';
    return `${parts.filter(Boolean).join(', ')}.${reached}`;
  }

  #draw() {
    if (!this.trials || byId('sweep-panel').hidden) {
      return;
    }
    const width = byId('sweep-panel').clientWidth - 36;
    const setting = byId('sweep-setting').value;
    const state = JSON.stringify([width, setting, this.trials.map(({ name, changed, sweep }) => [name, changed, sweep])]);
    if (state === this.drawn) {
      return;
    }
    this.drawn = state;
    const { result, keys } = this;
    const scales = new Map([...keys, STEPS].map((key) => [key, scaleOf(result.trials.map((run) => valueIn(run, key)))]));
    this.#lines(Math.max(width, (keys.length + 1) * AXIS_WIDTH), scales);
    this.#points(width, setting, scales.get(setting));
  }

  /** Draws parallel coordinates: an axis for each setting, the last for the result. */
  #lines(width, scales) {
    const { keys, result } = this;
    const axes = [...keys.map((key) => ({ title: key, scale: scales.get(key) })), result];
    const x = (i) => SIDE + (i * (width - 2 * SIDE)) / (axes.length - 1);
    const marks = this.#marks((run) => {
      const values = [...keys.map((key) => valueIn(run, key)), result.value(run)];
      const points = values.map((value, i) => `${x(i).toFixed(1)},${y(axes[i].scale.place(value)).toFixed(1)}`);
      return shape('polyline', { points: points.join(' ') });
    });
    const drawn = axes.map(({ title, scale }, i) => upright(x(i), scale, title, 'middle', i === keys.length ? 1 : -1));
    byId('sweep-lines').replaceChildren(picture(width, `${result.title} of each trial beside its settings`, marks, drawn));
  }

  /** Draws a setting against the result. */
  #points(width, setting, scale) {
    const { result } = this;
    const x = (place) => SIDE + place * (width - 2 * SIDE);
    const marks = this.#marks((run) => {
      const cx = x(scale.place(valueIn(run, setting)));
      return shape('circle', { cx, cy: y(result.scale.place(result.value(run))), r: 5 });
    });
    const ticks = scale.ticks.map(([value, text]) => {
      const at = { x: x(scale.place(value)), y: HEIGHT - BOTTOM + 18, 'text-anchor': 'middle' };
      return shape('text', at, text);
    });
    const bottom = HEIGHT - BOTTOM;
    const line = shape('line', { x1: SIDE, x2: width - SIDE, y1: bottom, y2: bottom, class: 'axis' });
    const drawn = [line, ...ticks, upright(SIDE, result.scale, result.title, 'start')];
    byId('sweep-points').replaceChildren(picture(width, `${result.title} over ${setting}`, marks, drawn));
  }

  /** Returns a mark of each trial, the best one on top; its colour says how good, pale ones were stopped early. */
  #marks(draw) {
    const { result, keys } = this;
    const last = result.trials.length - 1;
    return result.trials
      .map((run, rank) => {
        const { trial, steps, most } = run.sweep;
        const settings = keys.map((key) => `${key} ${valueIn(run, key)}`).join(', ');
        const far = steps < most ? `, after ${steps} of ${most} steps` : '';
        const words = `trial ${trial}: ${result.title} ${result.text(run)}${far}, ${settings}`;
        const mark = draw(run);
        mark.append(shape('title', {}, words));
        mark.setAttribute('class', `trial${rank === 0 ? ' best' : ''}${steps < most ? ' early' : ''}`);
        mark.setAttribute('data-run', run.name);
        mark.style.setProperty('--good', `${Math.round(100 * (1 - rank / Math.max(1, last)))}%`);
        mark.addEventListener('click', () => this.details(run));
        for (const [type, on] of [['pointerenter', true], ['pointerleave', false]]) {
          mark.addEventListener(type, () => this.#highlight(run, on));
        }
        return mark;
      })
      .reverse();
  }

  #highlight({ name }, on) {
    for (const mark of byId('sweep-panel').querySelectorAll('.trial')) {
      mark.classList.toggle('pointed', on && mark.dataset.run === name);
    }
  }
}

/** Returns the result of trials: its title, value, text and scale, and the trials that have one, the best first. */
function resultOf(all) {
  const key = all.map(metricOf).find(Boolean);
  const value = (run) => (key ? valueOf(run, key) : run.loss);
  const lower = !key || lowerIsBetter(key);
  const better = (a, b) => (lower ? value(a) - value(b) : value(b) - value(a));
  const trials = all.filter((run) => !run.diverged && Number.isFinite(value(run))).sort(better);
  const title = key ? titleOf(key).toLowerCase() : 'test loss';
  const format = key ? formatOf(key) : testLoss;
  const worst = value(trials[Math.floor((1 - WORST) * Math.max(0, trials.length - 1))] ?? {});
  return { title, value, text: (run) => format(value(run)), trials, scale: scaleOf(trials.map(value), format, worst, lower) };
}

/** Returns a number as a person would write it: 0.03, 128. */
const written = (value) => String(Number(Number(value).toPrecision(3)));

const valueIn = ({ sweep }, key) => (key === STEPS ? sweep.steps : settingOf(sweep, key));

const y = (place) => HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM);

/**
 * Returns where values stand on an axis: {place(value) from 0 to 1, ticks}. Numbers that span a factor of ten or more
 * stand on a logarithmic axis, texts in their order. Values worse than `worst` stand at the end of the axis.
 */
function scaleOf(values, format = written, worst, lower) {
  const known = [...new Set(values)].sort(order.compare);
  const numbers = known.map(Number).sort((a, b) => a - b);
  if (known.length === 0 || numbers.some((number) => !Number.isFinite(number))) {
    const step = Math.max(1, known.length - 1);
    const place = (value) => (known.length === 1 ? 0.5 : known.indexOf(value) / step);
    return { place, ticks: known.map((value) => [value, String(value)]) };
  }
  const least = Math.min(...numbers);
  const most = Math.max(...numbers);
  const from = worst === undefined || lower ? least : worst;
  const to = worst === undefined || !lower ? most : worst;
  const logarithmic = from > 0 && to / from >= DECADE;
  const bent = logarithmic ? Math.log : Number;
  const straight = logarithmic ? Math.exp : Number;
  const [low, high] = [bent(from), bent(to)];
  const place = (value) => {
    const clamped = Math.min(to, Math.max(from, Number(value)));
    return high === low ? 0.5 : (bent(clamped) - low) / (high - low);
  };
  const even = [...Array(TICKS).keys()].map((i) => straight(low + (i * (high - low)) / (TICKS - 1)));
  const shown = high === low ? [from] : worst === undefined && numbers.length <= TICKS + 1 ? numbers : even;
  const beyond = (value) => (value === from && least < from ? '≤ ' : value === to && most > to ? '≥ ' : '');
  return { place, ticks: shown.map((value, i) => [value, `${beyond(edge(value, i))}${format(value)}`]) };

  /** An end of the axis, without the error of the logarithm. */
  function edge(value, i) {
    return i === 0 ? from : i === shown.length - 1 ? to : value;
  }
}

/** Draws an upright axis with its title above it, and its figures to the left (-1) or to the right (1). */
function upright(x, scale, title, anchor, side = -1) {
  const ticks = scale.ticks.map(([value, text]) => {
    const at = { x: x + 6 * side, y: y(scale.place(value)) + 4, 'text-anchor': side < 0 ? 'end' : 'start' };
    return shape('text', at, text);
  });
  const short = title.slice(title.lastIndexOf('.') + 1);
  const at = { x: anchor === 'start' ? x - SIDE + 2 : x, y: 14, 'text-anchor': anchor, class: 'title' };
  const head = shape('text', at, shape('title', {}, title), short);
  return shape('g', {}, shape('line', { x1: x, x2: x, y1: y(0), y2: y(1), class: 'axis' }), head, ...ticks);
}

function picture(width, label, marks, axes) {
  const box = { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: 'img', 'aria-label': label };
  return shape('svg', box, ...marks, ...axes);
}

/** Fills a list of choices; keeps the chosen one if it is still there, else takes the first. Returns the chosen one. */
function choose(select, names) {
  const chosen = names.includes(select.value) ? select.value : names[0];
  fillOptions(select, names.map((name) => [name, name]), chosen);
  return chosen;
}
