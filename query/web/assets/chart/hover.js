// What stands beside the pointer: the time, what is marked there, and the values, the greatest first.

import { el, fill, setText } from '../dom.js';
import { moment } from '../format.js';

const most = 10;

/** The words above a chart at the crosshair, and on the chart that the pointer is on a card with the values. */
export class Hover {
  #flag = el('div', { class: 'chart-flag', hidden: true });
  #card = el('div', { class: 'chart-card', hidden: true });

  /** The elements, for the plot. */
  get elements() { return [this.#flag, this.#card]; }

  hide() {
    this.#flag.hidden = true;
    this.#card.hidden = true;
  }

  /**
   * @param {{x: number, width: number, time: number, step: number, marks: string[], mine: boolean, before?: string,
   *   rows: {label: string, colour: string, value: number, text: string, before?: string}[]}} at mine: the pointer is on this chart;
   *   before: what the second column shows
   */
  show({ x, width, time, step, marks, mine, before, rows }) {
    const card = mine && rows.length > 0;
    this.#flag.hidden = card;
    this.#card.hidden = !card;
    if (!card) {
      setText(this.#flag, [moment(time, step), ...marks].join(' · '));
      const half = this.#flag.offsetWidth / 2;
      this.#flag.style.transform = `translateX(${Math.round(Math.min(width - half * 2 - 2, Math.max(2, x - half)))}px)`;
      return;
    }
    const sorted = rows.filter((r) => !Number.isNaN(r.value)).sort((a, b) => b.value - a.value), more = sorted.length - most;
    fill(this.#card, el('p', {}, moment(time, step)), marks.map((m) => el('p', {}, m)), el('table', {},
      before ? el('tr', {}, el('td', {}), el('td', {}), el('td', { class: 'soft' }, before)) : null,
      sorted.slice(0, most).map((r) => {
        const swatch = el('i', { class: 'swatch' });
        swatch.style.backgroundColor = r.colour;
        return el('tr', {}, el('td', {}, swatch, r.label), el('td', {}, r.text), before ? el('td', { class: 'soft' }, r.before || '–') : null);
      })), more > 0 ? el('p', { class: 'soft' }, `and ${more} more`) : null);
    const wide = this.#card.offsetWidth;
    this.#card.style.transform = `translateX(${Math.round(x + 14 + wide < width || x - 14 - wide < 0 ? Math.min(x + 14, Math.max(0, width - wide)) : x - 14 - wide)}px)`;
  }
}
