// Formats numbers and times exactly as the terminal does; PageFiguresTest compares both.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

export const NONE = '–';

const known = (value) => typeof value === 'number' && Number.isFinite(value);

export const count = (value) => (known(value) ? whole.format(value) : NONE);

export const many = (number, what) => `${count(number)} ${what}${number === 1 ? '' : 's'}`;

/**
 * Formats a number with this many digits after the point. It rounds the decimal digits, halves away
 * from zero: 1.005 gives 1.01, although the stored number is a little smaller.
 */
export function fixed(value, digits) {
  if (!known(value)) {
    return NONE;
  }
  const [mantissa, exponent = 0] = String(Math.abs(value)).split('e');
  const shifted = Math.round(Number(`${mantissa}e${Number(exponent) + digits}`));
  const text = Number(`${shifted}e${-digits}`).toFixed(digits);
  return value < 0 && shifted > 0 ? `-${text}` : text;
}

export const percent = (value, digits = 0) => (known(value) ? `${fixed(value, digits)} %` : NONE);

/** Formats the loss on training batches. */
export const trainingLoss = (value) => fixed(value, 3);

/** Formats the loss of a test. */
export const testLoss = (value) => fixed(value, 4);

/** Formats the accuracy of a test, given in percent. */
export const accuracy = (value) => percent(value, 2);

/** The metrics of tests with other losses: names, unit of the axis and format of a figure. */
const METRICS = {
  labelAccuracy: { name: 'label accuracy', title: 'Label accuracy', unit: ', percent', value: (value) => accuracy(value) },
  rmse: { name: 'RMSE', title: 'RMSE', unit: '', value: (value) => error(value) },
  perplexity: { name: 'perplexity', title: 'Perplexity', unit: '', value: (value) => significant(value, 4) },
};
const BY_LOSS = { binaryCrossEntropy: 'labelAccuracy', meanSquaredError: 'rmse' };

/** Returns the metric of this key, or before the first test that of the job's loss; undefined for accuracy. */
export const metric = (key, loss) => METRICS[key || BY_LOSS[loss]];

/** Formats an error in the unit of its value: from 10,000 on a whole number, up to where it has an exponent. */
export const error = (value) =>
  Math.abs(value) >= 1e4 && Math.abs(value) < 1e12 ? `${value < 0 ? '-' : ''}${count(Math.round(Math.abs(value)))}` : significant(value, 4);

/** Formats the mean staleness, in updates. */
export const staleness = (value) => fixed(value, 1);

/** Formats a short time in seconds. */
export const seconds = (value) => (known(value) ? `${fixed(value, 1)} s` : NONE);

/** Formats this many significant digits; with an exponent below 0.0001 and for longer numbers. */
export function significant(value, digits) {
  if (!known(value)) {
    return NONE;
  }
  const [mantissa, power] = value.toExponential().split('e').map(Number);
  const carried = Math.abs(Number(fixed(mantissa, digits - 1))) === 10;
  const exponent = power + (carried ? 1 : 0);
  if (value === 0 || (exponent >= -4 && exponent < digits)) {
    return fixed(value, Math.max(0, digits - 1 - exponent));
  }
  const two = String(Math.abs(exponent)).padStart(2, '0');
  return `${fixed(carried ? mantissa / 10 : mantissa, digits - 1)}e${exponent < 0 ? '-' : '+'}${two}`;
}

/** Formats bytes in decimal units: 1 kB is 1000 bytes. */
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

export const millis = (value) => (known(value) ? `${fixed(value, value < 9.95 ? 1 : 0)} ms` : NONE);

/** Formats a duration as 1:05, or 1:01:05. */
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
