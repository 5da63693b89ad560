// Builds the state of a run from a snapshot and its deltas; docs/reference/metrics.md describes the messages.

export const SCHEMA = 1;

const POINTS = 2400;
const EVENTS = 200;
const COLUMNS = ['timeMillis', 'version', 'loss', 'samplesPerSecond', 'segment'];
const ENDLESS = 1e12;
const ENDED = ['finished', 'failed', 'stopped', 'interrupted'];

export class Run {
  constructor(snapshot) {
    this.job = snapshot.job;
    this.run = snapshot.run;
    this.number = snapshot.number;
    this.timeMillis = snapshot.timeMillis;
    this.state = snapshot.state;
    this.classes = snapshot.classes ?? [];
    this.members = new Map();
    this.curves = new Map();
    this.tests = [...snapshot.tests];
    this.events = [...snapshot.events];
    for (const member of snapshot.members) {
      this.members.set(nameOf(member), member);
    }
    for (const [name, curve] of Object.entries(snapshot.history)) {
      this.curves.set(name, Object.fromEntries(COLUMNS.map((c) => [c, [...curve[c]]])));
    }
  }

  /** Applies the next delta; returns false when an earlier one is missing. */
  advance(delta) {
    if (delta.number <= this.number) {
      return true;
    }
    if (delta.number !== this.number + 1) {
      return false;
    }
    this.number = delta.number;
    this.timeMillis = delta.timeMillis;
    this.state = delta.state;
    this.classes = delta.classes ?? this.classes;
    for (const member of delta.members) {
      this.members.set(nameOf(member), member);
    }
    for (const [name, point] of Object.entries(delta.history)) {
      this.#extend(name, point);
    }
    this.tests.push(...delta.tests);
    this.events = this.events.concat(delta.events).slice(-EVENTS);
    return true;
  }

  /** Returns a member's name for the user: a worker of a pipeline is a stage. */
  called({ role, rank }) {
    const { stages = 0, replicas = 1 } = this.run.config?.pipeline ?? {};
    if (role !== 'worker' || stages === 0) {
      return `${role} ${rank}`;
    }
    const stage = `stage ${rank % stages}`;
    return replicas > 1 ? `${stage} of replica ${Math.floor(rank / stages)}` : stage;
  }

  /** Returns the name of the run's workers: stage or worker. */
  get trainer() {
    return this.run.config?.pipeline?.stages > 0 ? 'stage' : 'worker';
  }

  /** Returns the members of a role, by rank. */
  of(role) {
    return [...this.members.values()]
      .filter((member) => member.role === role)
      .sort((one, other) => one.rank - other.rank);
  }

  get startMillis() {
    return this.state.startedMillis ?? this.timeMillis;
  }

  /** Returns whether the run has ended. */
  get ended() {
    return ENDED.includes(this.state.phase);
  }

  /** Returns whether the run goes on until it is stopped. */
  get endless() {
    return (this.state.steps ?? 0) >= ENDLESS;
  }

  /** Returns the seconds from the start until the end or now, with pauses: the length of the time axis. */
  get spanSeconds() {
    return ((this.state.endedMillis ?? this.timeMillis) - this.startMillis) / 1000;
  }

  /** Returns the seconds of training without pauses; for a run that is over, those of its summary. */
  get seconds() {
    return this.state.seconds ?? (this.#trainingMillis(this.startMillis) / 1000);
  }

  /** Returns the mean since the start. */
  get samplesPerSecond() {
    if (this.state.seconds !== undefined) {
      return this.state.samplesPerSecond;
    }
    return this.seconds > 0 ? (this.state.samples ?? 0) / this.seconds : undefined;
  }

  /**
   * Returns the estimated seconds until the last version, by the time per version since the first
   * report. It is undefined until a fiftieth of the versions or ten seconds have passed, because a
   * JVM's first steps are slow.
   */
  get secondsLeft() {
    const { phase, version, lastVersion, firstVersion, firstMillis } = this.state;
    const seconds = this.#trainingMillis(firstMillis) / 1000;
    const early = 50 * (version - firstVersion) < lastVersion - firstVersion && seconds < 10;
    return phase === 'running' && version > firstVersion && !early && !this.endless
      ? ((lastVersion - version) * seconds) / (version - firstVersion)
      : undefined;
  }

  /** Returns the milliseconds from then until now or the end, without pauses. */
  #trainingMillis(from) {
    const { endedMillis, pausedSinceMillis, pausedMillis } = this.state;
    return (endedMillis ?? pausedSinceMillis ?? this.timeMillis) - from - (pausedMillis ?? 0);
  }

  #extend(name, point) {
    if (!this.curves.has(name)) {
      this.curves.set(name, Object.fromEntries(COLUMNS.map((c) => [c, []])));
    }
    const curve = this.curves.get(name);
    const full = curve.timeMillis.length >= POINTS;
    for (const column of COLUMNS) {
      if (full) {
        curve[column] = curve[column].filter((value, i) => i % 2 === 1);
      }
      curve[column].push(point[column]);
    }
  }
}

const nameOf = (member) => `${member.role} ${member.rank}`;
