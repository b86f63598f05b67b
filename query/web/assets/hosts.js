// Graphs of one host as graphs of others: the host's name in the paths of series is replaced.

import { el } from './dom.js';
import { guard, linesOfArgs, parts } from './graphlang.js';
import { dataArgs, emptyModel, freeColour, readGraph, writeGraph } from './graphmodel.js';
import { values } from './graphview.js';
import { call, num } from './rpc.js';
import { withParams } from './state.js';

const mostHosts = 20; // of one chart
const mostRead = 200; // hosts whose last values are compared
const mostLines = 60; // DEFs of one chart, and of one request for last values
const labels = ['host', 'host.name', 'hostname', 'instance', 'peer', 'node'];

/** The host of a series: a label's value that its path has; else the name below a receiver's. '' if neither is there. */
export async function hostIn(path, signal) {
  const info = await call('Info', { path }, signal).catch((error) => {
    if (error.name === 'AbortError') throw error;
    return {};
  });
  const own = info.series?.labels || [];
  for (const name of labels) {
    const value = own.find((l) => l.name === name)?.value;
    if (value && path.includes(value)) return value;
  }
  const names = path.split('/');
  return names.length > 2 ? names[1] : '';
}

// A path with something else in the place of the host: where it is a whole name, only there.
function replaced(path, host, by) {
  const names = path.split('/');
  return names.includes(host) ? names.map((n) => (n === host ? by : n)).join('/') : path.replaceAll(host, by);
}

/** Arguments of a graph whose series are of another host. @param {string[]} args @param {string} host @param {string} other */
export function withHost(args, host, other) {
  return args.map((arg) => {
    const def = /^DEF:([^=]+)=(.*)$/s.exec(arg);
    if (!def) return arg;
    const [path, ...rest] = parts(def[2]);
    return [`DEF:${def[1]}=${guard(replaced(path, host, other))}`, ...rest.map(guard)].join(':');
  });
}

/**
 * One line of a graph for many hosts. Whatever the line is computed from is there for each host.
 * @param {import('./graphmodel.js').Model} m @param {import('./graphmodel.js').Draw} draw @param {string} host @param {string[]} others
 * @returns {import('./graphmodel.js').Model}
 */
export function acrossHosts(m, draw, host, others) {
  const out = { ...emptyModel(), title: m.title, unit: m.unit, base: m.base, log: m.log };
  const { series, expressions } = needs(m, draw);
  others.forEach((other, i) => {
    const name = (n) => (series.some((s) => s.name === n) || expressions.some((e) => e.name === n) ? `${n}_${i}` : n);
    for (const s of series) out.series.push({ ...s, name: name(s.name), path: replaced(s.path, host, other) });
    for (const e of expressions) out.expressions.push({ ...e, name: name(e.name), rpn: e.rpn.split(',').map(name).join(',') });
    out.draws.push({ ...draw, ref: name(draw.ref), style: 'line', width: '1.5', colour: freeColour(out), label: other, tail: '', stack: false, right: false, more: [] });
  });
  return out;
}

// What a line is computed from, in the order of the graph.
function needs(m, draw) {
  const wanted = new Set([draw.ref]);
  for (const e of [...m.expressions].reverse()) if (wanted.has(e.name)) for (const word of e.rpn.split(',')) wanted.add(word);
  return { series: m.series.filter((s) => wanted.has(s.name)), expressions: m.expressions.filter((e) => wanted.has(e.name)) };
}

// The hosts that have all series that a line needs, and how many series were not looked at.
async function hostsOf(series, host, signal) {
  let hosts = null, unread = 0;
  for (const pattern of new Set(series.filter((s) => replaced(s.path, host, '*') !== s.path).map((s) => replaced(s.path, host, '*')))) {
    const answer = await call('Search', { text: pattern.replaceAll(/\s/g, '?'), limit: mostRead }, signal);
    const shape = new RegExp(`^${pattern.split('*').map((p) => p.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('([^/]*)')}$`);
    const found = (answer.hits || []).map((h) => shape.exec(h.path)?.[1]).filter((h) => h !== undefined);
    unread = Math.max(unread, num(answer.found) - (answer.hits || []).length);
    hosts = hosts ? hosts.filter((h) => found.includes(h)) : found;
  }
  return { hosts: [...new Set(hosts || [])], unread };
}

/** Opens the workbench with one line of a chart for all hosts: those with the greatest last values, if there are many. */
export async function showAllHosts({ signal, go }, chart) {
  const model = readGraph(chart.options.graph());
  const draw = await lineOf(model);
  if (!draw) return;
  const { series } = needs(model, draw);
  const host = series.length ? await hostIn(series[0].path, signal) : '';
  const { hosts, unread } = host ? await hostsOf(series, host, signal) : { hosts: [], unread: 0 };
  if (!hosts.length) throw new Error('no host is in the path of this series');
  const { to } = chart.range, last = new Map();
  const room = Math.max(1, Math.floor(mostLines / series.length)), shown = Math.min(mostHosts, room);
  for (let i = 0; hosts.length > shown && i < hosts.length; i += room) {
    const some = hosts.slice(i, i + room);
    const answer = await values(dataArgs(acrossHosts(model, draw, host, some), 60), { from: Math.floor(to) - 3600, to: Math.ceil(to), width: 60 }, signal);
    some.forEach((h, k) => last.set(h, answer.data.findLast((row) => row[k + 1] !== null)?.[k + 1] ?? -Infinity));
  }
  const chosen = hosts.length > shown ? [...hosts].sort((a, b) => last.get(b) - last.get(a)).slice(0, shown) : hosts;
  const all = acrossHosts(model, draw, host, chosen);
  all.title = [chart.options.title || model.title, model.draws.length > 1 ? draw.label.trim() : '', 'of all hosts'].filter(Boolean).join(' ');
  all.unit ||= chart.options.unit || '';
  const many = hosts.length + unread;
  if (many > chosen.length) all.rest.push(`COMMENT:${guard(`${chosen.length} of ${many} hosts${unread ? `, of which ${hosts.length} were read` : ''}: those with the greatest last values.`)}\\l`);
  const here = new URL(location.href), bench = new URL('/workbench', here);
  for (const name of ['from', 'to']) if (here.searchParams.has(name)) bench.searchParams.set(name, here.searchParams.get(name));
  go(withParams(bench, { g: linesOfArgs(writeGraph(all)).join('\n') }));
}

// The line of a graph that is meant: asks where there are several.
function lineOf(model) {
  const draws = model.draws.filter((d) => needs(model, d).series.length);
  if (draws.length < 2) return Promise.resolve(draws[0]);
  return new Promise((done) => {
    const dialog = el('dialog', { class: 'save-dialog', 'aria-labelledby': 'line-title' }, el('form', { method: 'dialog' }, el('h2', { id: 'line-title' }, 'Which line of all hosts?'),
      el('div', { class: 'line-choice' }, draws.map((d) => el('button', { type: 'button', class: 'quiet', onclick: () => { done(d); dialog.close(); } }, d.label.trim() || d.ref)))));
    dialog.addEventListener('close', () => { done(undefined); dialog.remove(); });
    dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
    document.body.append(dialog);
    dialog.showModal();
  });
}
