// The table behind a chart.

import { rightOf, seen, valueAt, within } from './data.js';

/**
 * What a chart shows, as rows: one for each step of the finest line.
 * @param {import('../chart.js').Line[]} lines
 * @returns {{columns: string[], rows: number[][], step: number}} rows of [seconds, value, …]; a row's time is
 *   where its values end, as with rrdtool
 */
export function table(lines, from, to) {
  const finest = lines.filter((l) => seen(l).length).sort((a, b) => a.step - b.step)[0];
  const columns = ['Time', ...lines.map((l) => l.label)];
  if (!finest) return { columns, rows: [], step: 1 };
  const rows = [];
  const values = lines.map(seen);
  const [first, last] = within(finest, from, to, seen(finest).length);
  for (let i = first; i <= last; i++) {
    const middle = finest.start + (i + 0.5) * finest.step;
    rows.push([rightOf(finest, i), ...values.map((v, k) => valueAt(lines[k], middle, v))]);
  }
  return { columns, rows, step: finest.step };
}
