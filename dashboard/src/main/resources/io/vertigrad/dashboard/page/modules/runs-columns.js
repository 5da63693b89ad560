// What a list of runs shows: its columns, the settings in which runs differ, the filter, and the best run.

import { accuracy, clock, count, duration, many, metric, NONE, percent, testLoss } from './format.js';

const ENDLESS = 1e12;
const NOTE_LENGTH = 120;
const HASH_LENGTH = 8;

/** Most settings in the name of a line. */
const NAMING = 3;

/** Settings that have columns of their own in the list. */
const SHOWN = new Set(['strategy.name', 'model.name', 'data.name', 'workers.device']);

/** Columns that are shown only where runs differ in them. */
const NOUNS = ['strategy', 'model', 'data', 'device'];

/** Metrics of which a lower value is the better one. */
const LOWER = new Set(['rmse', 'perplexity']);

/** Figures of a run; a filter that names one does not look for it among the settings. */
const FIGURES = new Set('seconds samples samplesPerSecond loss trainingLoss accuracy rmse perplexity'.split(' '));
const ALIASES = { duration: 'seconds', speed: 'samplesPerSecond' };

const TERM = /^([^<>=!]+)(>=|<=|!=|=|>|<)(.*)$/;
const BESIDES = ['name', 'label', 'state', 'note', 'strategy', 'model', 'data', 'device'];
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

/** Returns the name that a person gave the run, or that of its folder. */
export const nameOf = ({ label, name }) => label ?? name;

/** Returns the name of a run among others: where a person gave several the same one, with the time at which it began. */
export function nameAmong(run, runs) {
  const several = run.label && runs.filter(({ label }) => label === run.label).length > 1;
  return several ? `${run.label} · ${clock(run.startedMillis)}` : nameOf(run);
}

/** Returns the name of a run in a sentence, with quotes around what a person wrote. */
const quoted = (run) => (run.label ? `"${run.label}"` : run.name);

/** Returns the beginning of a hash, which tells two of them apart. */
export const shortHash = (hash) => hash?.slice(0, HASH_LENGTH);

/** Returns whether a run was tested on a part of the test samples only. */
const partly = ({ wholeTestSet }) => wholeTestSet === false;

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
 * some runs lack, perhaps because an older version wrote them, those that follow from a name in their section, and those
 * of the tests. When the names of strategies or others differ, only
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
  const told = [...found.keys()].filter((key) => !found.get(key).partly || !found.has(besideName(key)));
  for (const key of told) {
    const names = sectionsOf(key).filter((name) => name !== key && found.has(name));
    found.get(key).follows = names.some((name) => follows(known, name, key));
  }
  return told.sort((a, b) => {
    const [one, other] = [found.get(a), found.get(b)];
    const last = one.partly - other.partly || one.follows - other.follows || ofTests(a) - ofTests(b);
    return last || other.unlike - one.unlike || order.compare(a, b);
  });
}

const ofTests = (key) => key.startsWith('evaluator.');

const besideName = (key) => `${key.slice(0, key.lastIndexOf('.'))}.name`;

/** Returns the keys of the names of all sections that a key is in. */
function sectionsOf(key) {
  const parts = key.split('.');
  return parts.slice(1).map((_, i) => `${parts.slice(0, i + 1).join('.')}.name`);
}

/** Returns whether all runs with the same value of a setting have the same one of another. */
function follows(runs, name, key) {
  const values = new Map();
  return runs.every((run) => {
    const [one, other] = [settingOf(run, name), settingOf(run, key)];
    values.set(one, values.get(one) ?? other);
    return values.get(one) === other;
  });
}

/**
 * Returns a name for each run by its own: the one that a person gave it, or the settings in which it is unlike most of
 * these runs. Where those do not tell two of them apart, when they began does, or the name of the folder.
 */
export function legendsOf(runs) {
  const unnamed = runs.filter((run) => !run.label && described(run));
  const keys = differences(unnamed).filter((key) => key !== 'data.name' && !ofTests(key));
  const usual = new Map(keys.map((key) => [key, commonest(unnamed.map((run) => settingOf(run, key)))]));
  const data = new Set(runs.map(dataOf)).size > 1;
  const words = (run) => {
    const own = keys.length > 1 ? keys.filter((key) => settingOf(run, key) !== usual.get(key)) : keys;
    const shown = own.length > 0 ? own : keys;
    const most = own.length > 0 ? NAMING : NAMING - 1;
    return [...(data ? [run.data ?? 'unknown data'] : []), ...shown.slice(0, most).map((key) => told(run, key))].join(', ');
  };
  const texts = unnamed.map(words);
  const whens = unnamed.map((run, i) => `${texts[i]} · ${clock(run.startedMillis)}`);
  const names = unnamed.map((run, i) => {
    const once = (all) => all.filter((text) => text === all[i]).length === 1;
    return texts[i] === '' ? run.name : once(texts) ? texts[i] : once(whens) ? whens[i] : `${texts[i]} (${run.name})`;
  });
  return new Map(runs.map((run) => [run.name, names[unnamed.indexOf(run)] ?? nameAmong(run, runs)]));
}

