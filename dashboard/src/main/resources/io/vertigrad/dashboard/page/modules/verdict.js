// Describes in a sentence what the run is doing, and which worker delays it.

import { byId, setText } from './dom.js';
import { accuracy, count, many, metric, seconds, testLoss } from './format.js';
import { shareOf } from './split.js';

const SLOWER = 1.3;

/** What is found of a worker's updates, the gravest first, and how many workers are named at most. */
const NAMED = ['expelled', 'notFinite', 'opposite', 'far'];
const MOST = 3;

export function showVerdict(run) {
  setText(byId('verdict'), [...outliers(run), verdict(run), again(run)].filter(Boolean).join(' '));
}

/** Names the workers whose updates are wrong, before anything else; those of unlike data are in their panel only. */
function outliers(run) {
  const found = run.of('worker').filter(({ update }) => NAMED.includes(update?.finding));
  const gravest = found.sort((one, other) => NAMED.indexOf(one.update.finding) - NAMED.indexOf(other.update.finding));
  const more = found.length - MOST;
  return [...gravest.slice(0, MOST).map(({ update }) => update.sentence), more > 0 && `${many(more, 'more worker')} as well.`];
}

function verdict(run) {
  const state = run.state;
  switch (state.phase) {
    case 'waiting':
      return `Waiting for members: ${run.of('worker').length} of ${run.run.workers} ${run.trainer}s and ${run.of('server').length} of ${run.run.servers} servers are here.`;
    case 'paused':
      return ['Paused: no worker begins another step.', lost(run), silent(run)].filter(Boolean).join(' ');
    case 'finished':
      return `Finished${flaw(run)}: ${result(run)}`;
    case 'interrupted':
      return `Interrupted${flaw(run)}: ${result(run)}`;
    case 'failed':
      return `Failed: ${state.reason}`;
    case 'stopped':
      return `Stopped: ${state.reason}`;
    default:
      return [doing(run), lost(run), silent(run), slowest(run)].filter(Boolean).join(' ');
  }
}

const flaw = (run) => run.flaw && `, ${run.flaw}`;

function result(run) {
  const { samples, seconds: told, accuracy: percent, testSamples, testLoss: loss } = run.state;
  const { stream } = run.state;
  const speed = `${count(samples)} samples in ${seconds(run.seconds)}: ${count(run.samplesPerSecond)} samples/s.`;
  if (stream?.accuracy !== undefined) {
    return `${speed} Accuracy ${accuracy(100 * stream.accuracy)} before training on each of ${count(stream.events)} events (no change ${accuracy(100 * stream.noChange)}).`;
  }
  const other = metric(run.state.metric);
  const value = run.state.metricValue;
  if (other && told !== undefined && Number.isFinite(value)) {
    return `${speed} ${other.title} ${other.value(value)} (${count(testSamples)} test samples), loss ${testLoss(loss)}.`;
  }
  return told === undefined || !Number.isFinite(percent)
    ? speed
    : `${speed} Accuracy ${accuracy(percent)} (${count(testSamples)} test samples), loss ${testLoss(loss)}.`;
}

/** Returns how to see the ended run again, because this page ends with the process that serves it. */
function again(run) {
  const folder = run.run.folder;
  return run.ended && folder && `To see it again: ./vertigrad replay ${quoted(folder)}`;
}

const quoted = (path) => (/^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

const active = (run) =>
  run.of('worker').filter((w) => w.condition === 'up' && Number.isFinite(w.computing));

function doing(run) {
  const workers = active(run);
  if (workers.length === 0) {
    return 'Training begins.';
  }
  const mean = (key) =>
    Math.round((100 * workers.reduce((sum, w) => sum + shareOf(w)[key], 0)) / workers.length);
  const many = workers.length === 1 ? `1 ${run.trainer} trains` : `${workers.length} ${run.trainer}s train`;
  return `${many} at ${count(run.state.samplesPerSecond)} samples/s now: ${mean('computing')} % computing, ${mean('exchanging')} % exchanging, ${mean('waitingForData')} % waiting for data.`;
}

function lost(run) {
  const gone = [...run.members.values()].filter((m) => m.condition === 'lost');
  return gone.length > 0 && `Lost: ${gone.map((m) => run.called(m)).join(', ')}.`;
}

function silent(run) {
  const quiet = [...run.members.values()].filter((m) => m.condition === 'suspect');
  return quiet.length > 0 && `Silent: ${quiet.map((m) => run.called(m)).join(', ')}.`;
}

/** Names the slowest worker. When all move in rounds, it computes while the others wait for it. */
function slowest(run) {
  const workers = active(run);
  if (workers.length < 2) {
    return '';
  }
  const by = (value) => [...workers].sort((a, b) => value(b) - value(a));
  const busy = by((w) => shareOf(w).computing);
  const [most, next] = busy.map((w) => shareOf(w).computing);
  const rates = by((w) => -w.samplesPerSecond);
  if (rates[1].samplesPerSecond > SLOWER * rates[0].samplesPerSecond) {
    return `Slowest: ${run.called(rates[0])}, ${count(rates[0].samplesPerSecond)} samples/s now.`;
  }
  return run.run.lockstep && most > SLOWER * next && most > 0.3
    ? `The others wait for ${run.called(busy[0])}: it computes ${Math.round(100 * most)} % of the time.`
    : '';
}
