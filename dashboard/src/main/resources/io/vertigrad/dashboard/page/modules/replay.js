// Shows a run that is over: all its deltas, and a slider over them.

import { byId, setText } from './dom.js';
import { clock } from './format.js';
import { Run } from './run.js';

const PLAY_SECONDS = 20;
const TICK_MILLIS = 50;
const RETRY_MILLIS = 1000;

export class Replay {
  constructor(line, snapshot, heard) {
    Object.assign(this, { line, snapshot, heard, frames: [], position: 0, timer: null });
    this.slider = byId('frame');
    this.button = byId('play');
    byId('replay').hidden = false;
    this.slider.max = snapshot.replayFrames;
    this.slider.addEventListener('input', () => this.show(Number(this.slider.value)));
    this.button.addEventListener('click', () => (this.timer ? this.#pause() : this.#play()));
    byId('replay').addEventListener('submit', (event) => event.preventDefault());
    this.#load(0);
  }

  /** Shows the run as it was after this many frames. */
  show(frame) {
    if (!this.run || frame < this.position) {
      this.run = new Run(structuredClone(this.snapshot));
      this.position = 0;
    }
    for (; this.position < frame && this.position < this.frames.length; this.position++) {
      this.run.advance(this.frames[this.position]);
    }
    this.slider.value = this.position;
    this.slider.setAttribute('aria-valuetext', clock(this.run.timeMillis));
    setText(byId('frame-time'), clock(this.run.timeMillis));
    this.heard(this.run);
  }

  #load(from) {
    this.line.ask({ request: 'replay', from }, (answer, error) => {
      if (error || answer.refused) {
        setText(byId('frame-time'), error ? error.message : answer.refused);
        setTimeout(() => this.#load(from), RETRY_MILLIS);
        return;
      }
      this.frames.push(...answer.frames);
      if (answer.frames.length > 0 && answer.next < this.snapshot.replayFrames) {
        this.#load(answer.next);
      } else {
        this.show(this.frames.length);
      }
    });
  }

  #play() {
    if (this.position >= this.frames.length) {
      this.show(0);
    }
    setText(this.button, 'Pause');
    const step = Math.max(1, Math.round((this.frames.length * TICK_MILLIS) / PLAY_SECONDS / 1000));
    const every = Math.max(TICK_MILLIS, (PLAY_SECONDS * 1000) / Math.max(1, this.frames.length));
    this.timer = setInterval(() => {
      this.show(this.position + step);
      if (this.position >= this.frames.length) {
        this.#pause();
      }
    }, Math.min(every, 333));
  }

  #pause() {
    clearInterval(this.timer);
    this.timer = null;
    setText(this.button, 'Play');
  }
}
