// The bar that chooses a range of time: 1h … 1y, custom, back and forth, live.

import { el, icon, setText } from './dom.js';
import { shortSpan, span, zone } from './format.js';
import { moved, rangeOf, rangeParams, ranges, withParams, zoomed } from './state.js';

/**
 * A range chooser, and all that belongs to it: the range in the address, the way back after a zoom,
 * and the keys. Pages with charts use it so:
 *
 *     const bar = new RangeBar(context, url, { onChange: (range) => { setRange on all charts, then fetch } });
 *     root.append(bar.element);
 *     new Chart(box, { onRange: bar.drag, onBack: bar.back });
 *     return { update: (url) => bar.update(url), end };
 *
 * onChange gets {from, to, live, name, final}; final is false while the reader still drags: then move the
 * charts, but fetch nothing. Call `bar.now()` before each live fetch: it gives the range as of now.
 */
export class RangeBar {
  #context; #url; #o; #words; #buttons = new Map(); #live; #custom; #before = []; #range; #muted = false;

  /**
   * @param {{go: Function, keys: Function}} context of the page
   * @param {URL} url
   * @param {{onChange: (range: object) => void, fallback?: string, extra?: Node[], params?: object}} options
   *   extra: more buttons at the end of the bar; params: changes of the address that go with each new range
   */
  constructor(context, url, options) {
    this.#context = context;
    this.#url = url;
    this.#o = { fallback: '-1d', ...options };
    this.#range = rangeOf(url, undefined, this.#o.fallback);
    this.drag = this.drag.bind(this);
    this.back = this.back.bind(this);
    this.element = this.#build();
    this.#show();
    context.keys([
      ...ranges.map((r) => ({ key: r.key, words: r.words, run: () => this.choose(r) })),
      { key: 'ArrowLeft', words: 'earlier', run: () => this.move(-0.5) },
      { key: 'ArrowRight', words: 'later', run: () => this.move(0.5) },
      { key: '+', words: 'zoom in', run: () => this.zoom(0.5) },
      { key: '=', words: 'zoom in', hidden: true, run: () => this.zoom(0.5) },
      { key: '-', words: 'zoom out', run: () => this.zoom(2) },
      { key: 'Escape', words: 'back to the range before', run: this.back },
      { key: 'l', words: 'live: follow what comes in', run: () => this.follow() },
    ]);
  }

