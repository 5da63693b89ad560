// Shows one run on the page; draws it again after every message, at most once a frame.

import { showAdvice } from './advice.js';
import { Bar } from './bar.js';
import { Config } from './config.js';
import { Control } from './control.js';
import { Curves } from './curves.js';
import { byId } from './dom.js';
import { Events } from './events.js';
import { Line } from './line.js';
import { Nodes } from './nodes.js';
import { Own } from './own.js';
import { Predictors } from './predictors.js';
import { Replay } from './replay.js';
import { Scalars } from './scalars.js';
import { Split } from './split.js';
import { Staleness } from './staleness.js';
import { Topology } from './topology.js';
import { Updates } from './updates.js';
import { showVerdict } from './verdict.js';

const { job } = await (await fetch('job')).json();
const bar = new Bar();
const parts = [bar, new Curves(), new Split(), new Staleness(), new Topology(), new Nodes()];
parts.push(new Own(), new Updates(), new Scalars(), new Predictors(), new Events(), new Config());

let run = null;
let replaying = false;
let drawing = false;

const line = new Line(job, {
  heard: draw,
  said: (state) => bar.line(replaying && state === 'connected' ? 'replay' : state),
  replay: (snapshot) => {
    bar.line('replay');
    if (!replaying) {
      replaying = true;
      new Replay(line, snapshot, draw);
    }
  },
});
parts.push(new Control(line));

function draw(newest) {
  run = newest;
  if (!drawing) {
    drawing = true;
    requestAnimationFrame(() => {
      drawing = false;
      document.body.classList.remove('loading');
      parts.forEach((part) => part.show(run));
      showVerdict(run);
      showAdvice(run);
      byId('verdict').dataset.number = run.number;
    });
  }
}
