// A table that is renewed in place: rows keep their elements, so that nothing flashes and a
// selection stays.

import { el, fill, setText } from './dom.js';

/**
 * @template R
 * @typedef {object} Column
 * @property {string} name
 * @property {(row: R) => string|number} [value] what is shown as text, and sorted by
 * @property {(row: R) => string} [text] the text, if it differs from value
 * @property {(row: R) => Node|Node[]} [nodes] elements in place of a text; made anew only when value changes
 * @property {boolean} [number] aligned at the right
 * @property {boolean} [wide] hidden where there is little room
 * @property {string} [title] explains the column
 */

/** @template R */
export class Sheet {
  #columns; #key; #rows = new Map(); #body; #heads; #order = null; #list = []; #empty;

  /**
   * @param {Column<R>[]} columns
   * @param {{caption: string, key: (row: R) => string, empty?: string}} options
   */
  constructor(columns, { caption, key, empty = 'None.' }) {
    this.#columns = columns;
    this.#key = key;
    this.#body = el('tbody');
    this.#heads = columns.map((c, i) => el('th', { scope: 'col', class: classOf(c), title: c.title },
      el('button', { type: 'button', onclick: () => this.#sort(i) }, c.name)));
    this.#empty = el('p', { class: 'soft sheet-empty' }, empty);
    this.element = el('div', { class: 'sheet', tabindex: '0', role: 'region', 'aria-label': caption },
      el('table', {}, el('caption', { class: 'unseen' }, caption), el('thead', {}, el('tr', {}, this.#heads)), this.#body), this.#empty);
  }

  /** @param {R[]} list */
  update(list) {
    this.#list = list;
    this.#empty.hidden = list.length > 0;
    const seen = new Set();
    let before = null;
    for (const row of this.#sorted()) {
      const key = this.#key(row);
      seen.add(key);
      const shown = this.#rows.get(key) || this.#add(key);
      this.#write(shown, row);
      const place = before ? before.nextSibling : this.#body.firstChild;
      if (place !== shown.element) this.#body.insertBefore(shown.element, place);
      before = shown.element;
    }
    for (const [key, shown] of this.#rows) {
      if (seen.has(key)) continue;
      shown.element.remove();
      this.#rows.delete(key);
    }
  }

  #add(key) {
    const cells = this.#columns.map((c, i) => el(i ? 'td' : 'th', { class: classOf(c), scope: i ? null : 'row' }));
    const shown = { element: el('tr', {}, cells), cells, values: [] };
    this.#rows.set(key, shown);
    return shown;
  }

  #write({ cells, values }, row) {
    this.#columns.forEach((c, i) => {
      const value = c.value?.(row);
      if (!c.nodes) {
        setText(cells[i], c.text ? c.text(row) : String(value ?? ''));
      } else if (values[i] !== value || !cells[i].firstChild) {
        fill(cells[i], c.nodes(row));
      }
      values[i] = value;
    });
  }

  #sorted() {
    if (!this.#order) return this.#list;
    const { column, down } = this.#order;
    const { value } = this.#columns[column];
    return [...this.#list].sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)));
  }

  #sort(column) {
    const was = this.#order;
    const first = Boolean(this.#columns[column].number); // numbers: the greatest first
    if (was?.column !== column) this.#order = { column, down: first };
    else this.#order = was.down === first ? { column, down: !first } : null;
    this.#heads.forEach((head, i) => {
      const down = this.#order?.column === i && this.#order.down;
      if (this.#order?.column === i) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    this.update(this.#list);
  }
}

function compare(a, b) {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
}

const classOf = (c) => [c.number && 'number', c.wide && 'wide'].filter(Boolean).join(' ') || null;
