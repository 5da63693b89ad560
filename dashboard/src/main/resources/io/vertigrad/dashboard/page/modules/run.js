// A run, folded from one snapshot and the deltas after it; see docs/reference/metrics.md for the messages.

export const SCHEMA = 1;

const POINTS = 2400;
const EVENTS = 200;
const COLUMNS = ['timeMillis', 'version', 'loss', 'samplesPerSecond', 'segment'];
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

  /** Takes in the next delta; false when one before it is missing. */
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

  /** A member for people: a worker of a pipeline is a stage. */
  called({ role, rank }) {
    const { stages = 0, replicas = 1 } = this.run.config?.pipeline ?? {};
    if (role !== 'worker' || stages === 0) {
      return `${role} ${rank}`;
    }
    const stage = `stage ${rank % stages}`;
    return replicas > 1 ? `${stage} of replica ${Math.floor(rank / stages)}` : stage;
  }

  /** What its workers are. */
  get trainer() {
    return this.run.config?.pipeline?.stages > 0 ? 'stage' : 'worker';
  }

  /** Members of a role, by rank. */
  of(role) {
    return [...this.members.values()]
      .filter((member) => member.role === role)
      .sort((one, other) => one.rank - other.rank);
  }

  get startMillis() {
    return this.state.startedMillis ?? this.timeMillis;
  }

  /** Whether nothing more will happen. */
  get ended() {
    return ENDED.includes(this.state.phase);
  }

  /** From its start until its end or now, pauses included: the length of the time axis. */
  get spanSeconds() {
    return ((this.state.endedMillis ?? this.timeMillis) - this.startMillis) / 1000;
  }

  /** Time of training, without pauses; of a run that is over as its summary has it. */
  get seconds() {
    return this.state.seconds ?? (this.#trainingMillis(this.startMillis) / 1000);
  }

  /** Since the start. */
  get samplesPerSecond() {
    if (this.state.seconds !== undefined) {
      return this.state.samplesPerSecond;
    }
    return this.seconds > 0 ? (this.state.samples ?? 0) / this.seconds : undefined;
  }

  /**
   * Seconds until the last version at the pace since the first report; undefined if unknown, as it is
   * until a fiftieth of the versions or ten seconds have passed: a JVM's first steps are slow.
   */
  get secondsLeft() {
    const { phase, version, lastVersion, firstVersion, firstMillis } = this.state;
    const seconds = this.#trainingMillis(firstMillis) / 1000;
    const early = 50 * (version - firstVersion) < lastVersion - firstVersion && seconds < 10;
    return phase === 'running' && version > firstVersion && !early
      ? ((lastVersion - version) * seconds) / (version - firstVersion)
      : undefined;
  }

  /** Between then and now or the end, without pauses. */
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
