// Builds the state of a run from a snapshot and its deltas; docs/reference/metrics.md describes the messages.

export const SCHEMA = 1;

const POINTS = 2400;
const EVENTS = 200;
const SCALAR_COLUMNS = ['timeMillis', 'version', 'value', 'samples', 'bytes', 'segment'];
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
    this.curves = columnsOf(snapshot.history);
    this.nodes = columnsOf(snapshot.nodes);
    this.scalars = scalarsOf(snapshot.scalars ?? {});
    this.tests = [...snapshot.tests];
    this.events = [...snapshot.events];
    for (const member of snapshot.members) {
      this.members.set(nameOf(member), member);
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
      extend(this.curves, name, point);
    }
    for (const [name, point] of Object.entries(delta.nodes)) {
      extend(this.nodes, name, point);
    }
    (delta.scalars ?? []).forEach((reported) => addScalar(this.scalars, reported));
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

  /** Returns the bytes that all workers have sent to others. */
  get sentBytes() {
    return this.of('worker').reduce((sum, worker) => sum + (worker.bytesSent ?? 0), 0);
  }

  /** Returns whether the run has ended. */
  get ended() {
    return ENDED.includes(this.state.phase);
  }

  /** Returns what a run that is over must not be called finished without; empty where there is nothing. */
  get flaw() {
    const { diverged, baseline, phase } = this.state;
    const guesses = phase === 'finished' && baseline?.beaten === false;
    return diverged ? 'diverged' : guesses ? 'no better than guessing' : '';
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
}

/** Returns a copy of these columns of each history, by name. */
const columnsOf = (histories, columns) =>
  new Map(
    Object.entries(histories).map(([name, history]) => [
      name,
      Object.fromEntries((columns ?? Object.keys(history)).map((c) => [c, [...history[c]]])),
    ]),
  );

/** Returns by name and source the columns and the counts `reports` and `notFinite`. */
const scalarsOf = (scalars) =>
  new Map(
    Object.entries(scalars).map(([name, sources]) => {
      const columns = columnsOf(sources, SCALAR_COLUMNS);
      columns.forEach((one, source) => Object.assign(one, countsOf(sources[source])));
      return [name, columns];
    }),
  );

/** Adds the newest point of a scalar, if its value is finite, and its counts. */
function addScalar(scalars, { name, source, ...point }) {
  if (!scalars.has(name)) {
    scalars.set(name, new Map());
  }
  const sources = scalars.get(name);
  if (point.value !== undefined) {
    extend(sources, source, point, SCALAR_COLUMNS);
  } else if (!sources.has(source)) {
    sources.set(source, Object.fromEntries(SCALAR_COLUMNS.map((c) => [c, []])));
  }
  Object.assign(sources.get(source), countsOf(point));
}

const countsOf = ({ reports, notFinite }) => ({ reports, notFinite });

/** Adds a point to a history; a full one loses every second point before. */
function extend(histories, name, point, columns = Object.keys(point)) {
  if (!histories.has(name)) {
    histories.set(name, Object.fromEntries(columns.map((c) => [c, []])));
  }
  const history = histories.get(name);
  const full = history.timeMillis.length >= POINTS;
  for (const column of columns) {
    if (full) {
      history[column] = history[column].filter((value, i) => i % 2 === 1);
    }
    history[column].push(point[column]);
  }
}

const nameOf = (member) => `${member.role} ${member.rank}`;
