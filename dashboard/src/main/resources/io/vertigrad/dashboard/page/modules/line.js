// Connects to the run: it asks for a snapshot, then receives deltas, and starts over after a gap or a
// lost connection. The process that serves a run ends with the run; then the page does not reconnect.

import { Run, SCHEMA } from './run.js';

const OPTIONS = { vertxbus_ping_interval: 5000, transports: ['websocket', 'xhr-streaming', 'xhr-polling'] };
const RETRY_MILLIS = 1000;

/** The server sends three messages a second; a longer silence means that the connection is broken. */
const SILENT_MILLIS = 2500;
const LOOKS = 5;
const WAITING_DELTAS = 100;
const ANSWER_MILLIS = 10_000;

/**
 * Follows a job. It calls `heard(run)` after every message, and `said(state)` when the connection
 * changes: loading, connected, lost, outdated, or the run's last phase when its server has ended with it.
 */
export class Line {
  constructor(job, { heard, said, replay }) {
    Object.assign(this, { job, heard, said, replay, asked: new Set(), unsent: [] });
    this.connect();
    setInterval(() => this.#look(), SILENT_MILLIS / LOOKS);
  }

  connect() {
    this.run = null;
    this.waiting = [];
    this.bus = new EventBus(new URL('eventbus', location.href).href, OPTIONS);
    this.bus.onopen = () => this.#opened();
    this.bus.onclose = () => this.#lost();
    this.bus.onerror = (error) => console.warn('the bridge refused', error);
  }

  /**
   * Sends a request to the one address that a page may send to, while the page reconnects as soon as it
   * has; calls `answer(body, error)` once, with an error when the connection is lost or no answer comes
   * within the limit.
   */
  ask(request, answer) {
    const end = (body, error) => {
      if (this.asked.delete(end)) {
        clearTimeout(limit);
        answer(body, error);
      }
    };
    const limit = setTimeout(
      () => end(undefined, new Error(`no answer within ${ANSWER_MILLIS / 1000} s`)),
      ANSWER_MILLIS,
    );
    this.asked.add(end);
    const send = () =>
      this.bus.send(`metrics-requests.${this.job}`, request, (error, message) => end(message?.body, error));
    if (this.bus.state === EventBus.OPEN) {
      send();
    } else if (this.last?.ended) {
      end(undefined, new Error('not connected to the run'));
    } else {
      this.unsent.push(() => this.asked.has(end) && send());
    }
  }

  #opened() {
    this.said('loading');
    this.bus.registerHandler(`metrics.${this.job}`, (error, message) => {
      if (!error) {
        this.#take(message.body);
      }
    });
    this.#askSnapshot();
  }

  /**
   * Gives up a connection on which nothing arrives any more, though nobody has closed it. It counts looks,
   * not time: a browser that stood still has messages that wait behind this look.
   */
  #look() {
    this.silentLooks += 1;
    if (this.run && this.bus.state === EventBus.OPEN && this.silentLooks > LOOKS) {
      this.run = null;
      this.bus.close();
    }
  }

  #lost() {
    this.asked.forEach((end) => end(undefined, new Error('the connection was lost before an answer')));
    if (this.last?.ended) {
      this.said(this.last.state.phase);
      return;
    }
    this.said('lost');
    setTimeout(() => this.connect(), RETRY_MILLIS);
  }

  #askSnapshot() {
    if (this.asking) {
      return;
    }
    this.asking = true;
    this.ask({ request: 'snapshot' }, (snapshot, error) => {
      this.asking = false;
      if (error || snapshot.refused) {
        setTimeout(() => this.#retry(), RETRY_MILLIS);
      } else if (snapshot.schema !== SCHEMA) {
        this.said('outdated');
      } else if (snapshot.replayFrames !== undefined) {
        this.replay(snapshot);
      } else {
        this.#begin(snapshot);
      }
    });
  }

  #retry() {
    if (this.bus.state === EventBus.OPEN) {
      this.#askSnapshot();
    }
  }

  #begin(snapshot) {
    this.silentLooks = 0;
    this.run = new Run(snapshot);
    this.last = this.run;
    const waiting = this.waiting;
    this.waiting = [];
    this.said('connected');
    this.heard(this.run);
    waiting.forEach((delta) => this.#take(delta));
    this.unsent.splice(0).forEach((send) => send());
  }

  #take(delta) {
    this.silentLooks = 0;
    if (!this.run) {
      this.waiting.push(delta);
      this.waiting.splice(0, this.waiting.length - WAITING_DELTAS);
    } else if (this.run.advance(delta)) {
      this.heard(this.run);
    } else {
      this.run = null;
      this.waiting = [delta];
      this.#askSnapshot();
    }
  }
}
