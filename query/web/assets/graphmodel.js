// A graph as the workbench changes it: read from arguments of rrdgraph, and written as such.

import { guard, isElement, isOption, parts } from './graphlang.js';
import { printed, recipeColour } from './theme.js';

/**
 * @typedef {{name: string, path: string, ds: string, cf: string, more: string[]}} Series a DEF
 * @typedef {{name: string, kind: 'CDEF'|'VDEF', rpn: string}} Expression
 * @typedef {{name: string, expr: string}} Query an expression of PromQL, with a line for each series of its result
 * @typedef {object} Draw
 * @property {string} ref the variable, or a number
 * @property {'line'|'area'} style @property {string} width of a line, '1.5'
 * @property {string} colour '#2264d1', or '' @property {string} label
 * @property {string} tail markers at the end of the legend: '\\l'
 * @property {boolean} stack @property {boolean} right on the second axis
 * @property {string[]} more what else stands behind the legend
 * @typedef {object} Model
 * @property {string} title @property {string} unit @property {boolean} log @property {1000|1024} base
 * @property {number} [lower] @property {number} [upper]
 * @property {{scale: number, unit: string}|null} right the second axis, whose values are the first axis' values times scale
 * @property {Series[]} series @property {Expression[]} expressions @property {Query[]} queries @property {Draw[]} draws
 * @property {string[]} options others, as they were @property {string[]} rest other elements, as they were
 * @property {boolean} whole a chart can show everything that is drawn
 */

const named = {
  '-t': 'title', '--title': 'title', '-v': 'unit', '--vertical-label': 'unit', '-o': 'log', '--logarithmic': 'log', '-b': 'base', '--base': 'base',
  '-l': 'lower', '--lower-limit': 'lower', '-u': 'upper', '--upper-limit': 'upper', '--right-axis': 'right', '--right-axis-label': 'rightUnit',
};
const placed = new Set(['-s', '--start', '-e', '--end', '-w', '--width', '-h', '--height']); // the page chooses

/** A model without anything. @returns {Model} */
export function emptyModel() {
  return { title: '', unit: '', log: false, base: 1000, right: null, series: [], expressions: [], queries: [], draws: [], options: [], rest: [], whole: true };
}

/** Reads arguments of rrdgraph. What is not understood is kept in options and rest. @param {string[]} args @returns {Model} */
export function readGraph(args) {
  const m = emptyModel();
  let rightUnit = '';
  for (let i = 0; i < args.length; i++) {
    if (!isOption(args[i])) {
      readElement(m, args[i]);
      continue;
    }
    const [name, inline] = cut(args[i], '=');
    let value = inline;
    const flag = named[name] === 'log';
    if (value === undefined && !flag && i + 1 < args.length && !isElement(args[i + 1]) && !isOption(args[i + 1], true)) value = args[++i];
    if (placed.has(name)) continue;
    const known = named[name];
    if (known === 'log') m.log = true;
    else if (known === 'right') m.right = { scale: Number((value || '').split(':')[0]) || 1, unit: '' };
    else if (known === 'rightUnit') rightUnit = value || '';
    else if (known === 'base') m.base = Number(value) === 1024 ? 1024 : 1000;
    else if (known === 'lower' || known === 'upper') m[known] = Number(value);
    else if (known) m[known] = value || '';
    else m.options.push(...(value === undefined ? [name] : inline === undefined ? [name, value] : [args[i]]));
  }
  if (m.right) m.right.unit = rightUnit;
  findRight(m);
  return m;
}

function cut(text, at) {
  const i = text.indexOf(at);
  return i < 0 ? [text, undefined] : [text.slice(0, i), text.slice(i + 1)];
}

