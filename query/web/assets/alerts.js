// What rules say: the count in the navigation, which alerts name a host, and what charts have of them.

import { setText } from './dom.js';
import { repeat } from './live.js';
import { call, num } from './rpc.js';

const every = 30; // seconds between two looks
/** Labels that name a host. */
export const names = ['instance', 'host', 'hostname', 'node', 'nodename'];
const most = 1000; // paths and lines of a request
let firing = [];
const listeners = new Set();
let rules = 0, asked = new Set(), marks = new Map(), waits = 0; // marks by what they are about
const charts = new Set();

/** Asks for the alerts, and shows everywhere how many fire. @param {AbortSignal} [signal] @returns {Promise<any>} the answer of Alerts */
export async function lookAtAlerts(signal) {
  const all = new Map(rules ? [...charts].flatMap((c) => c.lines).map((l) => [nameOf(l), l]) : []);
  all.delete('');
  const some = [...all.values()].slice(0, most), lines = some.filter((l) => !l.path);
  asked = new Set(some.map(nameOf));
  const answer = await call('Alerts', {
    paths: some.map((l) => l.path).filter(Boolean), lines: lines.map(({ query, labels }) => ({ query, labels })),
  }, signal);
  marks = Map.groupBy(answer.marks || [], (m) => keyOf(m.path ? m : lines[num(m.line)]));
  if (some.length) for (const chart of charts) chart.redraw();
  rules = num(answer.rules);
  firing = (answer.alerts || []).filter((a) => a.state === 'firing');
  const count = num(answer.firing);
  const badge = document.getElementById('firing');
  badge.hidden = !count;
  setText(badge, count ? String(count) : '');
  badge.title = count === 1 ? '1 alert fires' : `${count} alerts fire`;
  for (const call of listeners) call();
  for (const chart of charts) watchChart(chart); // the first answer says that there are rules
  return answer;
}

// What a line shows: a series, a result of PromQL, or '' for something else.
const nameOf = (l) => l.path || (l.query ? JSON.stringify([l.query, l.labels]) : '');
const keyOf = (l) => `${nameOf(l)} ${l.ds || ''}`;

/** Asks what rules say of the lines of a chart, as long as it is there, and redraws it. @param {import('./chart.js').Chart} chart */
export function watchChart(chart) {
  charts.add(chart);
  if (!rules || asked.size >= most || chart.lines.map(nameOf).every((name) => !name || asked.has(name))) return;
  waits ||= setTimeout(() => {
    waits = 0;
    lookAtAlerts().catch(() => {}); // the next look tries again
  }, 100);
}

/** @param {import('./chart.js').Chart} chart that is gone */
export const leaveChart = (chart) => charts.delete(chart);

/**
 * What a chart shows of alerts: when they were pending and fired, and the numbers with which rules compare what its lines show.
 * @param {import('./chart.js').Line[]} lines @returns {{spans: import('./chart.js').Mark[], levels: {value: number, line: object, name: string}[]}}
 */
export function alertsOn(lines, now = Date.now() / 1000) {
  const spans = new Map(), levels = new Map();
  const add = (time, to, name, is, label) => {
    const key = `${name} ${time} ${is}`, who = spans.get(key)?.who || [];
    if (to > time) spans.set(key, { time, to, who: [...who, label], name: `${name} ${is}`, severity: is === 'fires' ? 'failure' : 'warning' });
  };
  for (const line of lines) {
    for (const { name, threshold, spans: times = [] } of marks.get(keyOf(line)) || []) {
      for (const s of times) {
        const since = num(s.sinceUs) / 1e6, fired = num(s.firedUs) / 1e6, until = num(s.untilUs) / 1e6 || now;
        add(since, fired || until, name, 'is pending', line.label);
        if (fired) add(fired, until, name, 'fires', line.label);
      }
      if (threshold === undefined || !line.scale) continue;
      const value = Number(threshold) * line.scale[0] + line.scale[1];
      levels.set(`${name} ${value} ${line.axis}`, { value, line, name });
    }
  }
  const text = ({ name, who }) => (who.length < lines.length ? `${name}: ${who.slice(0, 3).join(', ')}${who.length > 3 ? ', …' : ''}` : name);
  return { spans: [...spans.values()].map((s) => ({ ...s, text: text(s) })), levels: [...levels.values()] };
}

/** Looks at the alerts as long as the page is open; not for a user who may not see them. */
export function watchAlerts() {
  const end = new AbortController();
  const look = () => lookAtAlerts().catch((error) => {
    if (['permission_denied', 'unimplemented'].includes(error.code)) end.abort();
    throw error;
  });
  look().catch(() => {}); // the next look tries again
  repeat(look, () => every, end.signal);
}

/** Calls call() when other alerts may fire. @param {() => void} call @param {AbortSignal} signal ends it */
export function onAlerts(call, signal) {
  listeners.add(call);
  signal.addEventListener('abort', () => listeners.delete(call));
}

/** The alerts that fire and whose labels name a part of a path. @param {string} path @returns {object[]} */
export function alertsOf(path) {
  const parts = path.split('/');
  return firing.filter((a) => (a.labels || []).some((l) => names.includes(l.name) && parts.includes(hostOf(l.value))));
}

/** The host of an instance: without its scheme, port and path, as the server has it. @param {string} [value] */
export function hostOf(value = '') {
  const at = value.replace(/^\w+:\/\//, '').replace(/\/.*$/s, '');
  return (/^\[(.*)\](?::\d+)?$/.exec(at) || /^([^:]+):\d+$/.exec(at))?.[1] ?? at;
}

/** The text of an annotation, or ''. @param {object} alert @param {string} name */
export function noteOf(alert, name) {
  return (alert.annotations || []).find((n) => n.name === name)?.value || '';
}
