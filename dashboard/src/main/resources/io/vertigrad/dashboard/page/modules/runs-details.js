// Shows the details of a run, and lets the reader change its name, tags and note.

import { byId, element, setText } from './dom.js';
import { settingOf } from './runs-columns.js';

const FIELDS = ['label', 'tags', 'note', 'kept'];

export class RunDetails {
  /** `post(change)` saves a change and returns the new parts of the run; the token may be missing. */
  constructor(token, post) {
    Object.assign(this, { token, post });
    this.dialog = byId('details');
    byId('close').addEventListener('click', () => this.dialog.close());
    byId('save').addEventListener('click', () => this.#save());
    for (const id of [...FIELDS, 'save']) {
      byId(id).disabled = !token;
    }
  }

  open(run) {
    this.run = run;
    setText(byId('details-title'), run.name);
    setText(byId('details-problem'), [run.reason, run.problem, ...(run.outliers ?? [])].filter(Boolean).join('; '));
    byId('label').value = run.label ?? '';
    byId('tags').value = (run.tags ?? []).join(', ');
    byId('note').value = run.note ?? '';
    byId('kept').checked = Boolean(run.kept);
    this.#say(this.token ? '' : 'To change them, open the address that vertigrad ui has printed, with its #token=.');
    const settings = Object.keys(run.settings ?? {}).map((key) =>
      element('div', {}, element('dt', {}, key), element('dd', {}, settingOf(run, key))),
    );
    byId('settings').replaceChildren(
      settings.length > 0 ? element('dl', {}, ...settings) : 'Its job file is missing or cannot be read.',
    );
    this.dialog.showModal();
  }

  async #save() {
    const tags = byId('tags').value.split(',').map((tag) => tag.trim()).filter(Boolean);
    const given = { label: byId('label').value, tags, note: byId('note').value, kept: byId('kept').checked };
    const before = { label: this.run.label ?? '', tags: this.run.tags ?? [], note: this.run.note ?? '', kept: Boolean(this.run.kept) };
    const changed = FIELDS.filter((key) => String(given[key]) !== String(before[key]));
    if (changed.length === 0) {
      this.#say('Nothing has changed.');
      return;
    }
    this.#say('Saving.');
    try {
      const change = Object.fromEntries(changed.map((key) => [key, given[key]]));
      await this.post({ run: this.run.name, token: this.token, ...change });
      this.dialog.close();
    } catch (error) {
      this.#say(`Not saved: ${error.message}`);
    }
  }

  #say(text) {
    setText(byId('details-answer'), text);
  }
}
