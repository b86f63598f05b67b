import { el } from './dom.js';

/** A text in place of a page: what is wrong, and what to do. */
export function problem(title, text) {
  return el('section', { class: 'problem' }, el('h1', {}, title), el('p', {}, text), el('p', {}, el('a', { href: '/' }, 'Home')));
}
