// Rows for charts: what several charts want at one moment goes to the server in one FetchMany.

import { call, floats, num, RPCError } from './rpc.js';

/** The selections that one request takes. */
export const most = 100;

/**
 * @typedef {{path: string, ds?: string, cf: string}} Selection
 * @typedef {{start: number, step: number, columns: Map<string, Float64Array>}} Rows
 */

/** Rows of an answer. @param {object} rows a FetchResponse @returns {Rows} */
export function readRows(rows) {
  return {
    start: num(rows.start), step: num(rows.step),
    columns: new Map((rows.columns || []).map((c) => [c.ds, floats(c.values)])),
  };
}

/**
 * Fetches rows of many series with as few requests as the limit allows.
 * @param {Selection[]} select
 * @param {{from: number, to: number, points?: number}} range seconds; points wanted a line
 * @param {AbortSignal} [signal]
 * @returns {Promise<(Rows|RPCError)[]>} in the order of select; an error where one series has no such rows
 */
export async function fetchMany(select, { from, to, points = 400 }, signal) {
  const parts = [];
  for (let i = 0; i < select.length; i += most) parts.push(select.slice(i, i + most));
  const range = { start: String(Math.floor(from)), end: String(Math.ceil(to)), maxPoints: Math.round(points) };
  const answers = await Promise.all(parts.map((part) => call('FetchMany', { select: part, ...range }, signal)));
  return answers.flatMap((answer, i) => parts[i].map((_, j) => {
    const result = answer.results?.[j] || {};
    return result.error ? new RPCError(result.code || 'unknown', result.error) : readRows(result.rows || {});
  }));
}

/**
 * The selections of a chart that the method Charts gives: one a series and consolidation function.
 * @param {object} chart @returns {Selection[]}
 */
export function selectionsOf(chart) {
  const found = new Map();
  for (const line of chart.lines || []) {
    for (const cf of [line.cf || 'AVERAGE', line.maxCf, line.minCf]) {
      if (cf) found.set(`${cf} ${line.path}`, { path: line.path, cf });
    }
  }
  return [...found.values()];
}

/**
 * The lines of such a chart.
 * @param {object} chart @param {(selection: Selection) => Rows|Error|undefined} rows
 * @returns {import('./chart.js').Line[]} without those that have no rows
 */
export function linesOf(chart, rows) {
  const lines = [];
  for (const of of chart.lines || []) {
    const factor = of.factor ?? 1, offset = of.offset ?? 0;
    const take = (cf) => {
      const r = cf && rows({ path: of.path, cf });
      const values = r && r.columns && r.columns.get(of.ds);
      if (!values) return null;
      return { start: r.start, step: r.step, values: factor === 1 && offset === 0 ? values : values.map((v) => v * factor + offset) };
    };
    const main = take(of.cf || 'AVERAGE');
    if (!main) continue;
    let max = take(of.maxCf), min = take(of.minCf);
    const fits = (other) => other && other.start === main.start && other.step === main.step;
    if (!fits(max)) max = fits(min) ? main : null;
    if (!fits(min)) min = max ? main : null;
    if (factor < 0) [min, max] = [max, min];
    lines.push({
      label: of.label || of.ds, style: of.style || 'line', start: main.start, step: main.step, values: main.values,
      min: min?.values, max: max?.values, mirror: factor < 0, path: of.path, ds: of.ds,
    });
  }
  return lines;
}
