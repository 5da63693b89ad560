// Follows a run from Node, through the bridge that its page uses, without npm:
//
//   node watch.js [URL] [DELTAS]
//
// It prints a line for the snapshot and one for every delta after it, until the run's page closes or
// until it has printed this many deltas.

const { EventBus } = require('./browser.js');

const page = process.argv[2] ?? 'http://127.0.0.1:8350/';
const wanted = Number(process.argv[3] ?? Infinity);
const OPTIONS = { vertxbus_ping_interval: 5000 };

class Watch {
  #waiting = [];
  #heard = 0;

  constructor(job) {
    this.job = job;
    this.bus = new EventBus(new URL('eventbus', page).href, OPTIONS);
    this.bus.onopen = () => this.#opened();
    this.bus.onclose = () => (this.#heard > 0 ? process.exit(0) : give(`${page} closed the line`));
  }

  #opened() {
    this.bus.registerHandler(`metrics.${this.job}`, (error, message) =>
      error ? give(`no deltas: ${error.message}`) : this.#take(message.body),
    );
    this.#ask();
  }

  /** Asks for a snapshot; deltas that arrive before the answer wait for it. */
  #ask() {
    this.number = undefined;
    this.bus.send(`metrics-requests.${this.job}`, { request: 'snapshot' }, (error, answer) => {
      if (error || answer.body.refused) {
        give(`no snapshot: ${error?.message ?? answer.body.refused}`);
      }
      const { number, state, members } = answer.body;
      console.log(`snapshot ${number} of ${this.job}: ${state.phase}, ${members.length} members`);
      this.number = number;
      this.#waiting.splice(0).forEach((delta) => this.#take(delta));
    });
  }

  #take(delta) {
    if (this.number === undefined) {
      this.#waiting.push(delta);
    } else if (delta.number > this.number + 1) {
      this.#ask(); // A delta is missing: ask for a new snapshot.
    } else if (delta.number > this.number) {
      this.number = delta.number;
      this.#show(delta);
    }
  }

  #show({ number, state }) {
    const { phase, version = 0, samplesPerSecond = 0 } = state;
    const rate = Math.round(samplesPerSecond);
    console.log(`delta ${number}: ${phase}, version ${version}, ${rate} samples/s`);
    if (++this.#heard >= wanted) {
      this.bus.close();
    }
  }
}

function give(why) {
  console.error(`watch.js: ${why}`);
  process.exit(1);
}

fetch(new URL('job', page))
  .then((answer) => answer.json())
  .then(({ job }) => new Watch(job))
  .catch((error) => give(`nothing at ${page}: ${error.cause?.message ?? error.message}`));