/** Returns the value that occurs most often, the first of several. */
function commonest(values) {
  const counts = new Map();
  values.forEach((value) => counts.set(value, (counts.get(value) ?? 0) + 1));
  return [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a))[0];
}

/** Returns a setting as words: `ring` of a strategy, `workers 4` of a count, `learningRate 0.1` of others. */
function told(run, key) {
  const value = settingOf(run, key, 'not set');
  const parts = key.split('.');
  const what = parts.at(-1) === 'count' ? parts.at(-2) : parts.at(-1);
  return what === 'name' ? (parts.length > 2 ? `${parts.at(-2)} ${value}` : value) : `${what} ${value}`;
}

/**
 * Returns the columns of a list, each {key, title, value, text, number, falling, group, setting}. `all` are
 * the runs of the folder; settings are those in which the `listed` ones differ.
 */
export function columnsOf(all, listed) {
  const settings = differences(listed).filter((key) => !SHOWN.has(key));
  const sizes = testSizes(all);
  const tested = (run) => testedOn(run, sizes);
  const nouns = NOUNS.map((key) => ({ ...plain(key), constant: !differ(listed, (run) => run[key]) }));
  const data = nouns.find(({ key }) => key === 'data');
  const several = twinsIn(listed);
  const short = (run) => (several.has(run.data) && run.dataHash ? `${run.data} ${shortHash(run.dataHash)}` : (run.data ?? NONE));
  Object.assign(data, { text: short, constant: data.constant && several.size === 0 });
  const columns = [
    { ...plain('name'), title: 'run', value: nameOf, text: nameOf },
    { ...plain('state'), text: stateOf },
    { ...figure('startedMillis', 'begun', moment, true), group: (run) => moment(run.startedMillis).split(' ')[0] },
    figure('seconds', 'duration', duration, true),
    ...metricsOf(all).map((key) => ({
      ...figure(key, titleOf(key).toLowerCase(), formatOf(key), !LOWER.has(key)),
      value: (run) => valueOf(run, key),
      text: (run) => formatOf(key)(valueOf(run, key)),
      doubtful: partly,
    })),
    { ...figure('testSamples', 'tested on', count, true), text: tested, doubtful: partly },
    figure('loss', 'test loss', testLoss, false),
    figure('samplesPerSecond', 'samples/s', count, true),
    ...nouns.filter(({ constant }) => !constant),
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
    ...nouns.filter(({ constant }) => constant),
  ];
  const known = (value) => all.some((run) => ![undefined, null, ''].includes(value(run)));
  return columns.filter(({ key, value }) => key === 'name' || known(value));
}

/** Returns whether runs differ in a value, or there is but one of them. */
const differ = (runs, value) => runs.length < 2 || new Set(runs.map(value)).size > 1;

/** Returns the names of data of which runs have several fingerprints. */
function twinsIn(runs) {
  const hashes = new Map();
  for (const { data, dataHash } of runs.filter((run) => run.dataHash)) {
    hashes.set(data, (hashes.get(data) ?? new Set()).add(dataHash));
  }
  return new Set([...hashes.keys()].filter((data) => hashes.get(data).size > 1));
}

/** Returns what tells the data of runs apart. */
const dataOf = ({ data, dataHash }) => JSON.stringify([data, dataHash]);

/** Returns whether any two of these runs are known to have other data. */
export const severalData = (runs) => new Set(runs.filter(({ dataHash }) => dataHash).map(dataOf)).size > 1;

/** Returns the number of samples in a whole test, by what the runs are compared by. */
const testSizes = (runs) =>
  new Map(runs.filter(({ wholeTestSet }) => wholeTestSet).map((run) => [run.comparable, run.testSamples]));

