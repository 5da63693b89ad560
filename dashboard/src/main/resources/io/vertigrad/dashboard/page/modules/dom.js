// Makes elements. Text that comes from a run is inserted as text, never as markup.

const SVG = 'http://www.w3.org/2000/svg';

export const byId = (id) => document.getElementById(id);

/** Returns an HTML element; children are elements or text. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Returns an SVG element; children are elements or text. */
export function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

/** Changes a text only when it differs, so that the user's selection stays. */
export function setText(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) {
    node.textContent = wanted;
  }
}

/**
 * Gives an element as many children as there are items: `fill(child, item, index)` for each, after `make(index)` has made
 * the ones that are missing.
 */
export function fillChildren(parent, items, make, fill) {
  while (parent.children.length > items.length) {
    parent.lastChild.remove();
  }
  items.forEach((item, i) => fill(parent.children[i] ?? parent.appendChild(make(i)), item, i));
}

/** Gives a list of choices its `entries`, [value, text] each, and marks the chosen one. */
export function fillOptions(select, entries, chosen) {
  const state = JSON.stringify(entries);
  if (select.shown !== state) {
    select.shown = state;
    select.replaceChildren(...entries.map(([value, text]) => element('option', { value }, text)));
  }
  select.value = chosen;
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) {
      node.setAttribute(name, value);
    }
  }
  node.append(...children.filter((child) => child !== undefined && child !== null));
  return node;
}
