// Shows the resolved job file as a flat list, and the names of the classes.

import { byId, element } from './dom.js';

export class Config {
  show(run) {
    const text = JSON.stringify([run.run.config, run.classes]);
    if (text === this.shown) {
      return;
    }
    this.shown = text;
    const names = run.classes.length > 0 ? [['classes', run.classes.join(', ')]] : [];
    const rows = [...names, ...flat('', run.run.config)].map(([key, value]) =>
      element('div', {}, element('dt', {}, key), element('dd', {}, value)),
    );
    byId('config').replaceChildren(element('dl', {}, ...rows));
  }
}

function flat(prefix, value) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return [[prefix, typeof value === 'string' ? value : JSON.stringify(value)]];
  }
  return Object.entries(value).flatMap(([key, inner]) => flat(prefix ? `${prefix}.${key}` : key, inner));
}
