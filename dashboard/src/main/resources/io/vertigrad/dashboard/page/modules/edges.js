// Draws the traffic between two members, as the workers counted it: lines, their width and a figure.

import { shape } from './dom.js';
import { bytes } from './format.js';

const LABELLED = 10;
const WIDEST = 7;
const CROSSING = 24;
const GONE = ['lost', 'left'];

/** Returns pairs {from, to, out, back}: bytes per second in each direction, undefined if not counted. */
export function pairs(run) {
  return run.run.servers > 0 ? toServers(run) : betweenWorkers(run);
}

export const total = ({ out, back }) => (out ?? 0) + (back ?? 0);

export const measured = ({ out, back }) => out !== undefined || back !== undefined;

/** Describes the traffic of a pair in each direction. */
export function words({ from, to, out, back }) {
  const name = (member) => `${member.role} ${member.rank}`;
  const rate = (value) => (value === undefined ? 'not counted' : `${bytes(value)}/s`);
  return `${name(from)} to ${name(to)}: ${rate(out)}, back: ${rate(back)}`;
}

/** Returns the lines between members; each has a figure when there are few. */
export function drawn(edges, places) {
  const used = edges.filter((edge) => flows(edge));
  const lines = edges.map((edge) => line(edge, places));
  return used.length > LABELLED ? lines : [...lines, ...used.map((edge) => figure(edge, places))];
}

function toServers(run) {
  return run.of('worker').flatMap((from) =>
    run.of('server').map((to) => ({
      from,
      to,
      out: from.sentToPerSecond?.[to.rank],
      back: from.receivedFromPerSecond?.[to.rank],
    })),
  );
}

/** Returns the edges of the job file and all others in use; either end may have counted the bytes. */
function betweenWorkers(run) {
  const workers = new Map(run.of('worker').map((worker) => [worker.rank, worker]));
  const ends = new Map();
  const add = (...ranks) => {
    const pair = [Math.min(...ranks), Math.max(...ranks)];
    ends.set(pair.join(), pair);
  };
  (run.run.links ?? []).forEach(([one, other]) => add(one, other));
  for (const worker of workers.values()) {
    Object.entries(worker.sentToPerSecond ?? {})
      .filter(([rank, rate]) => rate > 0 && workers.has(Number(rank)))
      .forEach(([rank]) => add(worker.rank, Number(rank)));
  }
  return [...ends.values()]
    .map(([one, other]) => [workers.get(one), workers.get(other)])
    .filter(([from, to]) => from && to)
    .map(([from, to]) => ({ from, to, out: rate(from, to), back: rate(to, from) }));
}

const rate = (from, to) =>
  from.sentToPerSecond?.[to.rank] ?? to.receivedFromPerSecond?.[from.rank];

/** Returns the figure's place along a line: its middle, or nearer the worker where lines cross or lead to servers. */
function where(from, to, places) {
  const all = [...places.values()];
  const mean = (of) => all.reduce((sum, place) => sum + of(place), 0) / all.length;
  const off = Math.hypot(
    (from.x + to.x) / 2 - mean((place) => place.x),
    (from.y + to.y) / 2 - mean((place) => place.y),
  );
  return to.member.role === 'server' || (all.length > 2 && off < CROSSING) ? 0.36 : 0.5;
}

const gone = ({ from, to }) => GONE.includes(from.condition) || GONE.includes(to.condition);

const flows = (edge) => total(edge) > 0 && !gone(edge);

const placeOf = (member, places) => places.get(`${member.role} ${member.rank}`);

function line(edge, places) {
  const [from, to] = [placeOf(edge.from, places), placeOf(edge.to, places)];
  const kind = gone(edge) ? ' gone' : flows(edge) ? ' flowing' : '';
  const drawing = shape(
    'line',
    {
      x1: from.x,
      y1: from.y,
      x2: to.x,
      y2: to.y,
      class: `edge${kind}`,
      'data-edge': `${edge.from.role} ${edge.from.rank}, ${edge.to.role} ${edge.to.rank}`,
      'data-bytes': total(edge),
    },
    shape('title', {}, words(edge)),
  );
  drawing.style.strokeWidth = `${Math.min(WIDEST, 1 + Math.log10(1 + total(edge) / 1e5) * 1.6)}px`;
  return drawing;
}

function figure(edge, places) {
  const [from, to] = [placeOf(edge.from, places), placeOf(edge.to, places)];
  const along = where(from, to, places);
  const x = from.x + along * (to.x - from.x);
  const y = from.y + along * (to.y - from.y);
  return shape('text', { class: 'flow', x, y, dy: '0.35em' }, `${bytes(total(edge))}/s`);
}
