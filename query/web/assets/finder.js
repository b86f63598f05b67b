// A field that finds series while one types.

import { el, fill } from './dom.js';
import { call } from './rpc.js';
import { hitLine } from './search.js';

let number = 0;

/**
 * @param {{label: string, placeholder?: string, signal: AbortSignal, onPick: (path: string) => void}} options
 * @returns {{element: HTMLElement, focus: () => void}}
 */
export function finder({ label, placeholder = '', signal, onPick }) {
  const id = `finder-${++number}`;
  const input = el('input', {
    type: 'search', role: 'combobox', 'aria-expanded': 'false', 'aria-controls': id, 'aria-autocomplete': 'list', 'aria-label': label,
    placeholder, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false',
  });
  const list = el('ul', { id, role: 'listbox', 'aria-label': label, hidden: true });
  const element = el('div', { class: 'finder' }, input, list);
  let asked = null, at = -1, timer = 0;

  const close = () => {
    list.hidden = true;
    at = -1;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };
  const mark = (i) => {
    const items = [...list.querySelectorAll('[role=option]')];
    if (!items.length) return;
    at = (i + items.length) % items.length;
    items.forEach((item, k) => item.setAttribute('aria-selected', String(k === at)));
    items[at].scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', items[at].id);
  };
  const pick = (path) => {
    input.value = '';
    close();
    onPick(path);
  };
  async function ask() {
    asked?.abort();
    const text = input.value.trim();
    if (!text) return close();
    asked = new AbortController();
    try {
      const answer = await call('Search', { text, limit: 20 }, AbortSignal.any([asked.signal, signal]));
      const hits = (answer.hits || []).filter((h) => !h.folder);
      fill(list, hits.length ? hits.map((h, i) => el('li', {
        role: 'option', id: `${id}-${i}`, 'aria-selected': 'false', onmousedown: (event) => { event.preventDefault(); pick(h.path); },
      }, hitLine(h, text))) : el('li', { class: 'hits-none' }, 'No series has these words.'));
    } catch (error) {
      if (error.name === 'AbortError') return undefined;
      fill(list, el('li', { class: 'hits-none' }, error.message));
    }
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    mark(0);
    return undefined;
  }
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 80);
  });
  input.addEventListener('focus', () => { if (input.value.trim()) ask(); });
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') mark(at + (event.key === 'ArrowDown' ? 1 : -1));
    else if (event.key === 'Enter' && at >= 0) list.children[at]?.dispatchEvent(new MouseEvent('mousedown', { cancelable: true }));
    else if (event.key === 'Enter' && input.value.trim()) pick(input.value.trim()); // a whole path
    else if (event.key === 'Escape' && !list.hidden) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { element, focus: () => input.focus() };
}
