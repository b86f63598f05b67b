// What a page says while its first answer takes long: after a start the server reads the names of all
// series before it lists or searches them.

import { el, setText } from './dom.js';
import { count } from './format.js';
import { call, num } from './rpc.js';

/**
 * Shows a note in an element until an answer is there, if it takes longer than a moment.
 * @template T
 * @param {HTMLElement} root @param {Promise<T>} answer @param {AbortSignal} signal
 * @param {number} [after] milliseconds
 * @returns {Promise<T>} the answer
 */
export async function waiting(root, answer, signal, after = 400) {
  const words = el('p', { class: 'note', role: 'status' }, 'The server reads the names of its series. After a start this takes some seconds.');
  const timer = setTimeout(() => {
    root.append(words);
    call('Stats', {}, signal).then((stats) => {
      setText(words, `The server reads the names of ${count(num(stats.series))} series. After a start this takes some seconds.`);
    }, () => { /* the words stay as they are */ });
  }, after);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
    words.remove();
  }
}
