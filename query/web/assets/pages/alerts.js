// The alerts: what fires, what is pending, and what was resolved in the last day.

import { hostOf, lookAtAlerts, names, noteOf } from '../alerts.js';
import { Chart } from '../chart.js';
import { el, fill, setText } from '../dom.js';
import * as format from '../format.js';
import { repeat } from '../live.js';
import { problem } from '../problem.js';
import { call, floats, num } from '../rpc.js';
import { hostURL } from '../state.js';
import { styles } from '../styles.js';

const every = 5; // seconds between two looks
const charted = 8; // alerts with a chart: each asks a query
const step = 15, length = 3600; // seconds of a point and of a chart
const renew = 30; // seconds until a chart asks again
const states = [['firing', 'Firing'], ['pending', 'Pending'], ['resolved', 'Resolved in the last day']];

/** Shows what rules say. @type {import('../pages.js').Show} */
export async function show(root, url, context) {
  context.title('Alerts');
  await styles(new URL('alerts.css', import.meta.url));
  const facts = el('p', { class: 'soft' });
  const body = el('div');
  let was = '';
  const charts = new Map();
  const update = (answer) => {
    const list = answer.alerts || [];
    const counts = states.map(([state]) => `${format.count(num(answer[state]))} ${state}`);
    const left = states.reduce((n, [state]) => n + num(answer[state]), -list.length);
    setText(facts, counts.join(' · ') + (left > 0 ? ` · ${format.count(left)} not listed` : ''));
    const is = JSON.stringify(list);
    const now = num(answer.nowUs) / 1e6;
    keep(charts, list.filter((a) => a.compared && a.state !== 'resolved').slice(0, charted), context.signal);
    if (is !== was) {
      was = is;
      fill(body, list.length ? states.map(([state, words]) => section(words, list.filter((a) => a.state === state), charts))
        : el('p', { class: 'note' }, 'Nothing fires, is pending, or was resolved in the last day. Rules come from files that --rule-file names.'));
    }
    for (const time of body.querySelectorAll('time')) {
      const text = format.duration(Math.max(0, Math.floor(now - Number(time.dataset.at))));
      setText(time, time.closest('.resolved') ? `${text} ago` : `for ${text}`);
    }
  };
  try {
    const answer = await lookAtAlerts(context.signal);
    root.append(el('header', { class: 'page-head' }, el('div', {}, el('h1', {}, 'Alerts'), facts)), body);
    update(answer);
  } catch (error) {
    if (error.name !== 'AbortError') root.append(problem('The alerts cannot be had', error.message));
    return undefined;
  }
  repeat(async () => update(await lookAtAlerts(context.signal)), () => every, context.signal);
  return () => keep(charts, []);
}

const keyOf = (a) => JSON.stringify([a.name, a.labels]);

// keep makes charts for alerts, renews those that there are, and ends the others.
function keep(charts, list, signal) {
  const wanted = new Set(list.map(keyOf));
  for (const [key, shown] of charts) {
    if (wanted.has(key)) continue;
    shown.chart.destroy();
    charts.delete(key);
  }
  for (const a of list) {
    if (!charts.has(keyOf(a))) {
      const element = el('div', { class: 'alert-chart' });
      charts.set(keyOf(a), { element, at: -renew, chart: new Chart(element, { title: a.compared, height: 110 }) });
    }
    const shown = charts.get(keyOf(a)), now = performance.now() / 1000;
    if (now - shown.at < renew) continue;
    shown.at = now;
    draw(shown.chart, a, signal).catch(() => {}); // it is drawn again later
  }
}

// draw shows the last hour of what an expression compares, and the number.
async function draw(chart, a, signal) {
  const end = Math.floor(Date.now() / 1000 / step) * step, start = end - length;
  chart.setRange(start, end);
  const answer = await call('Query', { query: a.compared, start: String(start), end: String(end - step), step, limit: 1000 }, signal);
  const labels = new Map((a.labels || []).map((l) => [l.name, l.value]));
  const found = (answer.series || []).find((s) => (s.labels || []).every((l) => l.name === '__name__' || labels.get(l.name) === l.value));
  const values = new Float64Array(length / step).fill(NaN);
  const known = floats(found?.values);
  (found?.timesUs || []).forEach((at, i) => { values[Math.round((num(at) / 1e6 - start) / step)] = known[i]; });
  chart.setLines([{ label: 'value', start, step, values, query: a.compared, labels: found?.labels || [] }, { label: 'threshold', start, step, values: values.map(() => num(a.threshold)), dash: [4, 4], color: 'faint' }]);
}

function section(words, list, charts) {
  return list.length ? el('section', {}, el('h2', {}, words), el('ul', { class: 'alerts' }, list.map((a) => item(a, charts.get(keyOf(a))?.element)))) : null;
}

function item(a, chart) {
  const at = num(a.sinceUs) / 1e6;
  const runbook = noteOf(a, 'runbook_url') || noteOf(a, 'runbook');
  return el('li', { class: a.state },
    el('div', { class: 'alert-head' }, el('h3', {}, a.name), el('b', { title: a.expr }, format.value(num(a.value))),
      el('time', { class: 'soft', 'data-at': at, datetime: new Date(at * 1000).toISOString(), title: format.time(at) })),
    ['summary', 'description'].map((name) => noteOf(a, name)).filter(Boolean).map((text) => el('p', {}, text)),
    el('p', { class: 'alert-labels' }, (a.labels || []).map((l) => el(names.includes(l.name) ? 'a' : 'span', { class: 'alert-label', href: names.includes(l.name) ? hostURL(hostOf(l.value)) : null }, `${l.name}=${l.value || ''}`))),
    /^https?:\/\//i.test(runbook) ? el('p', {}, el('a', { href: runbook, target: '_blank', rel: 'noopener noreferrer' }, 'Runbook')) : null,
    el('p', { class: 'soft' }, el('code', {}, a.expr || ''), ` · group ${a.group || ''}`), chart);
}
