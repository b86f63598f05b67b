// The legend: a table of the lines with their last, least, average and greatest value. While the
// crosshair is on a chart, the first column shows the values there.

import { el, fill, setText } from '../dom.js';
import { moment } from '../format.js';
import { seen, summary, valueAt } from './data.js';

export class Legend {
  #o; #body; #first; #more; #rows = new Map(); #open = false; #text = String; #compared = () => ''; #from = 0; #to = 0; #at = null; #colour = () => '';

  /** @param {{title: string, fold: number, onToggle: (label: string, alone: boolean) => void, onHover: (label: string|null) => void}} options */
  constructor(options) {
    this.#o = options;
    this.#first = el('th', { scope: 'col' }, 'last');
    this.#body = el('tbody');
    this.#more = el('button', { class: 'legend-more', type: 'button', hidden: true, onclick: () => this.#unfold() });
    const head = el('tr', {}, el('th', { scope: 'col' }, el('span', { class: 'unseen' }, 'line')), this.#first,
      ['min', 'avg', 'max'].map((name) => el('th', { scope: 'col', class: 'statistic' }, name)));
    this.element = el('div', { class: 'legend' }, el('table', { 'aria-label': options.title }, el('thead', {}, head), this.#body), this.#more);
  }

  /** @param {import('../chart.js').Line[]} lines @param {Set<string>} hidden */
  setLines(lines, hidden, colour) {
    const same = lines.length === this.#rows.size && lines.every((l) => this.#rows.has(l.label));
    if (!same) this.#build(lines);
    this.#colour = colour;
    lines.forEach((line, index) => {
      const row = this.#rows.get(line.label);
      row.line = line;
      row.swatch.style.backgroundColor = colour(line, index);
      row.button.setAttribute('aria-pressed', String(!hidden.has(line.label)));
      row.element.classList.toggle('off', hidden.has(line.label));
    });
  }

  #build(lines) {
    this.#rows.clear();
    fill(this.#body, lines.map((line) => this.#row(line)));
    this.#fold();
  }

  #row(line) {
    const swatch = el('i', { class: line.style === 'band' ? 'swatch band' : 'swatch' });
    const button = el('button', {
      type: 'button',
      onclick: (event) => this.#o.onToggle(line.label, event.altKey || event.ctrlKey || event.metaKey),
      onpointerenter: () => this.#o.onHover(line.label), onpointerleave: () => this.#o.onHover(null),
    }, swatch, el('span', {}, line.label));
    const cells = [0, 1, 2, 3].map((i) => el('td', i ? { class: 'statistic' } : {}, ''));
    const name = line.href ? [button, el('a', { class: 'legend-open', href: line.href, 'aria-label': `Open ${line.label}`, title: 'Open' }, '↗')] : button;
    const element = el('tr', {}, el('th', { scope: 'row' }, el('div', {}, name)), cells);
    this.#rows.set(line.label, { line, element, button, swatch, cells });
    return element;
  }

  #unfold() {
    this.#open = !this.#open;
    this.#fold();
    if (this.#open) this.#write();
  }

  #fold() {
    const rows = [...this.#rows.values()];
    const folds = rows.length > this.#o.fold + 1;
    rows.forEach((row, i) => { row.element.hidden = folds && !this.#open && i >= this.#o.fold; });
    this.#more.hidden = !folds;
    this.#more.setAttribute('aria-expanded', String(this.#open));
    setText(this.#more, this.#open ? 'Show fewer' : `Show all ${rows.length}`);
  }

  /** Writes the values of a range, and in the hover of a name how it compares with before. @param {(value: number, line: object, more?: number, mean?: boolean) => string} text more: decimals, under the pointer */
  setRange(from, to, text, compared) {
    this.#compared = compared;
    this.#from = from;
    this.#to = to;
    this.#text = text;
    this.#write();
  }

  #write() {
    [...this.#rows.values()].forEach((row, index) => {
      const { line, cells } = row;
      row.swatch.style.backgroundColor = this.#colour(line, index); // the theme may have changed
      const [last, ...rest] = summary(line, this.#from, this.#to).map((v, i) => this.#text(v, line, 0, i === 2));
      row.last = last;
      const said = this.#compared(line);
      row.button.title = [line.label, said, 'Click: hide or show. Alt-click: only this one.'].filter(Boolean).join('\n');
      rest.forEach((text, i) => setText(cells[i + 1], text));
    });
    this.point(this.#at);
  }

  /** Shows the values at a time, or the last ones. @param {number|null} time */
  point(time) {
    this.#at = time;
    const inside = time !== null && time >= this.#from && time <= this.#to;
    const rows = [...this.#rows.values()];
    this.element.classList.toggle('pointed', inside);
    setText(this.#first, inside ? clock(time, rows[0]?.line.step) : 'last');
    for (const { line, cells, element, last } of rows) {
      if (element.hidden) continue;
      setText(cells[0], inside ? this.#text(valueAt(line, time, seen(line)), line, 1) : last ?? '');
    }
  }

  /** The last value of a line, as text. */
  last(label) {
    return this.#rows.get(label)?.last ?? '';
  }
}

// The time in the head of the column: short, the flag on the chart has the date.
function clock(time, step = 1) {
  const text = moment(time, step);
  return text.slice(text.indexOf(' ') + (step >= 86400 ? 6 : 12));
}
