// The keyboard: single keys and pairs of them ("g h"), and the help that lists them.

import { el } from './dom.js';

/** @typedef {{key: string, words: string, run: (event: KeyboardEvent) => void, hidden?: boolean}} Key */

const everywhere = [];
const ofPage = new Set();
let first = '', firstTimer = 0;

/** Binds keys for all pages. @param {Key[]} list */
export function bindKeys(list) {
  everywhere.push(...list);
  document.addEventListener('keydown', pressed);
}

/** Binds keys until the page is left. @param {Key[]} list @param {AbortSignal} signal */
export function pageKeys(list, signal) {
  for (const key of list) {
    ofPage.add(key);
    signal.addEventListener('abort', () => ofPage.delete(key));
  }
}

/** The name of a key that was pressed, as `Key.key` has it: 'ArrowLeft', 'Shift+ArrowLeft', '+'. */
export function nameOf(event) {
  return event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key;
}

function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest?.('input, textarea, select, [contenteditable], dialog')) return;
  const name = nameOf(event);
  const keys = [...ofPage, ...everywhere];
  const pair = first && keys.find((k) => k.key === `${first} ${name}`);
  first = '';
  clearTimeout(firstTimer);
  const found = pair || keys.find((k) => k.key === name);
  if (found) {
    event.preventDefault();
    found.run(event);
  } else if (keys.some((k) => k.key.startsWith(`${name} `))) {
    first = name;
    firstTimer = setTimeout(() => { first = ''; }, 1500);
  }
}

const shown = { ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓', 'Shift+ArrowLeft': 'Shift ←', 'Shift+ArrowRight': 'Shift →', Escape: 'Esc' };

/** Shows the keys of this page and of all pages. */
export function showHelp() {
  document.querySelector('dialog.help')?.remove();
  const list = (title, keys) => (keys.length ? [el('h3', {}, title), el('dl', {}, keys.filter((k) => !k.hidden).map((k) => el('div', {},
    el('dt', {}, k.key.split(' ').map((part) => el('kbd', {}, shown[part] || part))), el('dd', {}, k.words))))] : []);
  const pointer = [
    ['drag', 'zoom into a range'], ['Shift drag', 'pan; so does dragging the times below a chart'],
    ['double-click', 'back to the range before'], ['Ctrl wheel', 'zoom in and out'], ['Shift ← →', 'move the crosshair, on a chart that has the focus'],
    ['Alt click', 'on a name in a legend: only this line'],
  ];
  const dialog = el('dialog', { class: 'help', 'aria-labelledby': 'help-title' },
    el('form', { method: 'dialog' }, el('h2', { id: 'help-title' }, 'Keyboard and pointer'), el('button', { class: 'quiet', 'aria-label': 'Close' }, 'Close')),
    el('div', { class: 'help-columns' },
      el('div', {}, list('This page', [...ofPage])),
      el('div', {}, list('Everywhere', everywhere), el('h3', {}, 'On a chart'), el('dl', {}, pointer.map(([what, words]) => el('div', {}, el('dt', {}, el('kbd', {}, what)), el('dd', {}, words)))))));
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
}
