// Rows for charts: what several charts want at one moment goes to the server in one FetchMany.

import { within } from './chart/data.js';
import { call, callNow, floats, num, RPCError } from './rpc.js';
import { recipeColour } from './theme.js';

/** The selections that one request takes. */
export const most = 200;

/**
 * @typedef {{path: string, ds?: string[], cf: string}} Selection
 * @typedef {{start: number, step: number, end: number, columns: Map<string, Float64Array>}} Rows the last row ends at end
 */

/** Rows of an answer. @param {object} rows a FetchResponse @returns {Rows} */
export function readRows(rows) {
  return {
    start: num(rows.start), step: num(rows.step), end: num(rows.end),
    columns: new Map((rows.columns || []).map((c) => [c.ds, floats(c.values)])),
  };
}

/**
 * Fetches rows of many series with as few requests as the limit allows.
 * @param {Selection[]} select
 * @param {{from: number, to: number, points?: number, after?: number}} range seconds; points wanted a line; only
 *   rows that end later than after
 * @param {AbortSignal} [signal]
 * @returns {Promise<(Rows|RPCError)[]>} in the order of select; an error where one series has no such rows
 */
export async function fetchMany(select, range, signal) {
  const parts = partsOf(select, range);
  return results(parts, await Promise.all(parts.map((part) => call('FetchMany', part, signal))));
}

/** The same at once, for a page that is being printed. @returns {(Rows|RPCError)[]} */
export function fetchNow(select, range) {
  const parts = partsOf(select, range);
  return results(parts, parts.map((part) => callNow('FetchMany', part) || {}));
}

function partsOf(select, { from, to, points = 400, after }) {
  const parts = [];
  const range = { start: String(Math.floor(from)), end: String(Math.ceil(to)), maxPoints: Math.round(points), after: after ? String(Math.floor(after)) : undefined };
  for (let i = 0; i < select.length; i += most) parts.push({ select: select.slice(i, i + most), ...range });
  return parts;
}

function results(parts, answers) {
  return answers.flatMap((answer, i) => parts[i].select.map((_, j) => {
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
    for (const one of [line, ...(line.sum || [])]) {
      for (const cf of new Set(one === line ? [line.cf || 'AVERAGE', line.maxCf, line.minCf] : [line.cf || 'AVERAGE'])) {
        if (!cf) continue;
        const key = selectionKey(one.path, cf);
        if (!found.has(key)) found.set(key, { path: one.path, ds: [], cf });
        const { ds } = found.get(key);
        if (!ds.includes(one.ds)) ds.push(one.ds);
      }
    }
  }
  return [...found.values()];
}

/** A key that differs between selections. */
export function selectionKey(path, cf) {
  return `${cf} ${path}`;
}

/**
 * The lines of such a chart.
 * @param {object} chart @param {(key: string) => Rows|Error|undefined} rows by selectionKey
 * @returns {import('./chart.js').Line[]} without those that have no rows
 */
export function linesOf(chart, rows) {
  const lines = [];
  const labels = new Set();
  for (const of of chart.lines || []) {
    const all = [of, ...(of.sum || [])].map((one) => take(one, of.cf || 'AVERAGE', rows)).filter(Boolean);
    if (!all.length) continue;
    const main = all.length > 1 ? total(all) : all[0];
    let max = take(of, of.maxCf, rows), min = take(of, of.minCf, rows);
    if (!fits(max, main) || !fits(min, main) || chart.stack) max = min = null;
    if (of.factor < 0) [min, max] = [max, min];
    let label = of.label || of.ds;
    if (labels.has(label)) label = `${of.path} ${of.ds}`;
    labels.add(label);
    lines.push({
      label, style: of.style === 'area' ? 'area' : 'line', ...main, min: min?.values, max: max?.values,
      color: recipeColour(of.color, of.label), mirror: of.factor < 0, restart: Boolean(of.restart), path: of.path, ds: of.ds, sum: Boolean(of.sum),
      scale: of.sum || chart.percent ? undefined : [of.factor ?? 1, of.offset ?? 0],
    });
  }
  return chart.percent ? shares(lines) : lines;
}

function take({ path, ds, factor = 1, offset = 0 }, cf, rows) {
  const r = cf && rows(selectionKey(path, cf));
  const values = r && r.columns && r.columns.get(ds);
  if (!values) return null;
  return { start: r.start, step: r.step, end: r.end, values: factor === 1 && offset === 0 ? values : values.map((v) => v * factor + offset) };
}

// total adds up the lines of several series, where one of them is known: some may have ended before others, or keep
// other rows. The longest step is the sum's.
function total(all) {
  const { start, step } = all.reduce((a, b) => (b.step > a.step ? b : a));
  const values = new Float64Array(Math.max(...all.map((l) => Math.ceil((l.start + l.values.length * l.step - start) / step)))).fill(NaN);
  for (const line of all) {
    for (let i = 0; i < values.length; i++) {
      const v = meanOf(line, start + i * step, step);
      if (!Number.isNaN(v)) values[i] = Number.isNaN(values[i]) ? v : values[i] + v;
    }
  }
  return { start, step, end: Math.max(...all.map((l) => l.end)), values };
}

// The mean of what is known of a line in a step.
function meanOf(line, from, step) {
  const [first, last] = within(line, from, from + step);
  let sum = 0, known = 0;
  for (let i = first; i <= last; i++) {
    if (Number.isNaN(line.values[i])) continue;
    sum += line.values[i];
    known++;
  }
  return sum / known;
}

const fits = (other, main) => Boolean(other) && other.start === main.start && other.step === main.step;

// shares turns values into percent of the sum of all lines at their time.
function shares(lines) {
  const sums = new Map();
  const at = (line, i) => line.start + i * line.step;
  for (const line of lines) {
    line.values.forEach((v, i) => { if (v > 0) sums.set(at(line, i), (sums.get(at(line, i)) || 0) + v); });
  }
  return lines.map((line) => ({ ...line, min: undefined, max: undefined, values: line.values.map((v, i) => v / (sums.get(at(line, i)) || NaN) * 100) }));
}
