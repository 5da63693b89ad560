// Shows how the run is doing and what to try; docs/guide/advice.md describes the rules.

import { byId, element } from './dom.js';

export function showAdvice(run) {
  const list = byId('advice');
  const sentences = (run.state.advice ?? []).map((one) => [one.rule, `${one.found} ${one.try}`.trim()]);
  const text = JSON.stringify(sentences);
  if (list.dataset.text !== text) {
    list.dataset.text = text;
    list.hidden = sentences.length === 0;
    list.replaceChildren(
      ...sentences.map(([rule, sentence]) => element('li', { 'data-rule': rule }, ...marked(sentence))),
    );
  }
}

/** Returns text, and code for what stands between backticks. */
const marked = (sentence) =>
  sentence.split('`').map((part, i) => (i % 2 === 1 ? element('code', {}, part) : part));