/** Returns on how many samples a run was tested, and of how many if they were not all. */
function testedOn(run, sizes) {
  const all = sizes.get(run.comparable);
  const rest = !partly(run) ? '' : all > run.testSamples ? ` of ${count(all)}` : ', not all';
  return Number.isFinite(run.testSamples) ? `${count(run.testSamples)}${rest}` : NONE;
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
 * Returns the runs that compare, those with the same data and metric, most first: {key, data, runs, ranked, winners}.
 * The server decides what compares and ranks the runs that were tested on all samples; the winners are the best of these.
 */
function best(runs) {
  const kinds = new Map();
  for (const run of runs.filter(({ comparable }) => comparable !== undefined)) {
    const { comparable } = run;
    kinds.set(comparable, kinds.get(comparable) ?? { key: metricOf(run), data: run.data, runs: [] });
    kinds.get(comparable).runs.push(run);
  }
  return [...kinds.values()]
    .filter((kind) => kind.runs.length > 1)
    .map((kind) => {
      const ranked = kind.runs.filter(({ rank }) => rank !== undefined);
      const first = Math.min(...ranked.map(({ rank }) => rank));
      return { ...kind, ranked, winners: ranked.filter(({ rank }) => rank === first) };
    })
    .sort((a, b) => b.runs.length - a.runs.length);
}

/** Returns the names of the best runs, each with the key of the metric in which it is the best. */
export function winnersIn(runs) {
  const kinds = best(runs).filter(({ ranked, winners }) => winners.length < ranked.length);
  return new Map(kinds.flatMap(({ key, winners }) => winners.map(({ name }) => [name, key])));
}

/**
 * Returns the runs that are drawn before the reader has chosen some, at most so many: the best of those that compare and
 * the run that it is compared with, those that go on, and the newest. Those that failed or diverged are not among them.
 */
export function firstDrawn(runs, most) {
  const fit = runs.filter(({ state, diverged }) => state !== 'unreadable' && state !== 'failed' && !diverged);
  const told = best(fit).flatMap((kind) => [kind.winners[0], nearest(kind)?.run]).filter(Boolean);
  const running = fit.filter(({ state }) => state === 'running');
  return [...new Set([...told.slice(0, most / 2), ...running, ...fit])].slice(0, most);
}

/** Returns what all these runs reached, as words; empty when they cannot be compared. */
export function summaryOf(runs) {
  const [found, ...others] = best(runs);
  if (!found || others.length > 0 || found.ranked.length < runs.filter((run) => metricOf(run)).length) {
    return '';
  }
  const format = formatOf(found.key);
  const mean = found.ranked.reduce((sum, run) => sum + valueOf(run, found.key), 0) / found.ranked.length;
  const top = valueOf(found.winners[0], found.key);
  return `${titleOf(found.key).toLowerCase()} at best ${format(top)}, mean ${format(mean)}`;
}

/**
 * Says which of these runs is the best, and from which run it differs in one setting only; `among` says of which runs
 * where they are not all. RunRanking makes the same sentence for `compare`.
 */
export function verdictOf(runs, among = '') {
  const found = best(runs);
  if (found.length === 0) {
    const which = among ? ` ${among}` : '';
    return `${many(runs.length, 'run')}${which}. No two of them were tested on the same data, so none is called the best.`;
  }
  const twins = (kind) => found.some((other) => other !== kind && other.data === kind.data);
  return found
    .slice(0, 3)
    .map((kind) => sentence(kind, among && ` ${among}`, found.length > 1, twins(kind)))
    .join(' ');
}

/** Returns the sentence on runs with the same data; `twins` if others have data of the same name. */
function sentence(kind, among, several, twins) {
  const { key, data, runs, ranked, winners } = kind;
  const files = twins ? ` (${many(runs.length, 'run')} on the same files)` : '';
  const where = several ? ` on ${data ?? 'unknown data'}${files}` : '';
  const what = titleOf(key) === 'RMSE' ? 'RMSE' : titleOf(key).toLowerCase();
  if (ranked.length === 0) {
    return `None${among} was tested on all test samples${where}, so none is called the best.`;
  }
  const [winner, ...also] = winners;
  const value = formatOf(key)(valueOf(winner, key));
  const reached = `${value}${Number.isFinite(winner.testSamples) ? ` on ${count(winner.testSamples)} samples` : ''}`;
  if (ranked.length === 1) {
    return `Only ${quoted(winner)}${among} was tested on all test samples${where}: ${what} ${reached}.`;
  }
  if (winners.length === ranked.length) {
    const whole = ranked.length === runs.length ? '' : ' with a whole test';
    return `All ${ranked.length} runs${among}${whole} have the same ${what}${where}: ${value}.`;
  }
  const running = winner.state === 'running' ? ' (still running)' : '';
  const equal = also.length === 0 ? '' : ` (also ${few(also.map(quoted), 'run')})`;
  return `Best ${what}${among}${where}: ${reached} by ${quoted(winner)}${running}${equal}${why(winner, nearest(kind), key)}.`;
}

function why(winner, found, metric) {
  if (!found) {
    return '';
  }
  const { run, key } = found;
  const [own, there] = [winner, run].map((one) => settingOf(one, key, 'not set'));
  return `; only ${key} differs from ${quoted(run)} (${own}, there ${there} and ${formatOf(metric)(valueOf(run, metric))})`;
}

/** Returns the best run that differs from the winner in one setting only, and its key: {run, key}. */
function nearest({ ranked, winners: [winner] }) {
  const others = winner && described(winner) ? ranked.filter((run) => run !== winner && described(run)) : [];
  return others
    .map((run) => ({ run, keys: unlike(winner, run) }))
    .filter(({ keys }) => keys.length === 1)
    .map(({ run, keys: [key] }) => ({ run, key }))
    .sort((a, b) => a.run.rank - b.run.rank)[0];
}

/** Returns the keys in which two runs differ; with another strategy or optimizer, those beside its name do anyway. */
function unlike(one, other) {
  const keys = new Set([one, other].flatMap(({ settings }) => Object.keys(settings)));
  const found = [...keys].filter((key) => settingOf(one, key) !== settingOf(other, key));
  return found.filter((key) => !sectionsOf(key).some((name) => name !== key && found.includes(name)));
}

const few = (names, what) =>
  names.length > 4 ? `${names.slice(0, 4).join(', ')} and ${many(names.length - 4, `more ${what}`)}` : names.join(', ');
