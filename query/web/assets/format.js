// Numbers, times and durations as people read them. Times are in the reader's time zone.

import { wall } from './clock.js';

const decimal = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const seconds = ['', 'm', 'µ', 'n'];

// Units that stand behind their prefix: 12 MiB/s. Words follow the number: 12k packets/s.
const short = /^(B|B\/s|b|b\/s|bit|bit\/s|bps|s|Hz|W|J|Wh|VA|pkt\/s|g|l)$/;
// Units that take no prefix, as nobody says kilo-hectopascal.
const never = /^(%|°.*|[CFK]|deg.*|celsius|h?Pa|m?bar|m?[VA]|dBm?|rpm|ratio|pH|ppm|ppb|lx|mm|cm|m|h|d|min|[mµun]s|s\/s|[kKMGT]i?(B|bit|b|Hz|W)(\/s)?)$/i;
const lengths = { min: 60, h: 3600, d: 86400 };
const space = ' '; // narrow, and no line ends there

/**
 * How values that stand together are written: with one prefix, and with as many decimals as keep apart a
 * hundredth of their spread.
 * @typedef {{kind: ''|'duration'|'date'|'exponent', divisor: number, prefix: string, places: number, mean: number, unit: string, base: number}} Scale mean: decimals of
 *   means, which whole numbers have, too
 */

/**
 * The scale of values from low to high.
 * @param {number} low @param {number} high
 * @param {{base?: number, unit?: string, whole?: boolean}} [how] base 1000 or 1024; whole: all values are whole numbers
 * @returns {Scale}
 */
export function scaleOf(low, high, { unit = '', base = unit === 'B' ? 1024 : 1000, whole = false } = {}) {
  const size = Math.max(Math.abs(low), Math.abs(high)), alone = !(high > low);
  const scale = { kind: '', divisor: 1, prefix: '', places: 0, mean: 0, unit, base };
  if (!Number.isFinite(size) || size === 0) return scale;
  if (lengths[unit]) return { ...scale, kind: 'duration', divisor: 1 / lengths[unit] };
  if (unit === 's' && size >= 60) return { ...scale, kind: low >= 1e9 && high < 5e9 ? 'date' : 'duration' };
  Object.assign(scale, prefixOf(size, unit, base));
  if (size / scale.divisor >= 1e15 || size / scale.divisor < 5e-4) return { ...scale, kind: 'exponent' };
  scale.places = placesOf((alone ? size : high - low) / scale.divisor);
  if (alone && size / scale.divisor >= 0.0995) scale.places = Math.min(2, scale.places);
  if (alone && never.test(unit) && size < 1e4) scale.places = Math.max(1, scale.places); // 1013.2 hPa
  scale.mean = scale.places;
  if (scale.divisor === 1 && whole || alone && Number.isInteger(size / scale.divisor)) scale.places = 0;
  return scale;
}

function prefixOf(size, unit, base) {
  if (unit === 's') {
    const k = size >= 0.9995 ? 0 : Math.min(seconds.length - 1, Math.ceil(-Math.log10(size / 0.9995) / 3));
    return { divisor: 1000 ** -k, prefix: seconds[k] };
  }
  if (never.test(unit)) return { divisor: 1, prefix: '' };
  const names = base === 1024 ? binary : decimal;
  let k = 0;
  // 999.5 k is written 1.00 M, not 1000 k.
  while (k < names.length - 1 && size / base ** k >= (base === 1024 ? 1023.5 : 999.5)) k++;
  return { divisor: base ** k, prefix: names[k] };
}

/** The scale with the next smaller prefix, or null. @param {Scale} scale */
export function smaller({ divisor, prefix, base, ...rest }) {
  const names = base === 1024 ? binary : decimal, k = names.indexOf(prefix);
  return k > 0 ? { ...rest, base, divisor: divisor / base, prefix: names[k - 1] } : null;
}

const placesOf = (spread) => [0, 1, 2].find((n) => 10 ** -n <= spread / 101) ?? 3;

/**
 * A value on its scale, with its unit: "1013.2 hPa", "12.3 MiB/s", "1.20k packets/s". An unknown value is a
 * dash. What is too small for the scale has a prefix of its own.
 * @param {number} value @param {Scale} scale @param {number} [more] decimals, as for the value under the pointer
 */
export function scaled(value, scale, more = 0) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  const { kind, divisor, prefix, places, unit, base } = scale, size = Math.abs(value);
  if (kind === 'date') return time(value).slice(0, more ? 19 : 16);
  if (kind === 'duration') return size / divisor < 1 ? withUnit(fixed(value / divisor, value ? 3 : 0), '', 's') : duration(value / divisor);
  if (kind === 'exponent') return withUnit(minus(value ? (value / divisor).toExponential(2) : '0'), prefix, unit);
  if (!value && divisor !== 1) return withUnit('0', '', unit); // not 0.0k/s
  if (value && (divisor !== 1 || unit === 's') && size / divisor < 0.5 * 10 ** -places) {
    const own = scaleOf(value, value, { unit, base });
    if (own.divisor !== divisor) return scaled(value, own);
  }
  return withUnit(fixed(value / divisor, places + (places || divisor !== 1 || !Number.isInteger(value) ? more : 0)), prefix, unit);
}

/** A value that stands alone, with about three digits. @param {number} value @param {{base?: number, unit?: string}} [how] */
export function value(value, how = {}) {
  return scaled(value, scaleOf(value, value, how));
}

