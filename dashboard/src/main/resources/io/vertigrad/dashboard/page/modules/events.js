// Lists the events in words, newest first.

import { byId, element } from './dom.js';
import { accuracy, clock, count, duration, many, seconds, testLoss } from './format.js';

const WORDS = {
  jobStarted: (e, run) => `started: ${e.strategy}, ${many(e.workers, run.trainer)}, ${many(e.servers, 'server')}, ${count(e.parameters)} parameters`,
  jobPaused: () => 'paused',
  jobResumed: (e) => `resumed after a pause of ${duration(e.pausedMillis / 1000)}`,
  jobEnding: (e) => `ending at version ${count(e.version)}: ${reached(e)} reached stop.${e.reason}, ${threshold(e)}`,
  jobFinished: (e) => `finished at update ${count(e.version)}`,
  jobFailed: (e) => `failed: ${sentence(e.reason)}`,
  jobStopped: (e) => (e.reason === 'interrupted' ? e.reason : `stopped: ${e.reason}`),
  memberJoined: (e, run) =>
    `${run.called(e)} joined${again(e)} from ${e.node}${e.data ? `, with the ${dataOf(run)}: ${e.data}` : ''}`,
  memberDraining: (e, run) => `${run.called(e)} leaves (asked to end): its place ${e.place}`,
  memberSuspected: (e, run) => `${run.called(e)} has been silent for ${seconds(e.silentMillis / 1000)}`,
  stallFound: (e) =>
    `${e.stillMillis === 0 ? 'training waits' : `no step for ${seconds(e.stillMillis / 1000)}`}, ` +
    `missing: ${e.missing}` +
    `${e.waits && `; ${e.waits}`}; last heard: ${e.lastHeard}`,
  batchesDivided: (e) => `from update ${count(e.version)} on, workers train ${shares(e.shares)} samples a step`,
  samplesCounted: (e, run) => `${run.called({ role: 'worker', rank: e.rank })} has ${many(e.samples, 'sample')} of its own${labels(e.labels)}`,
  dataAwaited: (e) => `worker ${e.rank} waits for events: ${e.source}`,
  dataWarning: (e) => `worker ${e.rank}: ${e.message}`,
  // The job's own event has the reason for which a member fails it.
  memberLeft: (e, run) =>
    e.reason.startsWith('fails the job: ') ? `${run.called(e)} left: it fails the job` : `${run.called(e)} left: ${sentence(e.reason)}`,
  processRestarted: (e) => `${e.reason}; started again (restart ${e.restart} of at most ${e.limit})`,
  evaluationSkipped: (e) => `training goes on without the test of update ${count(e.version)}: ${e.reason}`,
  updateRefused: (e) => `shard ${e.shard} refused step ${e.step} of worker ${e.rank}: ${e.reason}`,
  checkpointWritten: (e, run) => `checkpoint of ${keeper(e.shard, run)} at update ${count(e.version)}, ${e.millis} ms`,
  checkpointFailed: (e, run) => `checkpoint of ${keeper(e.shard, run)} failed: ${e.reason}`,
  checkpointsDelayed: (e) => `checkpoints are ${seconds(e.seconds)} apart, checkpoint.seconds is ${e.wanted}: ${e.reason}`,
  versionRefused: (e) => {
    const figure = e.metric === 'accuracy' ? accuracy : testLoss;
    return `version ${count(e.version)} is not served: ${e.metric} ${figure(e.value)} in the last test, ${figure(e.best)} in the best`;
  },
  shardRolledBack: (e) =>
    `${e.shard < 0 ? 'all workers go' : `shard ${e.shard} goes`} on at update ${count(e.version)}, although ` +
    `${count(e.known)} was reached${e.reason ? `: ${e.reason}` : ''}; what is missing is trained again`,
  stateTaken: (e, run) =>
    `${run.called({ role: 'worker', rank: e.rank })} goes on at update ${count(e.version)} from the memory of ` +
    `${e.holder === e.rank ? 'its new process, which followed it while it waited for a place' : run.called({ role: 'worker', rank: e.holder })}` +
    '; no checkpoint was read',
};

const END = ['jobFinished', 'jobFailed', 'jobStopped'];
const BAD = ['jobFailed', 'jobStopped', 'updateRefused', 'checkpointFailed'];
const DOUBTFUL = ['memberSuspected', 'dataWarning', 'evaluationSkipped', 'checkpointsDelayed', 'stallFound', 'processRestarted', 'shardRolledBack', 'versionRefused'];

export class Events {
  constructor() {
    this.list = byId('events');
    this.shown = '';
  }

  show(run) {
    const newest = run.events.at(-1);
    const state = `${run.events.length} ${newest?.timeMillis} ${newest?.type} ${newest?.rank}`;
    if (state !== this.shown) {
      this.shown = state;
      this.list.replaceChildren(...run.events.map((event) => item(event, run)).reverse());
    }
  }
}

function item(event, run) {
  const words = WORDS[event.type]?.(event, run) ?? event.type;
  return element(
    'li',
    { class: tone(event), 'data-type': event.type },
    element('time', { datetime: new Date(event.timeMillis).toISOString() }, clock(event.timeMillis)),
    element('span', {}, words),
  );
}

function tone(event) {
  const orderly = /^(finished|stopped|joins again)$/.test(event.reason ?? '');
  const bad = BAD.includes(event.type) || (event.type === 'memberLeft' && !orderly);
  const end = END.includes(event.type) ? 'end' : '';
  return `${end} ${bad ? 'bad' : DOUBTFUL.includes(event.type) ? 'doubtful' : ''}`.trim() || undefined;
}

function reached({ reason, value }) {
  switch (reason) {
    case 'accuracy':
      return `accuracy ${accuracy(value)}`;
    case 'loss':
      return `loss ${testLoss(value)}`;
    default:
      return `${duration(60 * value)} of training`;
  }
}

/** Formats a threshold as in the job file: whole numbers have a digit after the point. */
const threshold = (e) => (Number.isInteger(e.threshold) ? e.threshold.toFixed(1) : String(e.threshold));

/** Writes an object within a reason in words; other text stays. */
function dataOf(run) {
  return run.run.config?.workers?.data === 'own' ? "form of the job's data" : "job's data";
}

function labels(counts) {
  return counts.length === 0 ? '' : `, of ${counts.filter((samples) => samples > 0).length} of ${many(counts.length, 'label')}`;
}

function sentence(reason = '') {
  return reason.replace(/\{.*\}/s, (text) => {
    try {
      return inWords(JSON.parse(text));
    } catch {
      return text;
    }
  });
}

const inWords = (value) =>
  value === null || typeof value !== 'object'
    ? String(value)
    : Array.isArray(value)
      ? value.map(inWords).join(', ')
      : Object.entries(value)
          .map(([key, one]) => `${key} ${inWords(one)}`)
          .join(', ');

/** Lists the batches of up to 16 workers, of more the smallest and the largest. */
const shares = (all) => (all.length <= 16 ? all.join(', ') : `${Math.min(...all)} to ${Math.max(...all)}`);

const keeper = (shard, run) => (run.trainer === 'stage' ? run.called({ role: 'worker', rank: shard }) : `shard ${shard}`);
const again = (event) => (event.incarnation > 0 ? ` again (incarnation ${event.incarnation})` : '');
