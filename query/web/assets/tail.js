// Rows that follow what comes in: the whole range once, then only what is new.

import { fetchMany } from './data.js';

const late = 20; // rows in which a series may be silent before only its return is noticed

/**
 * Fetches as fetchMany of data.js does. While a live range moves on, it asks for the rows behind the
 * last known one, and puts them to those that it has.
 */
export class Tail {
  #kept = new Map(); #length = 0;

  /**
   * @param {import('./data.js').Selection[]} select
   * @param {{from: number, to: number, live?: boolean}} range @param {number} points @param {AbortSignal} [signal]
   * @returns {Promise<(import('./data.js').Rows|Error)[]>} in the order of select
   */
  async fetch(select, range, points, signal) {
    const length = range.live ? Math.round(range.to - range.from) : 0;
    if (length !== this.#length) this.#kept.clear();
    this.#length = length;
    const keys = select.map((s) => JSON.stringify([s.path, s.cf, s.ds, points]));
    const kept = keys.map((key) => this.#use(key, range));
    const result = new Array(select.length);
    const ask = async (places, after) => {
      if (!places.length) return;
      const rows = await fetchMany(places.map((i) => select[i]), { ...range, points, after }, signal);
      places.forEach((i, k) => { result[i] = after ? joined(kept[i], rows[k], range.from, after) : rows[k]; });
    };
    const all = keys.map((_, i) => i), known = all.filter((i) => kept[i]);
    await Promise.all([ask(all.filter((i) => !kept[i])), ask(known, Math.min(...known.map((i) => open(kept[i]))))]);
    await ask(all.filter((i) => !result[i])); // what does not fit together is fetched anew
    if (length && length === this.#length) keys.forEach((key, i) => this.#keep(key, result[i]));
    return result;
  }

  #use(key, { from, to }) {
    const rows = this.#kept.get(key);
    return rows && from >= rows.start && to - endOf(rows) < (to - from) / 2 ? rows : null;
  }

  #keep(key, rows) {
    if (rows instanceof Error) this.#kept.delete(key);
    else this.#kept.set(key, rows);
  }
}

const endOf = (rows) => rows.start + rows.step * lengthOf(rows);
const lengthOf = ({ columns }) => columns.values().next().value?.length ?? 0;

// lastKnown gives the beginning of the newest row that has a value. A row with any value is complete,
// but several rows put together as one may still be filled.
function lastKnown(rows) {
  for (let i = lengthOf(rows) - 1; i >= 0; i--) {
    for (const values of rows.columns.values()) if (!Number.isNaN(values[i])) return rows.start + i * rows.step;
  }
  return rows.start;
}

// open gives the time from which on rows may still change.
const open = (rows) => Math.max(lastKnown(rows), endOf(rows) - late * rows.step);

/**
 * Rows and those behind them as one, without what is before a time; undefined if they do not fit
 * together.
 * @param {import('./data.js').Rows} old @param {import('./data.js').Rows|Error} more the rows that end after a time
 * @param {number} from what is before it is dropped @param {number} after seconds
 */
export function joined(old, more, from, after) {
  if (more instanceof Error || more.step !== old.step || more.columns.size !== old.columns.size) return undefined;
  const at = (more.start - old.start) / old.step;
  if (!Number.isInteger(at) || at < 0 || at > lengthOf(old)) return undefined;
  // A sender that comes back may fill the rows in which it was silent.
  if (lastKnown(old) < after - old.step && lastKnown(more) > more.start) return undefined;
  const drop = Math.min(at, Math.max(0, Math.floor((from - old.start) / old.step)));
  const columns = new Map();
  for (const [ds, values] of old.columns) {
    const rest = more.columns.get(ds);
    if (!rest) return undefined;
    const all = new Float64Array(at - drop + rest.length);
    all.set(values.subarray(drop, at));
    all.set(rest, at - drop);
    columns.set(ds, all);
  }
  return { start: old.start + drop * old.step, step: old.step, end: Math.max(old.end, more.end), columns };
}
