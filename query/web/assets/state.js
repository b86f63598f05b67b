// The range of time, and how it stands in the address.

import { secondsOf, wall } from './clock.js';

/** A range as the reader chose it: `-1d` to `now`, or seconds since 1970 as text. */
export const ranges = [
  { key: '1', name: '1h', from: '-1h', words: 'the last hour' },
  { key: '2', name: '6h', from: '-6h', words: 'the last 6 hours' },
  { key: '3', name: '1d', from: '-1d', words: 'the last day' },
  { key: '4', name: '1w', from: '-1w', words: 'the last week' },
  { key: '5', name: '1M', from: '-31d', words: 'the last month' },
  { key: '6', name: '1y', from: '-1y', words: 'the last year' },
];

/** Further ranges. Both ends stand in the address; without `to` the range ends now. */
export const presets = [
  { words: '15 min', from: '-15min' }, { words: '1 h', from: '-1h' }, { words: '3 h', from: '-3h' }, { words: '6 h', from: '-6h' },
  { words: 'Today', from: 'midnight' }, { words: 'Yesterday', from: 'midnight-1d', to: 'midnight' }, { words: '24 h', from: '-1d' },
  { words: '7 d', from: '-1w' }, { words: 'This week', from: 'thisweek' }, { words: '30 d', from: '-30d' },
  { words: 'Previous month', from: 'lastmonth', to: 'thismonth' }, { words: '1 y', from: '-1y' },
];

/** What a chart may be compared with. */
export const comparisons = [
  { name: 'before', words: 'the period before' }, { name: 'day', words: 'yesterday' }, { name: 'week', words: 'last week' }, { name: 'year', words: 'last year' },
];

/**
 * How many seconds before a range the one lies that it is compared with: as many days or years ago at the same
 * time of the clock.
 * @param {{from: number, to: number}} range @param {string} name one of `comparisons`
 */
export function shiftOf({ from, to }, name) {
  if (name === 'before') return to - from;
  const d = wall(from), [years, days] = { day: [0, 1], week: [0, 7], year: [1, 0] }[name];
  return from - from % 1 - secondsOf(d.getUTCFullYear() - years, d.getUTCMonth(), d.getUTCDate() - days, d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds());
}

const lengths = { s: 1, sec: 1, min: 60, h: 3600 }; // of units that no calendar changes
const days = { d: 1, w: 7 };

/** The least and the greatest range that a page shows, in seconds. */
export const shortest = 10;
export const longest = 100 * 365 * 86400;

/**
 * The seconds that a text of the address means, as the command line reads it, or NaN. Known are `now`, `-90min`, `-1d`, `now-1d`, seconds
 * since 1970, and what `presets` names. Anything else is for the server only.
 * @param {string} text @param {number} now seconds
 */
export function seconds(text, now) {
  if (text === 'now' || text === '') return now;
  const d = wall(now), day = (month, date) => secondsOf(d.getUTCFullYear(), d.getUTCMonth() + month, date);
  if (text === 'midnight') return day(0, d.getUTCDate());
  if (text === 'midnight-1d') return day(0, d.getUTCDate() - 1);
  if (text === 'thisweek') return day(0, d.getUTCDate() - (d.getUTCDay() + 6) % 7);
  if (text === 'thismonth') return day(0, 1);
  if (text === 'lastmonth') return day(-1, 1);
  if (/^\d+(\.\d+)?$/.test(text) && !/^\d{8}$/.test(text)) return Number(text); // eight digits are a date
  const [, count, unit] = /^(?:now)?-(\d+)(s|sec|min|h|d|w|mon|M|y)$/.exec(text) || [];
  const length = unit && lengths[unit];
  if (!unit || length) return length ? now - count * length : NaN;
  // Days, months and years end at the same time of the clock.
  const back = days[unit] ? [0, 0, days[unit] * count] : unit === 'y' ? [count, 0, 0] : [0, count, 0];
  return now % 1 + secondsOf(d.getUTCFullYear() - back[0], d.getUTCMonth() - back[1], d.getUTCDate() - back[2], d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds());
}

/**
 * The range of an address. What is missing or wrong becomes the last day.
 * @param {URL} url @param {number} [now] seconds @param {string} [fallback] `-1d`
 * @returns {{from: number, to: number, live: boolean, name: string, compare: string, query: {from: string, to: string}}}
 *   from and to in seconds; live: it ends now and moves on; name: `1d` if it is one of `ranges`; compare: one of
 *   `comparisons`, or ''
 */
export function rangeOf(url, now = Date.now() / 1000, fallback = '-1d') {
  let query = { from: url.searchParams.get('from') || fallback, to: url.searchParams.get('to') || 'now' };
  let from = seconds(query.from, now), to = seconds(query.to, now);
  if (!(to - from >= shortest) || !(to - from <= longest)) {
    query = { from: fallback, to: 'now' };
    from = seconds(fallback, now);
    to = now;
  }
  const live = query.to === 'now';
  const known = live && ranges.find((r) => r.from === query.from);
  const compare = comparisons.find((c) => c.name === url.searchParams.get('compare'))?.name || '';
  return { from, to, live, name: known ? known.name : '', compare, query };
}

/**
 * The address of the same page with other parameters; null or '' takes one away.
 * @param {URL} url @param {Object<string, string|number|null>} changes
 * @returns {string} path and query
 */
export function withParams(url, changes) {
  const next = new URLSearchParams(url.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === '') next.delete(name);
    else next.set(name, String(value));
  }
  const query = next.toString();
  return url.pathname + (query ? '?' + query : '');
}

/** The parameters for a range in seconds; one that ends now stays live. */
export function rangeParams(from, to, now = Date.now() / 1000) {
  const length = Math.max(shortest, Math.round(to - from));
  if (to >= now - 1) return { from: `-${length}s`, to: null };
  const end = Math.round(to);
  return { from: end - length, to: end };
}

/** A range that is moved by a part of its length, and does not run into the future. */
export function moved({ from, to }, part, now = Date.now() / 1000) {
  const length = to - from;
  const end = Math.min(to + part * length, now);
  return { from: end - length, to: end };
}

/** A range that is factor times as long, around a time that stays where it is. */
export function zoomed({ from, to, live }, factor, around = live ? to : (from + to) / 2, now = Date.now() / 1000) {
  const length = Math.min(longest, Math.max(shortest, (to - from) * factor));
  const part = (around - from) / (to - from);
  const end = Math.min(now, around + (1 - part) * length);
  return { from: end - length, to: end };
}

/** The address of a host, or of any folder of paths. */
export function hostURL(path) {
  return '/host/' + path.split('/').map(encodeURIComponent).join('/');
}

/** The address of a series. */
export function seriesURL(path, ds) {
  const url = '/series/' + path.split('/').map(encodeURIComponent).join('/');
  return ds ? `${url}?ds=${encodeURIComponent(ds)}` : url;
}

/** The path that an address names behind `/host/` or `/series/`. */
export function pathOf(url, prefix) {
  const rest = url.pathname.slice(prefix.length);
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}

/**
 * The rows of a line that a chart as wide as the page asks for: about its width, which is not known
 * before it is shown. There are few such numbers, so that the server's page may come with the rows.
 */
export function points() {
  return [400, 800, 1200].find((n) => n >= innerWidth - 130) || 1600;
}

/** Says in a cookie how many rows the server's next page is to have. 1200 need none. */
export function rememberPoints() {
  document.cookie = `points=${points()}; path=/; max-age=${points() === 1200 ? 0 : 366 * 86400}; samesite=strict`;
}
