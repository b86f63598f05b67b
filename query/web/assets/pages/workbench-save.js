// The dialog that saves a graph of the workbench on a dashboard, a new one or one that is there.

import { el, setText } from '../dom.js';
import { linesOfArgs } from '../graphlang.js';
import { call } from '../rpc.js';

/** The text of a graph on a dashboard. @param {string} title @param {string[]} args */
export function graphText(title, args) {
  return `graph: ${title}\n${linesOfArgs(args).map((line) => `  ${line}`).join('\n')}\n`;
}

/** @param {object} context of the page @param {import('../graphmodel.js').Model} model @param {string[]} args */
export async function saveDialog(context, model, args) {
  let there = { dashboards: [], maySave: false }, wrongs = '';
  try {
    there = await call('Dashboards', {}, context.signal);
  } catch (error) {
    if (error.name === 'AbortError') return;
    wrongs = error.message;
  }
  if (!there.maySave) wrongs ||= 'Dashboards are saved only on the machine itself: this server’s HTTP port can be reached from other machines. Copy the link instead.';
  const names = (there.dashboards || []).map((d) => d.name);
  const name = el('input', { required: true, list: 'dashboard-names', placeholder: 'web-servers', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' });
  const title = el('input', { value: model.title, placeholder: 'Title of the graph' });
  const wrong = el('p', { class: 'wrong', role: 'alert' }, wrongs);
  const save = el('button', { class: 'main', disabled: !there.maySave }, 'Save');
  const dialog = el('dialog', { class: 'save-dialog', 'aria-labelledby': 'save-title' }, el('form', { method: 'dialog' },
    el('h2', { id: 'save-title' }, 'Save as dashboard'),
    el('label', {}, 'Dashboard, a new one or one that is there', name), el('datalist', { id: 'dashboard-names' }, names.map((n) => el('option', { value: n }))),
    el('label', {}, 'Graph', title), el('p', { class: 'soft' }, 'A graph is added at the end of a dashboard that is there.'), wrong,
    el('div', { class: 'buttons' }, el('button', { type: 'button', class: 'quiet', onclick: () => dialog.close() }, 'Cancel'), save)));
  dialog.addEventListener('submit', async (event) => {
    event.preventDefault();
    setText(wrong, '');
    save.disabled = true;
    try {
      const to = name.value.trim();
      let text = `title: ${to}\n`;
      if (names.includes(to)) text = (await call('Dashboard', { name: to }, context.signal)).text || '';
      await call('SaveDashboard', { name: to, text: `${text.trimEnd()}\n\n${graphText(title.value.trim(), args)}` }, context.signal);
      dialog.close();
      context.go(`/dashboard/${encodeURIComponent(to)}`);
    } catch (error) {
      if (error.name !== 'AbortError') setText(wrong, error.message);
      save.disabled = false;
    }
  });
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
}
