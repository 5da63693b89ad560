// Numbers and times as people read them.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

export const NONE = '–';

const known = (value) => typeof value === 'number' && Number.isFinite(value);

export const count = (value) => (known(value) ? whole.format(value) : NONE);

export const many = (number, what) => `${count(number)} ${what}${number === 1 ? '' : 's'}`;

export const percent = (value, digits = 0) =>
  known(value) ? `${value.toFixed(digits)} %` : NONE;

/** Three significant digits or so, without exponents where they can be avoided. */
export function figure(value) {
  if (!known(value)) {
    return NONE;
  }
  const size = Math.abs(value);
  if (size === 0) {
    return '0';
  }
  if (size >= 1000) {
    return whole.format(value);
  }
  return size < 0.001 ? value.toExponential(1) : value.toFixed(size < 1 ? 4 : size < 10 ? 3 : 1);
}

/** Decimal units: 1 kB is 1000 bytes. */
export function bytes(value) {
  if (!known(value)) {
    return NONE;
  }
  let rest = value;
  let unit = 0;
  while (rest >= 999.5 && unit < UNITS.length - 1) {
    rest /= 1000;
    unit++;
  }
  return `${unit === 0 || rest >= 99.5 ? rest.toFixed(0) : rest.toFixed(1)} ${UNITS[unit]}`;
}

export const millis = (value) => (known(value) ? `${value.toFixed(value < 9.95 ? 1 : 0)} ms` : NONE);

/** 1:05, or 1:01:05. */
export function duration(seconds) {
  if (!known(seconds)) {
    return NONE;
  }
  const all = Math.max(0, Math.round(seconds));
  const two = (value) => String(value).padStart(2, '0');
  const hours = Math.floor(all / 3600);
  const minutes = Math.floor(all / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(all % 60)}` : `${minutes}:${two(all % 60)}`;
}

export const clock = (timeMillis) => new Date(timeMillis).toLocaleTimeString('en-GB');
