// Where an axis has its ticks, and what stands there.

import { secondsOf, wall } from './clock.js';
import { date, digits, duration, fixed, scaleOf, smaller, time } from './format.js';

/**
 * Round values from low to high, about `wanted` of them.
 * @param {number} low @param {number} high @param {number} wanted
 * @param {number} [base] 1024 gives powers of two
 * @returns {number[]}
 */
export function valueTicks(low, high, wanted, base = 1000) {
  if (!(high > low) || wanted < 1) return [];
  const step = valueStep((high - low) / wanted, base);
  const ticks = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let i = first; i * step <= high + step * 1e-9; i++) {
    ticks.push(i === 0 ? 0 : i * step);
    if (ticks.length > 100) break;
  }
  return ticks;
}

// Round steps of durations; longer ones are so many days.
const lengths = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/**
 * The round step that is not below the given one: 1, 2, 2.5 or 5 times a power of ten, a power of two for
 * base 1024, a round duration for base 60.
 */
export function valueStep(least, base = 1000) {
  if (base === 1024 && least >= 1) return 2 ** Math.ceil(Math.log2(least) - 1e-9);
  if (base === 60 && least > 0.5) return lengths.find((l) => l >= least * (1 - 1e-9)) || 86400 * valueStep(least / 86400);
  const power = 10 ** Math.floor(Math.log10(least) + 1e-9);
  for (const factor of [1, 2, 2.5, 5]) {
    if (power * factor >= least * (1 - 1e-9)) return power * factor;
  }
  return power * 10;
}

/** Powers of ten (of two, for base 1024) between low and high, thinned to `wanted`. */
export function logTicks(low, high, wanted, base = 1000) {
  if (!(low > 0) || !(high > low)) return [];
  const root = base === 1024 ? 2 : 10;
  const first = Math.ceil(Math.log(low) / Math.log(root) - 1e-9);
  const last = Math.floor(Math.log(high) / Math.log(root) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, wanted)));
  const ticks = [];
  for (let k = first; k <= last; k += every) ticks.push(root ** k);
  if (ticks.length >= 2) return ticks;
  return valueTicks(low, high, wanted, base).filter((v) => v > 0);
}

/**
 * The texts of ticks; all share one prefix, so that they can be compared at a glance.
 * @param {number[]} ticks @param {{base?: number, unit?: string, absolute?: boolean, log?: boolean}} how
 */
export function tickLabels(ticks, how) {
  const shown = how.absolute ? ticks.map(Math.abs) : ticks;
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : Math.max(...shown, 0);
  let common = scaleOf(Math.min(...shown), Math.max(...shown), how);
  if (common.kind === 'duration') return durations(shown.map((v) => v / common.divisor), step / common.divisor);
  if (common.kind === 'date') return shown.map((v) => (step >= day ? date(v) : time(v).slice(5, 16)));
  // 10.002 k says less than 10,002.
  for (let next = common; next && decimals(step / common.divisor) > 2; next = smaller(common)) common = next;
  return shown.map((v) => {
    if (v === 0) return '0';
    const { divisor, prefix } = how.log ? scaleOf(v, v, how) : common;
    const places = decimals(step / divisor);
    const text = how.log || places > 6 ? digits(v / divisor) : fixed(v / divisor, places);
    return text + (prefix ? ' ' + prefix : '');
  });
}

// Beside an axis there is no room for two long parts: 550 d, not 1 y 185 d.
function durations(ticks, step) {
  const labels = ticks.map((v) => (v ? duration(v) : '0'));
  if (labels.every((l) => l.length < 9)) return labels;
  const [length, unit] = Math.max(...ticks.map(Math.abs)) >= 2 * day ? [day, 'd'] : [hour, 'h'];
  return ticks.map((v) => (v ? `${fixed(v / length, Math.min(2, decimals(step / length)))}\u202f${unit}` : '0'));
}

function decimals(step) {
  for (let places = 0; places < 7; places++) {
    const scaled = step * 10 ** places;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * Math.max(1, scaled)) return places;
  }
  return 7;
}

const minute = 60, hour = 3600, day = 86400;
const steps = [
  1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
  hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day,
];
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/**
 * Times at round hours, days, months of the reader's time zone, about `wanted` of them. A tick that
 * begins a larger unit (a day among hours, a year among months) is `major` and says that unit.
 * @param {number} from seconds @param {number} to seconds @param {number} wanted
 * @returns {{time: number, label: string, major: boolean}[]}
 */
export function timeTicks(from, to, wanted) {
  if (!(to > from) || wanted < 1) return [];
  const least = (to - from) / wanted;
  const step = steps.find((s) => s >= least * 0.999);
  if (step && step < day) return withinDays(from, to, step);
  if (least <= 7 * day * 1.001) return days(from, to, least);
  return monthTicks(from, to, least);
}

function withinDays(from, to, step) {
  const ticks = [];
  const d = wall(from);
  // Counted from midnight, local time, so that a change to summer time moves only its own day.
  for (let guard = 0; guard < 400; guard++) {
    const at = (days, s) => secondsOf(d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate() + days, 0, 0, s);
    if (at(guard, 0) > to) break;
    for (let s = 0; s < day; s += step) {
      const time = at(guard, s);
      if (time < from || time > to || time >= at(guard + 1, 0)) continue;
      if (ticks.length && ticks[ticks.length - 1].time >= time) continue;
      ticks.push(s === 0 ? { time, label: dayName(wall(time)), major: true } : { time, label: clock(wall(time), step), major: false });
    }
  }
  return ticks;
}

function days(from, to, least) {
  const every = least <= day * 1.001 ? 1 : least <= 2 * day ? 2 : 7;
  const ticks = [];
  const d = wall(from);
  for (let i = 0; i < 800; i++) {
    const time = secondsOf(d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate() + i), at = wall(time);
    if (time > to) break;
    if (time < from) continue;
    if (every === 7 && at.getUTCDay() !== 1) continue; // weeks begin on Monday
    if (every === 2 && at.getUTCDate() % 2 === 0) continue;
    if (every === 2 && at.getUTCDate() === 31) continue;
    const major = at.getUTCDate() === 1;
    ticks.push({ time, label: major ? months[at.getUTCMonth()] : every === 7 ? `${at.getUTCDate()} ${months[at.getUTCMonth()]}` : dayName(at), major });
  }
  return ticks;
}

function monthTicks(from, to, least) {
  const every = [1, 2, 3, 6, 12, 24, 60, 120].find((n) => n * 30.5 * day >= least * 0.999) || 240;
  const ticks = [];
  const d = wall(from);
  const first = Math.floor((d.getUTCFullYear() * 12 + d.getUTCMonth()) / every) * every;
  for (let m = first; ticks.length < 100; m += every) {
    const time = secondsOf(Math.floor(m / 12), m % 12), at = wall(time);
    if (time > to) break;
    if (time < from) continue;
    const major = m % 12 === 0;
    ticks.push({ time, label: major ? String(at.getUTCFullYear()) : months[at.getUTCMonth()], major });
  }
  return ticks;
}

const two = (n) => String(n).padStart(2, '0');
const dayName = (d) => `${weekdays[d.getUTCDay()]} ${d.getUTCDate()}`;

function clock(d, step) {
  const text = `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}`;
  return step < minute ? `${text}:${two(d.getUTCSeconds())}` : text;
}