  #build() {
    const button = (words, picture, run) => el('button', { type: 'button', class: 'square', title: words, 'aria-label': words, onclick: run }, icon(picture));
    for (const r of ranges) {
      this.#buttons.set(r.name, el('button', { type: 'button', title: `Show ${r.words} (${r.key})`, onclick: () => this.choose(r) }, r.name));
    }
    this.#live = el('button', { type: 'button', class: 'live', title: 'Follow what comes in (l)', onclick: () => this.follow() }, el('i'), 'Live');
    this.#words = el('button', { type: 'button', class: 'range-words', title: 'Choose another range', 'aria-haspopup': 'dialog', onclick: () => this.#ask() });
    return el('div', { class: 'rangebar', role: 'toolbar', 'aria-label': 'Range of time' },
      el('div', { class: 'segments' }, [...this.#buttons.values()]),
      el('div', { class: 'segments' }, button('Earlier (←)', 'left', () => this.move(-0.5)), this.#words, button('Later (→)', 'right', () => this.move(0.5))),
      el('div', { class: 'segments' }, button('Zoom out (−)', 'minus', () => this.zoom(2)), button('Zoom in (+)', 'plus', () => this.zoom(0.5)), button('Back to the range before (Esc)', 'back', this.back)),
      this.#live, this.#o.extra || []);
  }

  /** The range now: {from, to, live, name}. */
  get range() { return this.#range; }

  /** True while the page shows other ranges than the bar's: no button looks pressed then. */
  set muted(on) {
    this.#muted = on;
    this.#show();
  }

  /** The range as of this moment: a live one has moved on. */
  now() {
    if (this.#range.live) {
      this.#range = rangeOf(this.#url, undefined, this.#o.fallback);
      this.#show();
    }
    return this.#range;
  }

  /** The address has changed. @param {URL} url */
  update(url) {
    this.#url = url;
    // The browser's own Back may have been there already.
    const here = this.#params();
    while (this.#before.length && this.#before.at(-1).from === here.from && this.#before.at(-1).to === here.to) this.#before.pop();
    this.#range = rangeOf(url, undefined, this.#o.fallback);
    this.#show();
    this.#o.onChange({ ...this.#range, final: true });
  }

  /** For a chart's onRange. */
  drag(from, to, final) {
    const now = Date.now() / 1000;
    if (to > now) [from, to] = [from - (to - now), now];
    if (final) {
      this.#to(from, to);
      return;
    }
    this.#range = { from, to, live: false, name: '', query: {} };
    this.#show();
    this.#o.onChange({ ...this.#range, final: false });
  }

  /** For a chart's onBack: the range before the last zoom, or a range that is twice as long. */
  back() {
    const before = this.#before.pop();
    if (before) {
      this.#context.go(withParams(this.#url, before));
    } else if (!this.#range.name) { // the address was opened zoomed in
      const { from, to } = zoomed(this.#range, 2);
      this.#go(rangeParams(from, to));
    }
  }

  /** @param {typeof ranges[number]} range one of `ranges` */
  choose(range) {
    this.#remember();
    this.#go({ from: range.from, to: null });
  }

  /** @param {number} part of the length; negative is earlier */
  move(part) {
    const { from, to } = moved(this.#range, part);
    this.#to(from, to);
  }

  /** @param {number} factor below 1 zooms in */
  zoom(factor) {
    const { from, to } = zoomed(this.#range, factor);
    this.#to(from, to);
  }

  /** Follows what comes in, or stands still. */
  follow() {
    const { from, to, live } = this.#range;
    if (live) {
      this.#remember();
      this.#go({ from: Math.round(from), to: Math.round(to) });
    } else {
      this.#to(Date.now() / 1000 - (to - from), Date.now() / 1000);
    }
  }

  #to(from, to) {
    this.#remember();
    this.#go(rangeParams(from, to));
  }

  #go(params) {
    this.#context.go(withParams(this.#url, { ...params, ...this.#o.params }));
  }

  #remember() {
    this.#before.push(this.#params());
    if (this.#before.length > 100) this.#before.shift();
  }

  #params() {
    return { from: this.#url.searchParams.get('from'), to: this.#url.searchParams.get('to') };
  }

  #show() {
    const { from, to, live, name } = this.#range;
    for (const [of, button] of this.#buttons) button.setAttribute('aria-pressed', String(of === name && !this.#muted));
    this.#live.setAttribute('aria-pressed', String(live));
    this.#words.disabled = this.#muted;
    setText(this.#words, shortSpan(from, to));
    this.#words.setAttribute('aria-label', `${span(from, to)}. Choose another range`);
  }

  // A dialog for any range, in the reader's time zone.
  #ask() {
    this.#custom?.remove();
    const { from, to } = this.#range;
    const local = (seconds) => new Date((Math.round(seconds) - new Date(seconds * 1000).getTimezoneOffset() * 60) * 1000).toISOString().slice(0, 19);
    const first = el('input', { type: 'datetime-local', step: '1', required: true, value: local(from) });
    const last = el('input', { type: 'datetime-local', step: '1', required: true, value: local(to) });
    const wrong = el('p', { class: 'wrong', role: 'alert' });
    const dialog = el('dialog', { class: 'range-dialog', 'aria-labelledby': 'range-title' }, el('form', { method: 'dialog' },
      el('h2', { id: 'range-title' }, 'Range of time'),
      el('label', {}, 'From', first), el('label', {}, 'To', last), el('p', { class: 'soft' }, `Times are in ${zone()}.`), wrong,
      el('div', { class: 'buttons' }, el('button', { type: 'button', class: 'quiet', onclick: () => dialog.close() }, 'Cancel'), el('button', { class: 'main' }, 'Show'))));
    dialog.addEventListener('submit', (event) => {
      const a = new Date(first.value).getTime() / 1000, b = new Date(last.value).getTime() / 1000;
      if (b - a >= 10) {
        this.#to(a, b);
        return;
      }
      event.preventDefault();
      setText(wrong, 'The range ends before it begins, or is shorter than 10 seconds.');
    });
    dialog.addEventListener('close', () => dialog.remove());
    dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
    this.#custom = dialog;
    document.body.append(dialog);
    dialog.showModal();
  }
}
