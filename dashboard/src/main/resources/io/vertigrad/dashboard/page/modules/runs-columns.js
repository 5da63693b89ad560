// What a list of runs shows: its columns, the settings in which runs differ, the filter, and the best run.

import { accuracy, count, duration, many, metric, NONE, percent, testLoss } from './format.js';

const ENDLESS = 1e12;
const NOTE_LENGTH = 120;

/** Settings that have columns of their own in the list. */
const SHOWN = new Set(['strategy.name', 'model.name', 'data.name', 'workers.device']);

/** Metrics of which a lower value is the better one. */
const LOWER = new Set(['rmse', 'perplexity']);

/** Figures of a run; a filter that names one does not look for it among the settings. */
const FIGURES = new Set('seconds samples samplesPerSecond loss trainingLoss accuracy rmse perplexity'.split(' '));
const ALIASES = { duration: 'seconds', speed: 'samplesPerSecond' };

const TERM = /^([^<>=!]+)(>=|<=|!=|=|>|<)(.*)$/;
const BESIDES = ['name', 'state', 'note', 'strategy', 'model', 'data', 'device'];
const order = new Intl.Collator('en', { numeric: true });

/** Returns a date and a time of day, such as 2026-11-27 15:04. */
export function moment(millis) {
  if (!Number.isFinite(millis)) {
    return NONE;
  }
  const time = new Date(millis);
  const two = (value) => String(value).padStart(2, '0');
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`;
}

/** Returns the state, and how far a run that goes on is. */
export function stateOf({ state, version, lastVersion, diverged, guesses, outliers = [] }) {
  const bounded = state === 'running' && lastVersion > 0 && lastVersion < ENDLESS;
  const far = bounded ? `, ${percent((100 * (version ?? 0)) / lastVersion)}` : '';
  const wrong = outliers.length > 0 ? `, ${many(outliers.length, 'outlier')}` : '';
  return `${state}${far}${diverged ? ', diverged' : ''}${guesses ? ', no better than guessing' : ''}${wrong}`;
}

/** Returns the key of what the tests of a run measure besides the loss; undefined before a test. */
export const metricOf = (run) => run.metric ?? (Number.isFinite(run.accuracy) ? 'accuracy' : undefined);

/** Returns the value of a metric; undefined where it was not measured. */
export const valueOf = (run, key) =>
  key === 'accuracy' ? run.accuracy : run.metric === key ? run.metricValue : undefined;

export const lowerIsBetter = (key) => LOWER.has(key);

export const titleOf = (key) => metric(key)?.title ?? 'Accuracy';

export const formatOf = (key) => metric(key)?.value ?? accuracy;

/** Returns the metrics that any of these runs has. */
export const metricsOf = (runs) =>
  [...new Set(runs.flatMap((run) => ['accuracy', run.metric].filter((key) => Number.isFinite(valueOf(run, key)))))];

/** Returns a setting of a run as text. */
export function settingOf(run, key, otherwise = NONE) {
  const value = run.settings?.[key];
  return value === undefined || value === null ? otherwise : value === '' ? '""' : String(value);
}

const described = (run) => Object.keys(run.settings ?? {}).length > 0;

/**
 * Returns the keys of the settings in which runs differ, those first by which the most runs differ, those last that
 * some runs lack, perhaps because an older version wrote them. When the names of strategies or others differ, only
 * the settings that all of them have are compared.
 */
export function differences(runs) {
  const known = runs.filter(described);
  const keys = new Set(known.flatMap((run) => Object.keys(run.settings)));
  const found = new Map();
  for (const key of keys) {
    const counts = new Map();
    for (const run of known) {
      const text = settingOf(run, key);
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    if (counts.size > 1) {
      found.set(key, { unlike: known.length - Math.max(...counts.values()), partly: counts.has(NONE) });
    }
  }
  const nameOf = (key) => `${key.slice(0, key.lastIndexOf('.'))}.name`;
  return [...found.keys()]
    .filter((key) => !found.get(key).partly || !found.has(nameOf(key)))
    .sort((a, b) => {
      const [one, other] = [found.get(a), found.get(b)];
      return one.partly - other.partly || other.unlike - one.unlike || order.compare(a, b);
    });
}

/**
 * Returns the columns of a list, each {key, title, value, text, number, falling, group, setting}. `all` are
 * the runs of the folder; settings are those in which the `listed` ones differ.
 */
export function columnsOf(all, listed) {
  const settings = differences(listed).filter((key) => !SHOWN.has(key));
  const columns = [
    { ...plain('name'), title: 'run' },
    { ...plain('state'), text: stateOf },
    { ...figure('startedMillis', 'begun', moment, true), group: (run) => moment(run.startedMillis).split(' ')[0] },
    figure('seconds', 'duration', duration, true),
    ...metricsOf(all).map((key) => ({
      ...figure(key, titleOf(key).toLowerCase(), formatOf(key), !LOWER.has(key)),
      value: (run) => valueOf(run, key),
      text: (run) => formatOf(key)(valueOf(run, key)),
    })),
    figure('loss', 'test loss', testLoss, false),
    figure('samplesPerSecond', 'samples/s', count, true),
    ...settings.map((key) => ({
      key: `settings.${key}`,
      title: key,
      setting: true,
      value: (run) => run.settings?.[key],
      text: (run) => settingOf(run, key),
      number: listed.some((run) => typeof run.settings?.[key] === 'number'),
    })),
    { ...plain('tags'), value: tagsOf, text: (run) => tagsOf(run) ?? NONE },
    { ...plain('note'), text: ({ note }) => shortened(note) },
    ...['strategy', 'model', 'data', 'device'].map(plain),
  ];
  const known = (value) => all.some((run) => ![undefined, null, ''].includes(value(run)));
  return columns.filter(({ key, value }) => key === 'name' || known(value));
}

const plain = (key) => ({ key, title: key, value: (run) => run[key], text: (run) => run[key] ?? NONE });

const figure = (key, title, format, falling) => ({
  key,
  title,
  value: (run) => run[key],
  text: (run) => format(run[key]),
  number: true,
  falling,
});

const tagsOf = ({ tags }) => (tags?.length > 0 ? tags.join(', ') : undefined);

const shortened = (note) =>
  !note ? NONE : note.length > NOTE_LENGTH ? `${note.slice(0, NOTE_LENGTH)} …` : note;

/** Returns runs by the value of a column; those without one come last. */
export function sorted(runs, { value }, falling) {
  const unknown = (run) => [undefined, null, ''].includes(value(run)) || Number.isNaN(value(run));
  const known = runs.filter((run) => !unknown(run));
  known.sort((a, b) => (falling ? compared(value(b), value(a)) : compared(value(a), value(b))));
  return [...known, ...runs.filter(unknown)];
}

const compared = (a, b) => Number(a) - Number(b) || order.compare(String(a), String(b));

/**
 * Returns whether a run matches every word of a filter: a part of its name, state, tags, note, strategy,
 * model, data or device; or a key of it or of its settings with a value, as in `batch=64` or `loss<0.1`.
 */
export function matches(run, filter) {
  return filter.split(/\s+/).every((word) => {
    const [, key, sign, wanted] = word.match(TERM) ?? [];
    if (key === undefined) {
      const texts = [...BESIDES.map((name) => run[name] ?? ''), ...(run.tags ?? [])];
      return texts.some((text) => String(text).toLowerCase().includes(word.toLowerCase()));
    }
    // While the value is not typed yet, the list stays.
    return wanted === '' || holds(valuesOf(run, key), sign, wanted);
  });
}

/** Returns the keys of a filter that no run has. */
export function unknownKeys(runs, filter) {
  const keys = filter.split(/\s+/).map((word) => word.match(TERM)?.[1]);
  return keys.filter((key) => key !== undefined && !runs.some((run) => valuesOf(run, key).length > 0));
}

function valuesOf(run, named) {
  const key = ALIASES[named] ?? named;
  if (key === 'tags') {
    return run.tags ?? [];
  }
  const own = run.metric === key ? run.metricValue : run[key];
  if ((own !== undefined && typeof own !== 'object') || FIGURES.has(key)) {
    return own === undefined ? [] : [own];
  }
  const settings = run.settings ?? {};
  const last = Object.keys(settings).filter((name) => name.endsWith(`.${key}`));
  return (key in settings ? [key] : last).map((name) => settings[name]);
}

function holds(values, sign, wanted) {
  const number = Number(wanted);
  const equal = (value) =>
    typeof value === 'number' ? value === number : String(value).toLowerCase() === wanted.toLowerCase();
  const numbers = values.filter((value) => typeof value === 'number');
  switch (sign) {
    case '=':
      return values.some(equal);
    case '!=':
      return !values.some(equal);
    case '>':
      return numbers.some((value) => value > number);
    case '<':
      return numbers.some((value) => value < number);
    case '>=':
      return numbers.some((value) => value >= number);
    default:
      return numbers.some((value) => value <= number);
  }
}

/**
 * Returns the best of the runs with the same data and metric, for each such pair: {key, data, runs, winners}. Data are
 * the same if their fingerprints are; runs without one are compared by the name of their data.
 */
function best(runs) {
  const kinds = new Map();
  for (const run of runs) {
    const key = metricOf(run);
    if (Number.isFinite(valueOf(run, key))) {
      const kind = JSON.stringify([run.data, run.dataHash, key]);
      kinds.set(kind, kinds.get(kind) ?? { key, data: run.data, runs: [] });
      kinds.get(kind).runs.push(run);
    }
  }
  return [...kinds.values()]
    .filter((kind) => kind.runs.length > 1)
    .map((kind) => ({ ...kind, winners: winnersOf(kind) }))
    .sort((a, b) => b.runs.length - a.runs.length);
}

/** Returns the names of the best runs, each with the key of the metric in which it is the best. */
export function winnersIn(runs) {
  const kinds = best(runs).filter((kind) => kind.winners.length < kind.runs.length);
  return new Map(kinds.flatMap(({ key, winners }) => winners.map(({ name }) => [name, key])));
}

function winnersOf({ key, runs }) {
  const values = runs.map((run) => valueOf(run, key));
  const top = LOWER.has(key) ? Math.min(...values) : Math.max(...values);
  return runs.filter((run) => valueOf(run, key) === top);
}

/** Returns what all these runs reached, as words; empty when they cannot be compared. */
export function summaryOf(runs) {
  const [found, ...others] = best(runs);
  if (!found || others.length > 0 || found.runs.length < runs.filter((run) => metricOf(run)).length) {
    return '';
  }
  const format = formatOf(found.key);
  const mean = found.runs.reduce((sum, run) => sum + valueOf(run, found.key), 0) / found.runs.length;
  const top = valueOf(found.winners[0], found.key);
  return `${titleOf(found.key).toLowerCase()} at best ${format(top)}, mean ${format(mean)}`;
}

/** Says which of these runs is the best, and in which settings it differs from the others. */
export function verdictOf(runs) {
  const found = best(runs);
  if (found.length === 0) {
    return `${many(runs.length, 'run')}. No two of them were tested on the same data, so none is called the best.`;
  }
  const twins = (kind) => found.some((other) => other !== kind && other.data === kind.data);
  return found
    .slice(0, 3)
    .map((kind) => sentence(kind, found.length > 1, twins(kind)))
    .join(' ');
}

/** Returns the sentence on runs with the same data; `twins` if others have data of the same name. */
function sentence({ key, data, runs, winners }, several, twins) {
  const [winner, ...also] = winners;
  const files = twins ? ` (${many(runs.length, 'run')} on the same files)` : '';
  const what = `${titleOf(key).toLowerCase()}${several ? ` on ${data ?? 'unknown data'}${files}` : ''}`;
  const value = formatOf(key)(valueOf(winner, key));
  if (winners.length === runs.length) {
    return `All ${runs.length} runs have the same ${what}: ${value}.`;
  }
  const running = winner.state === 'running' ? ' (still running)' : '';
  const equal = also.length === 0 ? '' : ` (also ${few(also.map(({ name }) => name), 'run')})`;
  const others = runs.filter((run) => !winners.includes(run));
  return `Best ${what}: ${value} by ${winner.name}${running}${equal}; ${contrast(winner, others)}.`;
}

function contrast(winner, all) {
  const others = all.filter(described);
  if (!described(winner) || others.length === 0) {
    return 'the settings are not known';
  }
  const unset = 'not set';
  const found = differences([winner, ...others])
    .map((key) => {
      const own = settingOf(winner, key, unset);
      const values = others.map((run) => settingOf(run, key, unset)).filter((value) => value !== own);
      const partly = own === unset || values.includes(unset);
      return { key, own, partly, unlike: values.length, values: [...new Set(values)].sort(compared) };
    })
    .filter(({ unlike }) => unlike > 0)
    .sort((a, b) => a.partly - b.partly || b.unlike - a.unlike);
  if (found.length === 0) {
    return 'no setting differs';
  }
  const told = found.slice(0, 3).map(({ key, own, unlike, values }) => {
    const same = others.length - unlike;
    const whose = same === 0 ? (others.length === 1 ? 'the other' : 'others') : `${many(same, 'other')} too, the rest`;
    return `${key} ${own} (${whose} ${few(values, 'value')})`;
  });
  const rest = found.length > 3 ? `, and in ${many(found.length - 3, 'more setting')}` : '';
  return `it differs from the ${others.length === 1 ? 'other' : 'others'} in ${told.join(', ')}${rest}`;
}

const few = (names, what) =>
  names.length > 4 ? `${names.slice(0, 4).join(', ')} and ${many(names.length - 4, `more ${what}`)}` : names.join(', ');
