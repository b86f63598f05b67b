// The alerts: what fires, what is pending, and what was resolved in the last day.

import { lookAtAlerts, noteOf } from '../alerts.js';
import { el, fill, setText } from '../dom.js';
import * as format from '../format.js';
import { repeat } from '../live.js';
import { problem } from '../problem.js';
import { num } from '../rpc.js';
import { styles } from '../styles.js';

const every = 5; // seconds between two looks
const states = [['firing', 'Firing'], ['pending', 'Pending'], ['resolved', 'Resolved in the last day']];

/** Shows what rules say. @type {import('../pages.js').Show} */
export async function show(root, url, context) {
  context.title('Alerts');
  await styles(new URL('alerts.css', import.meta.url));
  const facts = el('p', { class: 'soft' });
  const body = el('div');
  let was = '';
  const update = (answer) => {
    const list = answer.alerts || [];
    const counts = states.map(([state]) => `${format.count(num(answer[state]))} ${state}`);
    const left = states.reduce((n, [state]) => n + num(answer[state]), -list.length);
    setText(facts, counts.join(' · ') + (left > 0 ? ` · ${format.count(left)} not listed` : ''));
    const is = JSON.stringify(list);
    const now = num(answer.nowUs) / 1e6;
    if (is !== was) {
      was = is;
      fill(body, list.length ? states.map(([state, words]) => section(words, list.filter((a) => a.state === state)))
        : el('p', { class: 'note' }, 'Nothing fires, is pending, or was resolved in the last day. Rules come from files that --rule-file names.'));
    }
    for (const time of body.querySelectorAll('time')) setText(time, `for ${format.duration(Math.max(0, now - Number(time.dataset.at)))}`);
  };
  try {
    const answer = await lookAtAlerts(context.signal);
    root.append(el('header', { class: 'page-head' }, el('div', {}, el('h1', {}, 'Alerts'), facts)), body);
    update(answer);
  } catch (error) {
    if (error.name !== 'AbortError') root.append(problem('The alerts cannot be had', error.message));
    return;
  }
  repeat(async () => update(await lookAtAlerts(context.signal)), () => every, context.signal);
}

function section(words, list) {
  return list.length ? el('section', {}, el('h2', {}, words), el('ul', { class: 'alerts' }, list.map(item))) : null;
}

function item(a) {
  const at = num(a.sinceUs) / 1e6;
  const runbook = noteOf(a, 'runbook_url') || noteOf(a, 'runbook');
  return el('li', { class: a.state },
    el('div', { class: 'alert-head' }, el('h3', {}, a.name), el('b', { title: a.expr }, format.value(num(a.value))),
      el('time', { class: 'soft', 'data-at': at, datetime: new Date(at * 1000).toISOString(), title: format.time(at) })),
    ['summary', 'description'].map((name) => noteOf(a, name)).filter(Boolean).map((text) => el('p', {}, text)),
    el('p', { class: 'alert-labels' }, (a.labels || []).map((l) => el('span', { class: 'alert-label' }, `${l.name}=${l.value || ''}`))),
    /^https?:\/\//i.test(runbook) ? el('p', {}, el('a', { href: runbook, target: '_blank', rel: 'noopener noreferrer' }, 'Runbook')) : null,
    el('p', { class: 'soft' }, el('code', {}, a.expr || ''), ` in ${a.group || ''}`));
}
