// The bar that chooses a range of time: 1h … 1y, others by name or as they are typed, back and forth, live;
// the zone, how often a live range moves on, and what it is compared with.

import { isUTC, zone, zoneAt } from './clock.js';
import { el, icon, setText } from './dom.js';
import { shortSpan, span, time } from './format.js';
import { comparisons, moved, presets, rangeOf, rangeParams, ranges, withParams, zoomed } from './state.js';

const refreshes = [{ name: '', words: 'Live', seconds: 0 }, { name: '10s', words: '10 s', seconds: 10 }, { name: '1min', words: '1 min', seconds: 60 }, { name: 'off', words: 'Off', seconds: 0 }];
const young = [['-15min', 900], ['-1h', 3600], ['-3h', 10800], ['-6h', 21600]];

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
  #context; #url; #o; #words; #compared; #printed = el('p', { class: 'printed' }); #buttons = new Map(); #live; #panel = null; #before = []; #range; #muted = false;

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
    this.#live = el('button', { type: 'button', class: 'live', title: 'Follow what comes in (l)', onclick: () => this.follow() }, el('i'), el('span', {}, 'Live'));
    this.#compared = el('button', { type: 'button', title: 'Compare with nothing', onclick: () => this.#go({ compare: null }) });
    this.#words = el('button', { type: 'button', class: 'range-words', title: 'Choose another range', 'aria-haspopup': 'dialog', onclick: () => this.#open() });
    return el('div', { class: 'rangebar', role: 'toolbar', 'aria-label': 'Range of time' },
      el('div', { class: 'segments' }, [...this.#buttons.values()]),
      el('div', { class: 'segments' }, button('Earlier (←)', 'left', () => this.move(-0.5)), this.#words, button('Later (→)', 'right', () => this.move(0.5))),
      el('div', { class: 'segments' }, button('Zoom out (−)', 'minus', () => this.zoom(2)), button('Zoom in (+)', 'plus', () => this.zoom(0.5)), button('Back to the range before (Esc)', 'back', this.back)),
      this.#live, this.#compared, this.#o.extra || [], this.#printed);
  }

  /** The range now: {from, to, live, name}. */
  get range() { return this.#range; }

  /** True if the range moves on by itself. */
  get follows() { return this.#range.live && this.#refresh.name !== 'off'; }

  get #refresh() { return refreshes.find((r) => r.name === this.#url.searchParams.get('refresh')) || refreshes[0]; }

  /** The seconds until the next look at what is new: as the reader wants it, or as the page proposes. */
  every(proposed) { return this.#refresh.seconds || proposed; }

  /** What is to be shown of something that is so many seconds old. An address that names a range keeps it. */
  fit(age) {
    const fallback = young.find(([, length]) => age < length * 0.95)?.[0];
    if (!fallback || fallback === this.#o.fallback || this.#url.searchParams.has('from') || this.#url.searchParams.has('to')) return false;
    this.#o.fallback = fallback;
    this.#range = rangeOf(this.#url, undefined, fallback);
    this.#show();
    return true;
  }

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
    this.#range = { ...this.#range, from, to, live: false, name: '', query: {} };
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

  /** @param {{from: string, to?: string}} range one of `ranges` or `presets` */
  choose(range) {
    this.#remember();
    this.#go({ from: range.from, to: range.to });
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
    const { seconds, words, name: refresh } = this.#refresh;
    setText(this.#live.lastChild, seconds ? words : 'Live');
    this.#live.classList.toggle('paused', refresh === 'off');
    setText(this.#words, `${shortSpan(from, to)} ${zoneAt(to)}`);
    setText(this.#printed, `${span(from, to)}, ${zone()}`);
    const compared = comparisons.find((c) => c.name === this.#range.compare);
    this.#compared.hidden = !compared;
    setText(this.#compared, `Compared with ${compared?.words} ×`);
    this.#words.setAttribute('aria-label', `${span(from, to)}. Choose another range`);
  }

  // A panel for any range, and for how it is shown. What is chosen takes effect at once.
  #open() {
    const { from, to, query, live } = this.#range, { searchParams } = this.#url;
    const choice = (label, list, now, run) => el('div', { class: 'panel-row', role: 'group', 'aria-label': label }, el('span', {}, label),
      el('div', { class: 'segments' }, list.map(({ name, words }) => el('button', {
        type: 'button', 'aria-pressed': String(name === now), onclick: () => { panel.hidePopover(); run(name); },
      }, words))));
    const set = (key) => (value) => this.#go({ [key]: value });
    const first = el('input', { value: query.from === 'now' || !live ? time(from) : query.from, 'aria-label': 'From', autocapitalize: 'off', spellcheck: 'false', size: '19' });
    const last = el('input', { value: live ? 'now' : time(to), 'aria-label': 'To', autocapitalize: 'off', spellcheck: 'false', size: '19' });
    const wrong = el('p', { class: 'wrong', role: 'alert' });
    const form = el('form', { class: 'panel-row' }, el('span', {}, 'From, to'), first, last, el('button', { class: 'main' }, 'Show'));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#typed(first.value.trim(), last.value.trim()).then(() => panel.hidePopover(), (error) => setText(wrong, error.message));
    });
    const pressed = (p) => String(live && !p.to && p.from === query.from || p.from === query.from && p.to === query.to);
    const panel = this.#panel = el('div', { class: 'range-panel', role: 'dialog', popover: 'auto', 'aria-label': 'Range of time' },
      el('div', { class: 'presets' }, presets.map((p) => el('button', { type: 'button', 'aria-pressed': pressed(p), onclick: () => { panel.hidePopover(); this.choose(p); } }, p.words))),
      form, wrong, el('p', { class: 'soft' }, 'Such as -3h, yesterday, noon, 18:00, 2026-11-27 18:00, now'),
      choice('Zone', [{ name: '', words: this.#local() }, { name: 'UTC', words: 'UTC' }], isUTC() ? 'UTC' : '', (tz) => this.#context.go(withParams(this.#url, { tz }), { anew: true })),
      choice('Refresh', refreshes, this.#refresh.name, set('refresh')),
      choice('Compare with', [{ name: '', words: 'nothing' }, ...comparisons], searchParams.get('compare') || '', set('compare')));
    panel.addEventListener('toggle', (event) => { if (event.newState === 'closed') panel.remove(); });
    panel.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') panel.hidePopover();
      event.stopPropagation();
    });
    this.element.append(panel);
    panel.showPopover();
    const place = this.#words.getBoundingClientRect();
    panel.style.top = `${place.bottom + scrollY + 6}px`;
    panel.style.left = `${Math.max(8, Math.min(place.left, innerWidth - panel.offsetWidth - 8))}px`;
  }

  #local() { return Intl.DateTimeFormat().resolvedOptions().timeZone || 'Local'; }

  // The server reads what the page does not know; the address then has seconds.
  async #typed(from, to) {
    const now = Date.now() / 1000, known = rangeOf(new URL(`?${new URLSearchParams({ from, to })}`, location.href), now);
    if (known.query.from === from && known.query.to === (to || 'now')) {
      this.choose({ from, to: to === 'now' ? null : to });
      return;
    }
    const answer = await fetch(`/times?${new URLSearchParams({ from, to, tz: zone() })}`, { signal: this.#context.signal });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const read = await answer.json();
    this.#remember();
    this.#go(to === 'now' || to === '' ? { from: read.from, to: null } : read);
  }
}
