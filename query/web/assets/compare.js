// What a chart showed before: the lines of another range, put below those of now.

import { comparisons, shiftOf } from './state.js';

/** The lines of before, of one chart. They are fetched anew when the range has moved by a few pixels. */
export class Before {
  #chart; #key = ''; #from = 0; #shift = 0; #words = '';

  /** @param {import('./chart.js').Chart} chart */
  constructor(chart) { this.#chart = chart; }

  /**
   * The range to fetch, or null if there is nothing to do.
   * @param {{from: number, to: number, compare?: string}} range @returns {{from: number, to: number}|null}
   */
  wants(range) {
    const { from, to, compare } = range;
    if (!compare) {
      if (this.#key) this.#chart.setBefore(null);
      this.#key = '';
      return null;
    }
    const key = `${compare} ${Math.round(to - from)}`, slack = Math.max(30, (to - from) / 100);
    if (key === this.#key && Math.abs(from - this.#from) < slack) return null;
    [this.#key, this.#from, this.#shift] = [key, from, shiftOf(range, compare)];
    this.#words = comparisons.find((c) => c.name === compare).words;
    return { from: from - this.#shift, to: to - this.#shift + slack };
  }

  /** Shows what was fetched. @param {import('./chart.js').Line[]} lines */
  take(lines) {
    if (!this.#key) return;
    const shift = this.#shift;
    this.#chart.setBefore({ words: this.#words, lines: lines.map((l) => ({ ...l, start: l.start + shift, end: l.end && l.end + shift })) });
  }

  /** The fetch has failed: the next look tries again. */
  fail() { this.#key = ''; }
}
