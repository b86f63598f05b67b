// PromQL: results over a range as lines of a chart, and what may stand at the cursor.

import { RPCError } from './rpc.js';

/** The series of one expression that a chart shows. */
export const mostSeries = 20;
const mostAsked = 200; // of a result: the greatest of them are shown
const nice = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200];

/**
 * @typedef {{labels: Object<string, string>, start: number, step: number, values: Float64Array, query: string}} Series
 * @typedef {{series: Series[], note: string, error: string}} Result note: what is left out, and warnings of the server
 */

/** Asks Prometheus' API. @param {string} what 'query_range' @param {Object<string, any>} params @param {AbortSignal} signal */
export async function ask(what, params, signal) {
  const body = new URLSearchParams(Object.entries(params).flatMap(([k, v]) => [v].flat().map((x) => [k, String(x)])));
  let response, said = {};
  try {
    response = await fetch(`/api/v1/${what}?${body}`, { signal });
    said = await response.json();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new RPCError('unavailable', response ? `the server answers ${response.status}` : 'the server does not answer');
  }
  if (said.status !== 'success') throw new RPCError(said.errorType || 'internal', said.error || `the server answers ${response.status}`);
  return said;
}

/** The seconds from one time to the next: a round number, not more than points of them in the range. */
export function stepOf(seconds, points) {
  const least = seconds / points;
  return nice.find((n) => n >= least) || Math.ceil(least / 86400) * 86400;
}

/**
 * Evaluates an expression over a range. Times are multiples of the step, so that a range that moves on
 * keeps its values. `$__interval` and `$__rate_interval` mean what they do in Grafana.
 * @param {string} expr @param {{from: number, to: number}} range @param {number} points @param {AbortSignal} signal
 * @returns {Promise<Result>} with an error in it if the server refuses
 */
export async function queryRange(expr, { from, to }, points, signal) {
  if (!expr.trim()) return { series: [], note: '', error: '' };
  const step = stepOf(to - from, points);
  const start = Math.ceil(from / step) * step, end = Math.max(start, Math.floor(to / step) * step);
  const query = expr.replaceAll('$__rate_interval', `${Math.max(60, 4 * step)}s`).replaceAll('$__interval', `${step}s`);
  let said;
  try {
    said = await ask('query_range', { query, start, end, step, limit: mostAsked }, signal);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return { series: [], note: '', error: error.message.replace(/^invalid parameter "query": /, '') };
  }
  const { resultType, result } = said.data;
  if (resultType !== 'matrix') return { series: [], note: '', error: `a chart cannot show a ${resultType}` };
  return { ...shownOf(result.map((r) => ({ ...seriesOf(r, start, end, step), query })), said.warnings || []), error: '' };
}

// A value is of its time and the step before it, as the row of an archive is.
function seriesOf({ metric, values }, start, end, step) {
  const out = new Float64Array(Math.round((end - start) / step) + 1).fill(NaN);
  for (const [at, text] of values) out[Math.round((at - start) / step)] = text === '+Inf' ? Infinity : text === '-Inf' ? -Infinity : Number(text);
  return { labels: metric, start: start - step, step, values: out };
}

/** The series that are shown, in the order of the result, and what is said of the others. */
export function shownOf(series, warnings = []) {
  const notes = warnings.filter((w) => !/truncated|limit/i.test(w)), cut = notes.length < warnings.length;
  if (!series.length) notes.unshift('No series in this range.');
  if (series.length <= mostSeries && !cut) return { series, note: notes.join(' ') };
  const last = (s) => s.values.findLast((v) => !Number.isNaN(v)) ?? -Infinity;
  const kept = new Set([...series].sort((a, b) => last(b) - last(a)).slice(0, mostSeries));
  notes.unshift(cut ? `The first ${series.length} series are read and ${kept.size} of them shown; there are more: topk(${mostSeries}, …) or sum by (…) (…) chooses.`
    : `${kept.size} of ${series.length} series are shown: the greatest last values.`);
  return { series: series.filter((s) => kept.has(s)), note: notes.join(' ') };
}

const units = new Map(); // by metric
const keeps = new Set('sum avg min max topk bottomk quantile abs clamp clamp_min clamp_max avg_over_time min_over_time max_over_time last_over_time quantile_over_time sort sort_desc'.split(' '));
const rates = new Set(['rate', 'irate', 'deriv']);

