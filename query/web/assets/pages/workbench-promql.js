// The field of a line of PromQL: it completes metrics, functions, labels and their values.

import { el } from '../dom.js';
import { ask, functions, place } from '../promql.js';
import { suggest } from '../suggest.js';

const offered = 30; // of one kind

/** @param {import('../graphmodel.js').Query} query @param {AbortSignal} signal @param {() => void} change called when the expression is another one */
export function field(query, signal, change) {
  const input = el('input', { class: 'mono', value: query.expr, placeholder: 'avg by (instance) (collectd_load_shortterm)', title: 'Ctrl and the space bar list what may stand here', 'data-field': `${query.name} rpn` });
  const commit = () => {
    if (input.value.trim() === query.expr) return;
    query.expr = input.value.trim();
    change();
  };
  const put = (at, text, back = 0) => {
    input.setRangeText(text, at.from, input.selectionEnd, 'end');
    const cursor = input.selectionEnd - back;
    input.setSelectionRange(cursor, cursor);
    if (/[("]$|\("?\)?$/.test(text) || back) box.again();
  };
  const box = suggest(input, {
    label: `PromQL of ${query.name}`, signal, enter: () => { commit(); return true; },
    async ask(stopped) {
      const at = place(input.value, input.selectionStart);
      if (!at || (at.kind === 'name' && !at.prefix && input.value)) return null;
      const texts = await candidates(at, stopped);
      const items = texts.slice(0, offered).map(({ text, note, put: [insert, back] }) => ({
        content: [el('span', { class: 'hit-path mono' }, text), el('span', { class: 'hit-more' }, note)], pick: () => put(at, insert, back),
      }));
      return { items, note: texts.length > offered ? 'There are more: type on' : '', mark: !texts.some((x) => x.text === at.prefix) };
    },
  });
  input.addEventListener('blur', commit);
  return el('div', { class: 'finder' }, input, box.list);
}

// What may stand at a place, the best first.
async function candidates(at, signal) {
  const words = at.prefix.toLowerCase();
  const some = (list, note, put) => list.filter((x) => x.toLowerCase().includes(words))
    .sort((a, b) => b.toLowerCase().startsWith(words) - a.toLowerCase().startsWith(words)).map((text) => ({ text, note, put: put(text) }));
  const match = at.metric ? { 'match[]': `{__name__=${JSON.stringify(at.metric)}}` } : {};
  const list = async (what, params) => (await ask(what, { limit: 1000, ...params }, signal)).data;
  if (at.kind === 'range') return some(['$__rate_interval', '$__interval', '5m', '15m', '1h', '1d'], 'range', (x) => [x, 0]);
  if (at.kind === 'label') return some((await list('labels', match)).filter((x) => x !== '__name__'), 'label', (x) => (at.matcher ? [`${x}=""`, 1] : [x, 0]));
  if (at.kind === 'value') return some(await list(`label/${encodeURIComponent(at.label)}/values`, match), at.label, (x) => [JSON.stringify(x).slice(1, -1), 0]);
  const known = words.replaceAll(/[^\w:]/g, '');
  const names = await list('label/__name__/values', known ? { 'match[]': `{__name__=~"(?i:.*${known}.*)"}` } : {});
  const called = some(functions, 'function', (f) => [`${f}()`, 1]);
  return [...called.filter((x) => x.text.startsWith(words) && words), ...some(names, 'metric', (x) => [x, 0])];
}
