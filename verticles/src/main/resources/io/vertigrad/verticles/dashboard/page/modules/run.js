// A run, folded from one snapshot and the deltas after it; see docs/metrics.md for the messages.

export const SCHEMA = 1;

const POINTS = 2400;
const EVENTS = 200;
const COLUMNS = ['timeMillis', 'version', 'loss', 'samplesPerSecond'];

export class Run {
  constructor(snapshot) {
    this.job = snapshot.job;
    this.run = snapshot.run;
    this.number = snapshot.number;
    this.timeMillis = snapshot.timeMillis;
    this.state = snapshot.state;
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
    for (const member of delta.members) {
      this.#remember(member);
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

  get elapsedSeconds() {
    return ((this.state.endedMillis ?? this.timeMillis) - this.startMillis) / 1000;
  }

  /** Of a run that is over: without its pauses. */
  get workingSeconds() {
    return this.elapsedSeconds - (this.state.pausedMillis ?? 0) / 1000;
  }

  /** Seconds until the last version at the pace of the last half minute; undefined if unknown. */
  get secondsLeft() {
    const pace = this.#versionsPerSecond();
    return this.state.phase === 'running' && pace > 0
      ? (this.state.lastVersion - this.state.version) / pace
      : undefined;
  }

  #versionsPerSecond() {
    let longest = { timeMillis: [], version: [] };
    for (const curve of this.curves.values()) {
      longest = curve.timeMillis.at(-1) > (longest.timeMillis.at(-1) ?? 0) ? curve : longest;
    }
    const end = longest.timeMillis.length - 1;
    const from = Math.max(longest.timeMillis[end] - 30000, this.state.resumedMillis ?? 0);
    const since = longest.timeMillis.findIndex((t) => t >= from);
    const millis = longest.timeMillis[end] - longest.timeMillis[since];
    return millis > 0 ? (1000 * (longest.version[end] - longest.version[since])) / millis : 0;
  }

  #remember(member) {
    const name = nameOf(member);
    const before = this.members.get(name);
    this.members.set(name, member);
    const stepped = member.step !== before?.step || member.incarnation !== before?.incarnation;
    if (member.role === 'worker' && stepped && member.samplesPerSecond > 0) {
      if (Number.isFinite(member.loss)) {
        this.#extend(name, member);
      }
    }
  }

  #extend(name, member) {
    if (!this.curves.has(name)) {
      this.curves.set(name, Object.fromEntries(COLUMNS.map((c) => [c, []])));
    }
    const curve = this.curves.get(name);
    const full = curve.timeMillis.length >= POINTS;
    for (const column of COLUMNS) {
      if (full) {
        curve[column] = curve[column].filter((value, i) => i % 2 === 1);
      }
      curve[column].push(member[column]);
    }
  }
}

const nameOf = (member) => `${member.role} ${member.rank}`;
