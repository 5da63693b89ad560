// Archives and deletes runs from their details, and hides those that are archived.

import { byId, setText } from './dom.js';
import { count } from './format.js';

export class RunArchive {
  /**
   * `mark(run, archived)` and `remove(run)` change a run, and fail with the reason; `show()` shows the list again.
   * Without `allowed` the reader may change nothing.
   */
  constructor(allowed, { mark, remove, show }) {
    this.allowed = allowed;
    byId('archive').disabled = !allowed;
    byId('delete').disabled = !allowed;
    this.box = byId('archived');
    this.box.addEventListener('change', show);
    byId('archive').addEventListener('click', () => this.#try(() => mark(this.run, !this.run.archived)));
    byId('delete').addEventListener('click', () => {
      if (window.confirm(`Delete ${this.run.name}, with its model and checkpoints? There is no way back.`)) {
        this.#try(() => remove(this.run));
      }
    });
  }

  /** Returns the runs that the list has; the link to them as CSV follows. */
  listed(runs) {
    const hidden = runs.filter(({ archived }) => archived).length;
    byId('archived-label').hidden = hidden === 0;
    setText(byId('archived-count'), `archived (${count(hidden)})`);
    byId('csv').setAttribute('href', this.box.checked ? 'runs.csv?archived=true' : 'runs.csv');
    return this.box.checked ? runs : runs.filter(({ archived }) => !archived);
  }

  /** Shows what can be done with the run of the open details. */
  offer(run) {
    this.run = run;
    setText(byId('archive'), run.archived ? 'Unarchive' : 'Archive');
    byId('delete').disabled = !this.allowed || run.kept || run.state === 'running';
    byId('delete').title = run.kept ? 'It is kept.' : run.state === 'running' ? 'It goes on.' : '';
  }

  async #try(change) {
    try {
      await change();
      byId('details').close();
    } catch (error) {
      setText(byId('details-answer'), `Not done: ${error.message}`);
    }
  }
}
