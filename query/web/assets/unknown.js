// What a page shows in place of a series or folder that is not there: names that are near.

import { el } from './dom.js';
import { problem } from './problem.js';
import { call } from './rpc.js';
import { hitLine, hitURL } from './search.js';

/** Texts to search for in place of a path, the nearest first. @param {string} path @returns {string[]} */
export function nearby(path) {
  const parts = path.split('/').filter(Boolean);
  const last = parts.at(-1) || '';
  const words = parts.flatMap((p) => p.split(/[^\p{L}\p{N}]+/u)).filter((w) => w.length > 1);
  const folders = parts.slice(0, -1).map((_, i) => parts.slice(0, parts.length - 1 - i).join('/'));
  const texts = [path, words.slice(0, 8).join(' '), last, words.slice(0, 8).map((w) => w.slice(0, Math.ceil(w.length / 2))).join(' '), ...folders];
  return [...new Set(texts.filter(Boolean))].slice(0, 6);
}

/**
 * Shows that nothing has a path, and what has one like it.
 * @param {HTMLElement} root @param {{title: string, text: string, path: string}} what @param {AbortSignal} signal
 */
export async function unknown(root, { title, text, path }, signal) {
  const section = problem(title, text);
  root.append(section);
  for (const words of nearby(path)) {
    let hits;
    try {
      hits = (await call('Search', { text: words, limit: 8 }, signal)).hits;
    } catch {
      return; // what is missing has been said
    }
    if (!hits) continue;
    const same = hits.find((h) => h.path === path);
    section.append(el('h2', {}, same ? same.folder ? 'It is a folder' : 'It is a series' : 'Names like it'),
      el('ul', { class: 'results' }, (same ? [same] : hits).map((hit) => el('li', {}, el('a', { href: hitURL(hit) }, hitLine(hit, words))))));
    return;
  }
}
