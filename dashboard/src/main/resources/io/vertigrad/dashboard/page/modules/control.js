// Shows the control buttons to those who have opened the address with the token that the run printed.

import { byId, element, setText } from './dom.js';
import { token } from './token.js';

const ACTIONS = [
  ['checkpoint', 'Checkpoint now'],
  ['pause', 'Pause'],
  ['resume', 'Resume'],
  ['stop', 'Stop'],
];

const AT_WORK = ['running', 'paused'];

export class Control {
  constructor(line) {
    this.line = line;
    this.answer = element('span', { role: 'status', class: 'muted' });
    this.buttons = new Map();
    for (const [action, text] of ACTIONS) {
      const button = element('button', { type: 'button', 'data-action': action }, text);
      button.addEventListener('click', () => this.#ask(action));
      this.buttons.set(action, button);
    }
    byId('control').append(...this.buttons.values(), this.answer);
  }

  show(run) {
    byId('control').hidden = !token || !run.run.controllable;
    const phase = run.state.phase;
    this.buttons.get('checkpoint').disabled = run.run.servers === 0 || !AT_WORK.includes(phase);
    this.buttons.get('pause').hidden = phase === 'paused';
    this.buttons.get('pause').disabled = phase !== 'running';
    this.buttons.get('resume').hidden = phase !== 'paused';
    this.buttons.get('stop').disabled = !['waiting', ...AT_WORK].includes(phase);
  }

  #ask(action) {
    if (action === 'stop' && !window.confirm('Stop this run?')) {
      return;
    }
    this.line.ask({ request: 'control', action, token }, (answer, error) => {
      setText(this.answer, error ? error.message : (answer.refused ?? `${action}: asked for`));
    });
  }
}
