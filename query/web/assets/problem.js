// What is wrong: a text in place of a page, and the problems of the server.

import { el, fill, setText } from './dom.js';
import * as format from './format.js';
import { num } from './rpc.js';

/** A text in place of a page: what is wrong, and what to do. */
export function problem(title, text) {
  return el('section', { class: 'problem' }, el('h1', {}, title), el('p', {}, text), el('p', {}, el('a', { href: '/' }, 'Home')));
}

const severities = {
  error: { words: 'Error', path: 'bad' }, warning: { words: 'Warning', path: 'warn' }, info: { words: 'Note', path: 'info' },
};

/** The problems that an answer of Status lists, and for how long there are such. */
export class Problems {
  #list = el('ul', { class: 'problems', 'aria-label': 'Problems', hidden: true });
  #was = '';
  element = this.#list;

  /** @param {object} a the answer */
  update(a) {
    const now = num(a.nowUs) / 1e6;
    const problems = a.problems || [];
    const is = JSON.stringify(problems.map((p) => [p.id, p.text, p.severity]));
    this.#list.hidden = problems.length === 0;
    if (is !== this.#was) {
      this.#was = is;
      fill(this.#list, problems.map((p) => this.#item(p)));
    }
    problems.forEach((p, i) => setText(this.#list.children[i].querySelector('time'), since(num(p.sinceUs) / 1e6, now)));
  }

  #item(p) {
    const { words, path } = severities[p.severity] || severities.info;
    const at = num(p.sinceUs) / 1e6;
    return el('li', { class: path }, el('strong', { class: 'severity' }, words),
      el('div', {}, el('p', {}, p.text), el('p', { class: 'soft' }, p.advice || '')),
      el('time', { class: 'soft', datetime: new Date(at * 1000).toISOString(), title: format.time(at) }));
  }
}

function since(at, now) {
  return now - at < 5 ? 'since now' : `for ${format.duration(now - at)}`;
}
