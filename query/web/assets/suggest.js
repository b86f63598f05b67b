// What a list below a field offers while one types: arrows choose, Enter or Tab takes.

import { el, fill } from './dom.js';
import { RPCError } from './rpc.js';

let number = 0;

/**
 * Makes an input a combobox.
 * @param {HTMLInputElement} input
 * @param {{label: string, signal: AbortSignal, enter?: () => boolean,
 *   ask: (signal: AbortSignal) => Promise<{items: {content: any, pick: () => void}[], note?: string, mark?: boolean}|null>}} options
 *   ask: what is offered now, null for nothing, note the last line, mark false if Enter shall not take the first one;
 *   enter: Enter was pressed while nothing was marked, true if that is all about it
 * @returns {{list: HTMLElement, close: () => void, again: () => void}} list stands behind the input
 */
export function suggest(input, { label, signal, ask, enter = () => false }) {
  const id = `suggested-${++number}`;
  const list = el('ul', { id, role: 'listbox', 'aria-label': label, hidden: true });
  const fixed = { role: 'combobox', 'aria-expanded': 'false', 'aria-controls': id, 'aria-autocomplete': 'list', 'aria-label': label, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' };
  for (const [name, value] of Object.entries(fixed)) input.setAttribute(name, value);
  let asked = null, at = -1, timer = 0, picks = [];

  const close = () => {
    clearTimeout(timer);
    asked?.abort();
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
  const take = (i) => {
    const pick = picks[i];
    close();
    pick?.();
  };
  async function look() {
    asked?.abort();
    asked = new AbortController();
    const mine = asked.signal;
    let offer;
    try {
      offer = await ask(AbortSignal.any([mine, signal]));
    } catch (error) {
      if (error.name === 'AbortError') return;
      if (!(error instanceof RPCError)) throw error;
      offer = { items: [], note: error.message };
    }
    if (mine.aborted || document.activeElement !== input) return;
    if (!offer || (!offer.items.length && !offer.note)) {
      close();
      return;
    }
    picks = offer.items.map((x) => x.pick);
    fill(list, offer.items.map((x, i) => el('li', {
      role: 'option', id: `${id}-${i}`, 'aria-selected': 'false', onmousedown: (event) => { event.preventDefault(); take(i); },
    }, x.content)), offer.note ? el('li', { class: 'hits-none', role: 'presentation' }, offer.note) : null);
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    at = -1;
    input.removeAttribute('aria-activedescendant');
    if (offer.mark !== false) mark(0);
  }
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(look, 80);
  };
  input.addEventListener('input', again);
  input.addEventListener('focus', () => { if (input.value.trim()) again(); });
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    const open = !list.hidden;
    if (open && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) mark(at + (event.key === 'ArrowDown' ? 1 : at < 0 ? 0 : -1));
    else if (open && at >= 0 && (event.key === 'Enter' || event.key === 'Tab')) take(at);
    else if (event.key === 'Enter' && enter()) close();
    else if (event.key === ' ' && event.ctrlKey) look();
    else if (event.key === 'Escape' && open) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { list, close, again };
}
