// The search box of the header: answers while one types, folders before series.

import { el, fill, icon, setText } from './dom.js';
import { call } from './rpc.js';
import { hostURL, seriesURL } from './state.js';

const wanted = 12;

/** The address of a hit. @param {object} hit a SearchHit */
export function hitURL(hit) {
  return hit.folder ? hostURL(hit.path) : seriesURL(hit.path);
}

/**
 * The path of a hit, with what was searched for marked.
 * @param {string} text @param {string} words @returns {Node[]}
 */
export function marked(text, words) {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  const lower = text.toLowerCase();
  const on = new Uint8Array(text.length);
  for (const part of parts) {
    for (let at = lower.indexOf(part); at >= 0; at = lower.indexOf(part, at + part.length)) on.fill(1, at, at + part.length);
  }
  const nodes = [];
  for (let i = 0; i < text.length;) {
    let j = i;
    while (j < text.length && on[j] === on[i]) j++;
    nodes.push(on[i] ? el('mark', {}, text.slice(i, j)) : document.createTextNode(text.slice(i, j)));
    i = j;
  }
  return nodes;
}

/** One hit as a line: path, unit, description. */
export function hitLine(hit, words) {
  return [icon(hit.folder ? 'folder' : 'series'), el('span', { class: 'hit-path' }, marked(hit.path, words)),
    el('span', { class: 'hit-more' }, hit.description || hit.unit || '')];
}

/**
 * Makes the form of the header a combobox.
 * @param {HTMLFormElement} form @param {(address: string) => void} go
 * @returns {{focus: () => void}}
 */
export function startSearch(form, go) {
  const input = form.querySelector('input');
  const list = el('ul', { id: 'hits', role: 'listbox', 'aria-label': 'Found', hidden: true });
  form.append(list);
  for (const [name, value] of [['role', 'combobox'], ['aria-expanded', 'false'], ['aria-controls', 'hits'], ['aria-autocomplete', 'list']]) input.setAttribute(name, value);
  let hits = [], chosen = -1, controller = null, asked = '';

  const close = () => {
    controller?.abort();
    asked = '';
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    choose(-1);
  };
  function choose(index) {
    chosen = index;
    [...list.children].forEach((item, i) => item.setAttribute('aria-selected', String(i === index)));
    const item = list.children[index];
    if (item?.id) {
      input.setAttribute('aria-activedescendant', item.id);
      item.scrollIntoView({ block: 'nearest' });
    } else {
      input.removeAttribute('aria-activedescendant');
    }
  }
  function show(words, answer) {
    const before = list.children[chosen]?.querySelector('a')?.href;
    hits = answer.hits || [];
    const items = hits.map((hit, i) => el('li', { id: `hit${i}`, role: 'option', 'aria-selected': 'false' },
      el('a', { href: hitURL(hit), tabindex: '-1' }, hitLine(hit, words))));
    if (!hits.length) items.push(el('li', { class: 'hits-none', role: 'presentation' }, `Nothing is called “${words}”`));
    if (answer.more) {
      items.push(el('li', { id: 'hit-all', class: 'hits-all', role: 'option', 'aria-selected': 'false' },
        el('a', { href: `/?q=${encodeURIComponent(words)}`, tabindex: '-1' }, 'More results')));
    }
    fill(list, items);
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    choose(items.findIndex((item) => before && item.querySelector('a')?.href === before)); // a choice outlives a late answer
    setText(document.getElementById('said'), hits.length ? `${hits.length}${answer.more ? ' or more' : ''} found` : 'nothing found');
  }
  function say(text) {
    fill(list, el('li', { class: 'hits-none', role: 'presentation' }, text));
    list.hidden = false;
  }
  async function ask() {
    const words = input.value.trim();
    if (words === asked) return;
    if (!words) {
      close();
      return;
    }
    asked = words;
    controller?.abort();
    controller = new AbortController();
    const { signal } = controller;
    const slow = setTimeout(() => { if (!signal.aborted && list.hidden) say('Searching …'); }, 500);
    try {
      const answer = await call('Search', { text: words, limit: wanted }, signal);
      if (words === asked && document.activeElement === input) show(words, answer);
    } catch (error) {
      if (error.name === 'AbortError' || words !== asked) return;
      say(error.message);
    } finally {
      clearTimeout(slow);
    }
  }
  const leave = () => {
    close();
    input.blur();
  };

  input.addEventListener('input', ask);
  input.addEventListener('focus', () => { if (input.value.trim()) ask(); });
  input.addEventListener('keydown', (event) => {
    const items = list.hidden ? 0 : [...list.children].filter((item) => item.id).length;
    if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && items) {
      const next = chosen + (event.key === 'ArrowDown' ? 1 : -1);
      choose(next < -1 ? items - 1 : next >= items ? -1 : next);
      event.preventDefault();
    } else if (event.key === 'Escape') {
      if (list.hidden) input.value = '';
      leave();
      event.preventDefault();
    }
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const link = list.children[chosen]?.querySelector('a');
    const words = input.value.trim();
    leave();
    go(link ? link.href : words ? `/?q=${encodeURIComponent(words)}` : '/');
  });
  list.addEventListener('pointerdown', (event) => event.preventDefault()); // the box keeps the focus
  list.addEventListener('click', (event) => { if (event.target.closest('a')) leave(); });
  form.addEventListener('focusout', (event) => { if (!form.contains(event.relatedTarget)) close(); });
  return {
    focus() {
      input.focus();
      input.select();
    },
  };
}
