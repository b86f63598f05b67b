// Numbers, times and durations as people read them. Times are in the reader's time zone.

const decimal = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const small = ['', 'm', 'µ', 'n', 'p'];

// Units that take a prefix: 12 MiB/s. Others follow the number: 12 k packets/s.
const short = /^(B|B\/s|b|b\/s|bit|bit\/s|bps|s|Hz|W|V|A|J|Wh|VA|pkt\/s|m|g|l)$/;

/** Whether a unit is a letter or two that take a prefix, or per cent. @param {string} [unit] */
export const isShort = (unit = '') => unit === '' || unit === '%' || short.test(unit);
const space = ' '; // narrow, and no line ends there

/**
 * How a value is scaled: all labels of an axis share one scale.
 * @param {number} largest the largest absolute value
 * @param {{base?: number, unit?: string}} [how] base 1000 or 1024
 * @returns {{divisor: number, prefix: string}}
 */
export function scaleFor(largest, { base = 1000, unit = '' } = {}) {
  const size = Math.abs(largest);
  if (!Number.isFinite(size) || size === 0 || unit === '%') return { divisor: 1, prefix: '' };
  if (size < 1) {
    if (base === 1024 || !short.test(unit)) return { divisor: 1, prefix: '' };
    const k = Math.min(small.length - 1, Math.ceil(-Math.log10(size) / 3 - 1e-9));
    return { divisor: 1000 ** -k, prefix: small[k] };
  }
  const names = base === 1024 ? binary : decimal;
  let k = 0;
  // 999.5 k is written 1.00 M, not 1000 k.
  while (k < names.length - 1 && size / base ** k >= (base === 1024 ? 1023.5 : 999.5)) k++;
  return { divisor: base ** k, prefix: names[k] };
}

/**
 * A value with three significant digits and its unit: "12.3 MiB/s", "45.6 %", "1.20 k packets/s".
 * An unknown value is a dash.
 * @param {number} value
 * @param {{base?: number, unit?: string}} [how]
 */
export function value(value, how = {}) {
  const { unit = '' } = how;
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (unit === 's' && Math.abs(value) >= 300) return duration(value);
  if (unit === '%') return withUnit(digits(Number(value.toFixed(2))), '', unit);
  const scale = scaleFor(value, how);
  return withUnit(digits(value / scale.divisor), scale.prefix, unit);
}

/** A number with about three significant digits: 1.23, 12.3, 123, 0.0012, 1,234,567. */
export function digits(number) {
  const size = Math.abs(number);
  if (size === 0) return '0';
  let text;
  if (size >= 1e15 || size < 1e-4) text = number.toExponential(2);
  else if (Number.isInteger(number) && size < 1e5) text = String(number);
  else if (size >= 99.95) text = Math.round(number).toLocaleString('en-US');
  else if (size >= 9.995) text = number.toFixed(1);
  else if (size >= 0.0995) text = number.toFixed(2);
  else text = String(Number(number.toPrecision(2)));
  return text.replace('-', '−');
}

/** Puts number, prefix and unit together. */
export function withUnit(number, prefix, unit) {
  if (!unit) return number + prefix;
  if (unit.startsWith('1/')) return number + prefix + unit.slice(1); // 2.6k/s
  if (short.test(unit) || unit === '%') return number + space + prefix + unit;
  return number + prefix + space + unit;
}

/** A whole number with commas: 1,234,567. */
export function count(number) {
  return Math.round(number).toLocaleString('en-US');
}

/** A duration in two parts at most: "3 d 4 h", "12 min", "4.2 s". @param {number} seconds */
export function duration(seconds) {
  const size = Math.abs(seconds);
  const sign = seconds < 0 ? '−' : '';
  if (size < 60) return sign + digits(size < 10 ? Number(size.toPrecision(2)) : Math.round(size)) + space + 's';
  const units = [['y', 365 * 86400], ['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
  const first = units.findIndex(([, length]) => size >= length);
  const whole = Math.floor(size / units[first][1]);
  let text = sign + whole + space + units[first][0];
  const next = units[first + 1];
  const rest = next ? Math.floor((size - whole * units[first][1]) / next[1]) : 0;
  if (rest > 0 && whole < 10) text += space + rest + space + next[0];
  return text;
}

/** How long ago: "now", "12 s ago", "3 h ago". @param {number} seconds @param {number} now seconds */
export function ago(seconds, now) {
  if (!seconds) return 'never';
  const age = now - seconds;
  if (age < -5) return `in ${oneUnit(-age)}`;
  if (age < 2) return 'now';
  return `${oneUnit(age)} ago`;
}

function oneUnit(seconds) {
  for (const [unit, length] of [['y', 365 * 86400], ['d', 86400], ['h', 3600], ['min', 60]]) {
    if (seconds >= length) return Math.floor(seconds / length) + space + unit;
  }
  return Math.floor(seconds) + space + 's';
}

const two = (n) => String(n).padStart(2, '0');

/** "2026-11-22 14:03:10". @param {number} seconds since 1970 */
export function time(seconds) {
  const d = new Date(seconds * 1000);
  if (Number.isNaN(d.getTime())) return '–';
  return `${date(seconds)} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/** "2026-11-22". @param {number} seconds since 1970 */
export function date(seconds) {
  const d = new Date(seconds * 1000);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/**
 * The time under a pointer, as exact as the step of the data makes sense: "Sun 22 Nov 14:03".
 * @param {number} seconds since 1970 @param {number} [step] seconds between two values
 */
export function moment(seconds, step = 1) {
  const d = new Date(seconds * 1000);
  const day = `${weekdays[d.getDay()]} ${date(seconds)}`;
  if (step >= 86400) return day;
  const minutes = `${two(d.getHours())}:${two(d.getMinutes())}`;
  return `${day} ${minutes}${step < 60 ? ':' + two(d.getSeconds()) : ''}`;
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
  const [a, b, n] = [from, to, now].map((s) => new Date(s * 1000));
  const year = a.getFullYear() !== n.getFullYear() || b.getFullYear() !== n.getFullYear();
  const day = (d) => `${d.getDate()} ${months[d.getMonth()]}${year ? ' ' + d.getFullYear() : ''}`;
  const clock = (d) => `${two(d.getHours())}:${two(d.getMinutes())}${to - from < 600 ? ':' + two(d.getSeconds()) : ''}`;
  if (to - from > 60 * 86400) return `${day(a)} – ${day(b)}`;
  if (day(a) === day(b)) return `${day(a)} ${clock(a)} – ${clock(b)}`;
  return `${day(a)} ${clock(a)} – ${day(b)} ${clock(b)}`;
}

/** The name of the reader's time zone: "UTC", "Europe/Berlin". */
export function zone() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || 'local time';
}
