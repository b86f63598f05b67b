// How data leave the page: as files to save, as texts to copy.

import { el, fill } from './dom.js';

/** Gives the reader a file to save. @param {string} name @param {string|Blob} data @param {string} type */
export function save(name, data, type) {
  const href = URL.createObjectURL(data instanceof Blob ? data : new Blob([data], { type: `${type};charset=utf-8` }));
  el('a', { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60000);
}

/**
 * Copies a text. Without HTTPS a browser has no clipboard to offer except for the page's own
 * address on loopback; then the text is selected in a field and copied as of old.
 * @param {string} text @returns {Promise<boolean>}
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* the old way */ }
  const field = el('textarea', { class: 'unseen', 'aria-hidden': 'true', tabindex: '-1' });
  field.value = text;
  const before = document.activeElement;
  document.body.append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  before?.focus?.();
  return done;
}

/**
 * A button that copies what text() gives, and says so.
 * @param {() => string} text @param {string} words @param {string} [look] its class
 */
export function copyButton(text, words, look = 'quiet') {
  const said = document.getElementById('said');
  const button = el('button', { type: 'button', class: look }, words);
  let timer = 0;
  button.addEventListener('click', async () => {
    const done = await copy(text());
    fill(button, done ? 'Copied' : 'Not copied');
    if (said) said.textContent = done ? 'Copied' : 'The browser does not let this page copy';
    clearTimeout(timer);
    timer = setTimeout(() => fill(button, words), 1600);
  });
  return button;
}
