// A field that finds series while one types: by words, by patterns, by labels.

import { el } from './dom.js';
import { call, num } from './rpc.js';
import { hitLine } from './search.js';
import { suggest } from './suggest.js';

const most = 200; // hits of one answer

/** True if a text of the search has a pattern or a label: all that fits may be wanted at once. */
export const isPattern = (text) => /[*?]|(^|\s)[A-Za-z_]\w*=/.test(text);

/**
 * @param {{label: string, placeholder?: string, signal: AbortSignal, room: () => number, onPick: (paths: string[]) => void}} options
 *   room: the series that may be added at once
 * @returns {{element: HTMLElement, focus: () => void}}
 */
export function finder({ label, placeholder = '', signal, room, onPick }) {
  const input = el('input', { type: 'search', placeholder });
  const pick = (...paths) => {
    input.value = '';
    onPick(paths);
  };
  const { list } = suggest(input, {
    label, signal,
    enter() {
      const text = input.value.trim();
      if (text && !isPattern(text)) pick(text); // a whole path
      return Boolean(text);
    },
    async ask(stopped) {
      const text = input.value.trim(), pattern = isPattern(text);
      if (!text) return null;
      const answer = await call('Search', { text, limit: pattern ? most : 20 }, stopped);
      const hits = (answer.hits || []).filter((h) => !h.folder), found = Math.max(num(answer.found), hits.length);
      const items = hits.slice(0, 20).map((h) => ({ content: hitLine(h, text), pick: () => pick(h.path) }));
      if (pattern && hits.length > 1) {
        const taken = hits.slice(0, room()).map((h) => h.path);
        items.unshift({ content: el('b', {}, taken.length < found ? `Add the first ${taken.length} of ${found} that match` : `Add all ${found} that match`), pick: () => pick(...taken) });
      }
      if (!hits.length) return { items, note: pattern ? 'No series matches.' : 'No series has these words.' };
      return { items, note: !answer.more && hits.length <= 20 ? '' : pattern ? `${Math.min(20, hits.length)} of ${found} are shown` : 'There are more: type on' };
    },
  });
  return { element: el('div', { class: 'finder' }, input, list), focus: () => input.focus() };
}
