// Okabe and Ito's colours, which colour-blind readers can distinguish; a little lighter on a dark background.

const LIGHT = ['#0072b2', '#d98a00', '#009e73', '#c2649a', '#3f9fd6', '#8a6d3b', '#5b5bd6', '#7a7a7a'];
const DARK = ['#4aa8e0', '#f0b440', '#3cc9a0', '#e091c0', '#8ccbf0', '#c9a66b', '#9a9af5', '#a8a8a8'];

const dark = window.matchMedia('(prefers-color-scheme: dark)');

/** Returns a worker's colour by rank; the colours repeat after eight. */
export const ofRank = (rank) => (dark.matches ? DARK : LIGHT)[rank % LIGHT.length];

/** Returns the dashes of a line whose colour repeats, for each repetition others; undefined for the first eight. */
export function dashOf(rank) {
  const cycle = Math.floor(rank / LIGHT.length);
  return cycle > 2 ? [12, 3, ...Array(cycle - 2).fill([3, 3]).flat()] : [undefined, [8, 4], [3, 3]][cycle];
}

/** Returns a colour of the style sheet, for drawing on a canvas. */
export const named = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export const onThemeChange = (action) => dark.addEventListener('change', action);