/** A number with commas and so many decimals. */
export function fixed(number, places) {
  const [whole, rest] = number.toFixed(places).split('.');
  const text = whole.replace(/\B(?=(\d{3})+$)/g, whole.replace('-', '').length > 4 ? ',' : '') + (rest ? '.' + rest : '');
  return minus(/[1-9]/.test(text) ? text : text.replace('-', ''));
}

const minus = (text) => text.replace('-', '−');

/** A number alone, with about three digits: 1.23, 12.3, 0.0012, 1,234,567. */
export function digits(number) {
  const size = Math.abs(number);
  if (size === 0) return '0';
  if (size >= 1e15 || size < 1e-4) return minus(number.toExponential(2));
  if (size < 0.0995) return minus(String(Number(number.toPrecision(2))));
  return fixed(number, Number.isInteger(number) ? 0 : placesOf(size));
}

/** Puts number, prefix and unit together. */
export function withUnit(number, prefix, unit) {
  if (!unit) return number + prefix;
  if (/^1?\//.test(unit)) return number + prefix + unit.replace(/^1/, ''); // 2.6k/s
  if (short.test(unit)) return number + space + prefix + unit;
  return number + prefix + space + unit;
}

/** A whole number with commas: 1,234,567. */
export function count(number) {
  return Math.round(number).toLocaleString('en-US');
}

/** A duration in two parts at most: "12 d 4 h", "1 h 22 min", "4.2 s". @param {number} seconds */
export function duration(seconds) {
  const sign = seconds < 0 ? '−' : '';
  let size = Math.abs(seconds);
  if (size < 59.5) return sign + String(Number(size < 9.95 ? size.toPrecision(2) : size.toFixed(0))) + space + 's';
  const units = [['y', 365 * 86400], ['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
  let first = units.findIndex(([, length]) => size >= length * 0.9999);
  size = Math.round(size / units[Math.min(first + 1, 4)][1]) * units[Math.min(first + 1, 4)][1];
  first = units.findIndex(([, length]) => size >= length);
  const whole = Math.floor(size / units[first][1]), next = units[first + 1];
  const rest = next ? Math.round((size - whole * units[first][1]) / next[1]) : 0;
  return sign + whole + space + units[first][0] + (rest > 0 ? space + rest + space + next[0] : '');
}

/** How long ago: "now", "12 s ago", "3 h ago". @param {number} seconds @param {number} now seconds */
export function ago(seconds, now) {
  if (!seconds) return 'never';
  const age = now - seconds;
  if (age < -5) return `in ${oneUnit(-age)}`;
  if (age < 2) return 'now';
  return `${oneUnit(age)} ago`;
}

/** For how long nothing came: "silent for 2 h 5 min". @param {number} seconds when something came last @param {number} now seconds */
export const silence = (seconds, now) => `silent for ${duration(Math.max(60, Math.floor((now - seconds) / 60) * 60))}`;

function oneUnit(seconds) {
  for (const [unit, length] of [['y', 365 * 86400], ['d', 86400], ['h', 3600], ['min', 60]]) {
    if (seconds >= length) return Math.floor(seconds / length) + space + unit;
  }
  return Math.floor(seconds) + space + 's';
}

const two = (n) => String(n).padStart(2, '0');

/** "2026-11-22 14:03:10". @param {number} seconds since 1970 */
export function time(seconds) {
  const d = wall(seconds);
  if (Number.isNaN(d.getTime())) return '–';
  return `${date(seconds)} ${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())}`;
}

/** "2026-11-22". @param {number} seconds since 1970 */
export function date(seconds) {
  const d = wall(seconds);
  return `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())}`;
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/**
 * The time under a pointer, as exact as the step of the data makes sense: "Sun 22 Nov 14:03".
 * @param {number} seconds since 1970 @param {number} [step] seconds between two values
 */
export function moment(seconds, step = 1) {
  const d = wall(seconds);
  const day = `${weekdays[d.getUTCDay()]} ${date(seconds)}`;
  if (step >= 86400) return day;
  const minutes = `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}`;
  return `${day} ${minutes}${step < 60 ? ':' + two(d.getUTCSeconds()) : ''}`;
}

/** A range in words, for a screen reader: "Sun 2026-11-22 13:00 to 14:00". @param {number} from seconds @param {number} to seconds */
export function span(from, to) {
  const step = to - from < 600 ? 1 : 60;
  const a = moment(from, step);
  const b = moment(to, step);
  const day = a.lastIndexOf(' ') + 1;
  return a.slice(0, day) === b.slice(0, day) ? `${a} to ${b.slice(day)}` : `${a} to ${b}`;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * A range, short: "22 Nov 13:00 – 14:00", "22 Nov 2025 – 22 Nov 2026".
 * @param {number} from seconds @param {number} to seconds @param {number} [now] seconds; its year is left out
 */
export function shortSpan(from, to, now = Date.now() / 1000) {
  const [a, b, n] = [from, to, now].map(wall);
  const year = a.getUTCFullYear() !== n.getUTCFullYear() || b.getUTCFullYear() !== n.getUTCFullYear();
  const day = (d) => `${d.getUTCDate()} ${months[d.getUTCMonth()]}${year ? ' ' + d.getUTCFullYear() : ''}`;
  const clock = (d) => `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}${to - from < 600 ? ':' + two(d.getUTCSeconds()) : ''}`;
  if (to - from > 60 * 86400) return `${day(a)} – ${day(b)}`;
  if (day(a) === day(b)) return `${day(a)} ${clock(a)} – ${clock(b)}`;
  return `${day(a)} ${clock(a)} – ${day(b)} ${clock(b)}`;
}