function readElement(m, arg) {
  const [what] = cut(arg, ':');
  const rest = arg.slice(what.length + 1);
  const line = /^LINE([\d.]*)$/.exec(what);
  if (what === 'DEF') {
    const [name, from] = cut(rest, '=');
    const [path, ds, cf, ...more] = parts(from || '');
    m.series.push({ name, path: path.replace(/^\//, ''), ds: ds || '', cf: cf || 'AVERAGE', more });
  } else if (what === 'CDEF' || what === 'VDEF') {
    const [name, rpn] = cut(rest, '=');
    m.expressions.push({ name, kind: what, rpn: rpn || '' });
  } else if (what === 'PROMQL') {
    const [name, expr] = cut(rest, '=');
    m.queries.push({ name, expr: expr || '' });
  } else if (line || what === 'AREA') {
    readDraw(m, line ? 'line' : 'area', line ? line[1] || '1' : '', rest);
  } else if (what === 'STACK') {
    readDraw(m, 'area', '', rest);
    m.draws.at(-1).stack = true;
  } else {
    if (!/^(G?PRINT|COMMENT|TEXTALIGN)$/.test(what)) m.whole = false;
    m.rest.push(arg);
  }
}

function readDraw(m, style, width, text) {
  const [value, legend = '', ...more] = parts(text);
  const [, ref, colour] = /^([^#]*)(#.*)?$/.exec(value);
  const [, label, tail] = /^(.*?)((?:\\[lrcjgsnu])*)$/s.exec(legend);
  const others = more.filter((x) => x !== 'STACK');
  const gradient = (colour || '').indexOf('#', 1) > 0;
  m.whole &&= !gradient && others.every((x) => x === 'skipscale');
  m.draws.push({ ref, style, width, colour: colour || '', label, tail, stack: more.includes('STACK'), right: false, more: others });
}

// A line of the second axis draws x,scale,/ in place of x.
function findRight(m) {
  if (!m.right) return;
  for (const d of m.draws) {
    const e = m.expressions.find((x) => x.name === d.ref);
    const match = e && /^([^,]+),([^,]+),\/$/.exec(e.rpn);
    if (!match || !e.name.endsWith('_right') || Number(match[2]) !== m.right.scale) continue;
    d.ref = match[1];
    d.right = true;
  }
  m.expressions = m.expressions.filter((e) => !e.name.endsWith('_right'));
}

/** Writes a model as arguments of rrdgraph. @param {Model} m @returns {string[]} */
export function writeGraph(m) {
  const out = [];
  const option = (name, value) => { if (value !== '' && value !== undefined && !Number.isNaN(value)) out.push(name, String(value)); };
  option('--title', m.title);
  option('--vertical-label', m.unit);
  if (m.log) out.push('--logarithmic');
  if (m.base === 1024) out.push('--base', '1024');
  option('--lower-limit', m.lower);
  option('--upper-limit', m.upper);
  const right = m.draws.some((d) => d.right);
  const scale = m.right?.scale || 1;
  if (right) {
    out.push('--right-axis', `${scale}:0`);
    option('--right-axis-label', m.right?.unit || '');
  }
  out.push(...m.options);
  for (const s of m.series) out.push([`DEF:${s.name}=${guard(s.path)}`, guard(s.ds), s.cf, ...s.more.map(guard)].join(':'));
  for (const e of m.expressions) out.push(`${e.kind}:${e.name}=${e.rpn}`);
  for (const q of m.queries) out.push(`PROMQL:${q.name}=${q.expr}`);
  const made = new Set();
  for (const d of m.draws) {
    if (d.right && !made.has(d.ref)) out.push(`CDEF:${d.ref}_right=${d.ref},${scale},/`);
    if (d.right) made.add(d.ref);
    const head = d.style === 'area' ? 'AREA' : `LINE${d.width}`;
    const behind = [...(d.stack ? ['STACK'] : []), ...d.more];
    const legend = guard(d.label) + d.tail;
    out.push(`${head}:${d.ref}${d.right ? '_right' : ''}${d.colour}${legend || behind.length ? ':' + legend : ''}${behind.map((x) => ':' + x).join('')}`);
  }
  return [...out, ...m.rest];
}

/** The query that a draw draws, or undefined. @param {Model} m @param {Draw} d @returns {Query|undefined} */
export const queryOf = (m, d) => m.queries.find((q) => q.name === d.ref);

/**
 * Arguments that ask for the values of all that is drawn but PromQL; none if that is all.
 * @param {Model} m @param {number} step the wished seconds a row
 */
export function dataArgs(m, step) {
  const out = [];
  for (const s of m.series) {
    const more = s.more.some((x) => x.startsWith('step=')) ? s.more : [...s.more, `step=${Math.max(1, Math.floor(step))}`];
    out.push([`DEF:${s.name}=${guard(s.path)}`, guard(s.ds), s.cf, ...more.map(guard)].join(':'));
  }
  for (const e of m.expressions) out.push(`${e.kind}:${e.name}=${e.rpn}`);
  const draws = m.draws.filter((d) => !queryOf(m, d));
  draws.forEach((d, i) => out.push(`LINE1:${d.ref}#000000:d${i}`));
  return draws.length ? out : [];
}

/**
 * The lines of a chart, of an answer to dataArgs and of results of PromQL. A line with a colour of the
 * printed palette has the same place in the page's palette; more lines of a result take the palette's
 * other colours.
 * @param {Model} m @param {{meta: {step: number}, data: (number|null)[][]}|null} answer
 * @param {Map<string, import('./promql.js').Result>} [results] by names of queries
 * @returns {import('./chart.js').Line[]}
 */
export function chartLines(m, answer, results = new Map()) {
  const step = answer?.meta.step || 1;
  const start = answer?.data.length ? answer.data[0][0] - step : 0; // a row's time is its end
  const used = new Set();
  let below = null, column = 0; // what a line with STACK stands on; areas are stacked by the chart
  return m.draws.flatMap((d) => {
    if (queryOf(m, d)) return resultLines(d, results.get(d.ref), used);
    if (!answer) return [];
    const at = ++column;
    let values = Float64Array.from(answer.data, (row) => row[at] ?? NaN);
    const height = d.stack && below ? values.map((v, k) => v + (Number.isNaN(below[k]) ? 0 : below[k])) : values;
    const stands = height !== values; // on another line
    if (d.stack && d.style === 'line') values = height;
    below = height;
    return lineOf(d, { label: d.label.trim() || d.ref, start, step, values, ...sourceOf(m, d, stands) }, used);
  });
}

// What a line reads: the series that it draws, or the first that its expression names.
function sourceOf(m, d, stands) {
  const plain = m.series.find((s) => s.name === d.ref), words = m.expressions.find((e) => e.name === d.ref)?.rpn.split(',') || [];
  const { path, ds } = plain || m.series.find((s) => words.includes(s.name)) || {};
  return { path, ds, scale: plain && !stands ? [1, 0] : undefined };
}

function lineOf(d, { label: wish, ...rest }, used, k = 0) {
  let label = wish;
  for (let n = 2; used.has(label); n++) label = `${wish} (${n})`;
  used.add(label);
  const place = printed.indexOf(d.colour.slice(0, 7).toLowerCase());
  const restart = d.style === 'area' && !d.stack && k === 0; // as rrdgraph: an AREA without STACK stands on zero
  const recipe = recipeColour(d.colour) === undefined ? undefined : recipeColour(d.colour, label);
  const color = k > 0 ? Math.max(0, place) + k : place >= 0 ? place : recipe ?? (d.colour.slice(0, 9) || undefined);
  return { label, ...rest, style: d.style, restart, axis: d.right ? 'right' : 'left', color };
}

// What a line of PromQL shows, as the server is asked about alerts.
const askedOf = ({ query, labels }) => ({ query, labels: Object.entries(labels).map(([name, value]) => ({ name, value })) });

function resultLines(d, result, used) {
  return (result?.series || []).map((s, k) => lineOf(d, { label: legendOf(d.label, s, result.series, d.ref), start: s.start, step: s.step, values: s.values, ...askedOf(s), scale: [1, 0] }, used, k));
}

/**
 * The legend of a series of a result: the text with {{label}} replaced; without a text, the labels that
 * distinguish it from the others.
 */
export function legendOf(text, series, all, name) {
  if (text.includes('{{')) return text.replaceAll(/\{\{\s*([\w.]+)\s*\}\}/g, (_, label) => series.labels[label] ?? '').trim() || name;
  const own = Object.entries(series.labels).filter(([key, value]) => key !== '__name__' && all.some((o) => o.labels[key] !== value));
  const words = own.length === 1 ? own[0][1] : own.map(([key, value]) => `${key} ${value}`).join(', ');
  if (all.length === 1) return text.trim() || series.labels.__name__ || name;
  return [text.trim(), words || series.labels.__name__ || ''].filter(Boolean).join(' ') || name;
}

/** What the COMMENTs of a graph say. @param {Model} m */
export const commentsOf = (m) => m.rest.filter((x) => x.startsWith('COMMENT:')).map((x) => parts(x)[1].replace(/(\\[lrcjgsnu])+$/, '').trim()).filter(Boolean).join(' ');

/** A colour that no line has yet. @param {Model} m */
export function freeColour(m) {
  const used = new Set(m.draws.map((d) => d.colour.slice(0, 7).toLowerCase()));
  return printed.find((c) => !used.has(c)) || printed[m.draws.length % printed.length];
}

/** A scale for the second axis: 1, 2 or 5 times a power of ten. @param {number} left @param {number} right greatest values */
export function niceScale(left, right) {
  const ratio = right / left;
  if (!(ratio > 0) || !Number.isFinite(ratio)) return 1;
  const power = 10 ** Math.floor(Math.log10(ratio));
  const nice = [1, 2, 5, 10].find((n) => n * power >= ratio * 0.999) * power;
  return Number(nice.toPrecision(1));
}