/** The metric of an expression whose values have its unit, or that a second: null where that is not sure. */
export function measured(expr) {
  const bare = expr.replaceAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\{[^{}]*\}|\[[^\]]*\]/g, ' ').replaceAll(/\b(?:by|without)\s*\([^()]*\)/g, ' ');
  if (/[-+*/%^<>=]|\b(?:and|or|unless|on|ignoring|bool|offset)\b/.test(bare)) return null;
  const called = [...bare.matchAll(/([A-Za-z_]\w*)\s*\(/g)].map((m) => m[1]);
  const metrics = [...bare.matchAll(/[A-Za-z_:][\w:]*(?!\s*\(|[\w:])/g)].map((m) => m[0]);
  if (metrics.length !== 1 || !called.every((f) => keeps.has(f) || rates.has(f))) return null;
  return { metric: metrics[0], rate: called.some((f) => rates.has(f)) };
}

/** The unit of an expression's values, as metadata has it; '' if that is not known. */
export async function unitOf(expr, signal) {
  const of = measured(expr);
  if (!of) return '';
  if (!units.has(of.metric)) units.set(of.metric, ask('metadata', { metric: of.metric, limit_per_metric: 1 }, signal).then((said) => said.data[of.metric]?.[0]?.unit || ''));
  try {
    const unit = await units.get(of.metric);
    return unit && of.rate ? `${unit}/s` : unit;
  } catch {
    units.delete(of.metric);
    return '';
  }
}

/** Functions, aggregations and words between expressions that completion offers. */
export const functions = ('abs absent absent_over_time avg avg_over_time bottomk ceil changes clamp clamp_max clamp_min count count_over_time count_values delta deriv exp floor group '
  + 'histogram_quantile hour idelta increase irate label_join label_replace last_over_time ln log10 log2 max max_over_time min min_over_time minute predict_linear '
  + 'quantile quantile_over_time rate resets round scalar sgn sort sort_desc sqrt stddev stddev_over_time stdvar sum sum_over_time time timestamp topk vector').split(' ');

/**
 * What may stand at a place of an expression.
 * @param {string} text @param {number} at the cursor
 * @returns {{kind: 'name'|'label'|'value'|'range', from: number, prefix: string, metric: string, label?: string, matcher?: boolean}|null}
 *   matcher: the label is to be compared
 */
export function place(text, at) {
  const left = text.slice(0, at);
  let quote = '', opened = -1, brace = -1, range = -1;
  for (let i = 0; i < left.length; i++) {
    const c = left[i];
    if (quote) {
      if (c === '\\' && quote !== '`') i++;
      else if (c === quote) quote = '';
    } else if (/["'`]/.test(c)) {
      quote = c;
      opened = i;
    } else if (c === '{') brace = i;
    else if (c === '}') brace = -1;
    else if (c === '[') range = i;
    else if (c === ']') range = -1;
  }
  const metric = brace >= 0 ? /([A-Za-z_:][\w:]*)?\s*$/.exec(left.slice(0, brace))[1] || '' : '';
  if (quote) {
    const label = brace >= 0 && /([A-Za-z_]\w*)\s*(?:=~|!~|!=|=)\s*$/.exec(left.slice(0, opened));
    return label ? { kind: 'value', from: opened + 1, prefix: left.slice(opened + 1), metric, label: label[1] } : null;
  }
  const of = (kind, pattern, m) => {
    const prefix = pattern.exec(left)[0];
    return { kind, from: at - prefix.length, prefix, metric: m };
  };
  if (range >= 0) return of('range', /[\w$]*$/, '');
  const grouped = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([\w\s,]*$/.test(left);
  if (grouped) return of('label', /\w*$/, /^[^)]*\)\s*\(\s*(?:\w+\s*\(\s*)*([A-Za-z_:][\w:]*)/.exec(text.slice(at))?.[1] || '');
  if (brace >= 0) return /[{,]\s*\w*$/.test(left) ? { ...of('label', /\w*$/, metric), matcher: !/^\s*(?:=|!)/.test(text.slice(at)) } : null;
  const name = of('name', /[A-Za-z_:][\w:]*$|$/, '');
  return /[\w:.$]$/.test(left.slice(0, name.from)) ? null : name;
}
