// Draws the members and their exchanges: bytes per second on each line, states by shape and colour.

import { byId, setText, shape } from './dom.js';
import { drawn, measured, pairs, words } from './edges.js';
import { bytes } from './format.js';
import { ofRank } from './palette.js';

const DRAWN = 32;
const DESCRIBED = 12;
const WIDEST = 640;
const NARROWEST = 330;
const WORKER_WIDTH = 80;

export class Topology {
  constructor() {
    this.svg = shape('svg', { role: 'img' });
    byId('topology').append(this.svg);
    this.rest = document.createElement('p');
    this.rest.className = 'note';
    byId('topology').append(this.rest);
  }

  show(run) {
    const workers = run.of('worker').slice(0, DRAWN);
    const width = Math.max(NARROWEST, Math.min(WIDEST, byId('topology').clientWidth));
    const places = run.run.servers > 0 ? besideServers(run, workers, width) : inACircle(workers, width);
    const evaluators = run.of('evaluator');
    const height = places.height;
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    const shown = ({ role, rank }) => places.at.has(`${role} ${rank}`);
    const known = pairs(run).filter(({ from, to }) => shown(from) && shown(to));
    this.svg.setAttribute('aria-label', described(run, known));
    const edges = drawn(known, places.at);
    const nodes = [...places.at.values()].map((place) => node(place, run));
    for (const member of evaluators) {
      const place = { member, x: width - 40, y: places.serverY ?? 56 };
      run.of('server').forEach((server) => edges.push(reading(place, places.at.get(`server ${server.rank}`))));
      nodes.push(node(place, run));
    }
    this.svg.replaceChildren(...edges, ...nodes);
    const hidden = run.of('worker').length - workers.length;
    const more = hidden > 0 && `and ${hidden} more ${run.trainer}s`;
    setText(this.rest, [more, uncounted(run, known)].filter(Boolean).join('; '));
  }
}

function besideServers(run, workers, width) {
  const perRow = Math.floor(width / WORKER_WIDTH);
  const at = new Map();
  const servers = run.of('server');
  const serverY = 56;
  servers.forEach((member, i) => {
    at.set(`server ${member.rank}`, { member, x: spread(i, servers.length, width - 200) + 100, y: serverY });
  });
  workers.forEach((member, i) => {
    const row = Math.floor(i / perRow);
    const inRow = Math.min(perRow, workers.length - row * perRow);
    const x = spread(i % perRow, inRow, width);
    at.set(`worker ${member.rank}`, { member, x, y: 190 + 96 * row });
  });
  const rows = Math.max(1, Math.ceil(workers.length / perRow));
  return { at, serverY, height: 250 + 96 * (rows - 1) };
}

function inACircle(workers, width) {
  const at = new Map();
  const height = workers.length > 12 ? 420 : 320;
  const radius = height / 2 - 62;
  workers.forEach((member, i) => {
    const angle = (2 * Math.PI * i) / Math.max(1, workers.length) - Math.PI / 2;
    at.set(`worker ${member.rank}`, {
      member,
      x: width / 2 + Math.min(1.5 * radius, width / 2 - 50) * Math.cos(angle),
      y: height / 2 - 12 + radius * Math.sin(angle),
    });
  });
  return { at, height };
}

/** Draws the evaluator's line; it reads from time to time, and its bytes are not counted. */
function reading(from, to) {
  return shape('line', { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: 'edge reading' });
}

function node({ member, x, y }, run) {
  const group = shape('g', { class: `node ${member.role}`, 'data-condition': member.condition });
  group.setAttribute('data-member', `${member.role} ${member.rank}`);
  group.setAttribute('transform', `translate(${x} ${y})`);
  const body =
    member.role === 'worker'
      ? shape('circle', { r: 19, class: 'body' })
      : shape('rect', { x: -23, y: -19, width: 46, height: 38, rx: member.role === 'server' ? 6 : 19, class: 'body' });
  if (member.role === 'worker' && member.condition === 'up') {
    body.style.stroke = ofRank(member.rank);
  }
  group.append(
    shape('title', {}, `${run.called(member)}: ${member.condition} ${member.reason ?? ''}`),
    body,
    shape('text', { class: 'letter', dy: '0.35em' }, letters(member, run)),
  );
  if (member.condition === 'lost') {
    group.append(shape('path', { class: 'cross', d: 'M-26 -22 L26 22 M26 -22 L-26 22' }));
  }
  const below = member.role === 'worker' ? 36 : -27;
  labels(member).forEach((text, i) =>
    group.append(shape('text', { class: i === 0 ? 'first' : 'second', y: below + 14 * i }, text)),
  );
  return group;
}

function labels(member) {
  if (member.condition !== 'up') {
    return [member.condition];
  }
  return member.role === 'worker' && Number.isFinite(member.sentPerSecond)
    ? [`↑ ${bytes(member.sentPerSecond)}/s`, `↓ ${bytes(member.receivedPerSecond)}/s`]
    : [member.role];
}

/** Returns role and number: W1, and S1 for a stage; the title names the replica. */
const letters = (member, run) => run.called(member).replace(/^(\w)\w* (\d+).*$/, (all, role, n) => role.toUpperCase() + n);

const spread = (i, count, width) => (width * (i + 0.5)) / Math.max(1, count);

/** A worker counts its first partners one by one; an edge to any other partner may have no figure. */
function uncounted(run, edges) {
  const some = run.of('worker').some((worker) => worker.sentToPerSecond?.others > 0);
  const without = edges.filter((edge) => !measured(edge)).length;
  return some && without > 0 && `${without} of ${edges.length} lines are not counted one by one`;
}

function described(run, edges) {
  const states = [...run.members.values()].map((m) => `${run.called(m)} ${m.condition}`);
  const flows = edges.filter(measured).slice(0, DESCRIBED).map(words);
  return [`Members: ${states.join(', ') || 'none yet'}`, ...flows].join('. ');
}
