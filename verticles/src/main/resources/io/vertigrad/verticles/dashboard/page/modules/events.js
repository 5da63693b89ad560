// What happened, newest first, in words.

import { byId, element } from './dom.js';
import { clock, count, duration, figure, many } from './format.js';

const WORDS = {
  jobStarted: (e, run) => `started: ${e.strategy}, ${many(e.workers, run.trainer)}, ${many(e.servers, 'server')}, ${count(e.parameters)} parameters`,
  jobPaused: () => 'paused',
  jobResumed: (e) => `resumed after a pause of ${duration(e.pausedMillis / 1000)}`,
  jobEnding: (e) => `ending: ${e.reason} of ${figure(e.value)} reached stop.${e.reason}, ${e.threshold}`,
  jobFinished: (e) => `finished at update ${count(e.version)}`,
  jobFailed: (e) => `failed: ${e.reason}`,
  jobStopped: (e) => `stopped: ${e.reason}`,
  memberJoined: (e, run) => `${run.called(e)} joined${again(e)} from ${e.node}`,
  memberSuspected: (e, run) => `${run.called(e)} has been silent for ${figure(e.silentMillis / 1000)} s`,
  stallFound: (e) =>
    `${e.stillMillis === 0 ? 'training waits' : `no step for ${figure(e.stillMillis / 1000)} s`}, ` +
    `missing: ${e.missing}` +
    `${e.waits && `; ${e.waits}`}; last heard: ${e.lastHeard}`,
  memberLeft: (e, run) => `${run.called(e)} left: ${e.reason}`,
  processRestarted: (e) => `${e.reason}; started again (restart ${e.restart} of at most ${e.limit})`,
  evaluationSkipped: (e) => `training goes on without the test of update ${count(e.version)}: ${e.reason}`,
  updateRefused: (e) => `shard ${e.shard} rejected step ${e.step} of worker ${e.rank}: ${e.reason}`,
  checkpointWritten: (e, run) => `checkpoint of ${keeper(e.shard, run)} at update ${count(e.version)}, ${e.millis} ms`,
  checkpointFailed: (e, run) => `checkpoint of ${keeper(e.shard, run)} failed: ${e.reason}`,
};

const BAD = ['jobFailed', 'updateRefused', 'checkpointFailed'];
const DOUBTFUL = ['memberSuspected', 'evaluationSkipped', 'stallFound', 'processRestarted'];

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
    { class: tone(event) },
    element('time', { datetime: new Date(event.timeMillis).toISOString() }, clock(event.timeMillis)),
    element('span', {}, words),
  );
}

function tone(event) {
  const orderly = /^(finished|stopped|joins again)$/.test(event.reason ?? '');
  const bad = BAD.includes(event.type) || (event.type === 'memberLeft' && !orderly);
  return bad ? 'bad' : DOUBTFUL.includes(event.type) ? 'doubtful' : undefined;
}

const keeper = (shard, run) => (run.trainer === 'stage' ? run.called({ role: 'worker', rank: shard }) : `shard ${shard}`);
const again = (event) => (event.incarnation > 0 ? ` again (incarnation ${event.incarnation})` : '');
