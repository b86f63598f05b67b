// The dialog that adds a graph to a dashboard, a new one or one that is there.

import { el, setText } from './dom.js';
import { linesOfArgs, pageOf } from './graphlang.js';
import { readGraph } from './graphmodel.js';
import { hostIn, withHost } from './hosts.js';
import { call } from './rpc.js';

/** The text of a graph on a dashboard. @param {string} title @param {string[]} args */
export function graphText(title, args) {
  return `graph: ${title}\n${linesOfArgs(args).map((line) => `  ${line}`).join('\n')}\n`;
}

/** The text of a dashboard that has one more graph, which may need a variable. @param {string} text @param {string} graph @param {string} [variable] */
export function added(text, graph, variable = '') {
  const missing = variable && !pageOf(text).variables.includes(variable);
  return `${missing ? `variable: ${variable}\n` : ''}${text.trimEnd()}\n\n${graph}`;
}

const refused = 'You may not save dashboards here. A user needs the role write without prefixes; without users, other machines must not reach this server’s HTTP port. Copy the link instead.';

/** @param {{signal: AbortSignal, go: (address: string) => any}} context of the page @param {string} title of the graph @param {string[]} args */
export async function saveDialog({ signal, go }, title, args) {
  const first = readGraph(args).series[0];
  let there = { dashboards: [], maySave: false }, wrongs = '', host = '';
  try {
    [there, host] = await Promise.all([call('Dashboards', {}, signal), first ? hostIn(first.path, signal) : '']);
  } catch (error) {
    if (error.name === 'AbortError') return;
    wrongs = error.message;
  }
  if (!there.maySave) wrongs ||= refused;
  const names = (there.dashboards || []).map((d) => d.name);
  const name = el('input', { required: true, placeholder: 'web-servers', pattern: '[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}', title: 'Letters, digits, dots, hyphens and underscores', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' });
  const which = el('select', { onchange: () => turn() }, el('option', { value: '' }, 'A new one'), names.map((n) => el('option', {}, n)));
  const label = el('input', { value: title, placeholder: 'Title of the graph' });
  const every = el('input', { type: 'checkbox' });
  const wrong = el('p', { class: 'wrong', role: 'alert' }, wrongs);
  const save = el('button', { class: 'main', disabled: !there.maySave }, 'Save');
  const named = el('label', {}, names.length ? 'Its name' : 'Name of the new dashboard', name);
  const turn = () => {
    named.hidden = Boolean(which.value);
    name.required = !which.value;
  };
  const dialog = el('dialog', { class: 'save-dialog', 'aria-labelledby': 'save-title' }, el('form', { method: 'dialog' },
    el('h2', { id: 'save-title' }, 'Add to dashboard'), names.length ? el('label', {}, 'Dashboard', which) : null, named, el('label', {}, 'Graph', label),
    host ? el('label', { class: 'save-every' }, every, el('span', {}, `For every host: $host stands for ${host}`)) : null, wrong,
    el('div', { class: 'buttons' }, el('button', { type: 'button', class: 'quiet', onclick: () => dialog.close() }, 'Cancel'), save)));
  dialog.addEventListener('submit', async (event) => {
    event.preventDefault();
    setText(wrong, '');
    save.disabled = true;
    try {
      const to = which.value || name.value.trim();
      if (!which.value && names.includes(to)) throw new Error(`There is a dashboard ${to}: choose it above.`);
      const text = which.value ? (await call('Dashboard', { name: to }, signal)).text || '' : `title: ${to}\n`;
      const graph = every.checked ? graphText(label.value.trim().replaceAll(host, '$host'), withHost(args, host, '$host')) : graphText(label.value.trim(), args);
      await call('SaveDashboard', { name: to, text: added(text, graph, every.checked ? 'host' : '') }, signal);
      dialog.close();
      go(`/dashboard/${encodeURIComponent(to)}${every.checked ? `?var-host=${encodeURIComponent(host)}` : ''}`);
    } catch (error) {
      if (error.name !== 'AbortError') setText(wrong, error.message);
      save.disabled = false;
    }
  });
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  signal.addEventListener('abort', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
