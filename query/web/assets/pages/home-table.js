// The table of hosts at home: rows are made as they scroll into sight.

import { alertsOf } from '../alerts.js';
import { el, fill, setText } from '../dom.js';
import * as format from '../format.js';
import { num } from '../rpc.js';
import { hostURL, withParams } from '../state.js';

// Columns: what it is called in the address, its title, its unit, the least top of its scale, and more words.
const figures = [
  ['cpu', 'CPU', '%', 100, 'Busy, of all cores'], ['load', 'Load', '', 2, 'Load of a minute, by core'], ['memory', 'Memory', '%', 100, 'Used'], ['disk', 'Disk', '%', 100, 'The fullest file system'], ['in', 'In', 'bit/s', 0, 'Network'], ['out', 'Out', 'bit/s', 0, 'Network'],
];
const around = 12; // rows that are made above and below those in sight

/** The name of a host in a title: without the domain that all share. @param {string} name @param {string} [domain] */
export const shortName = (name, domain) => (domain && name.endsWith(domain) ? name.slice(0, -domain.length) : name);

/** What is said of a host: firing, silent or ok. @param {object} host */
export const stateOf = (host) => (alertNames(host).length ? 'firing' : host.silent ? 'silent' : 'ok');

/** The alerts that fire and name a host. @param {object} host @returns {string[]} */
export const alertNames = (host) => [...new Set([...(host.alerts || []), ...alertsOf(host.node.path).map((a) => a.name)])];

export class HostTable {
  #rows = []; #total = 0; #domain = ''; #made = new Map(); #body; #head; #above; #below; #height = 33; #url; #columns = [];

  /** @param {(offset: number, limit: number) => void} want is called when other rows are in sight @param {AbortSignal} signal */
  constructor(want, signal) {
    this.#head = el('tr');
    this.#above = el('tr', { 'aria-hidden': 'true' }, el('td'));
    this.#below = el('tr', { 'aria-hidden': 'true' }, el('td'));
    this.#body = el('tbody');
    this.element = el('table', { class: 'hosts', 'aria-label': 'Hosts' }, el('thead', {}, this.#head), this.#body);
    let asked = 0;
    const moved = () => {
      this.draw();
      clearTimeout(asked);
      asked = setTimeout(() => { if (this.#lacks()) want(...this.sight); }, 60);
    };
    addEventListener('scroll', moved, { passive: true, signal });
    addEventListener('resize', moved, { signal });
  }

  /** The rows in sight and near: the first, and how many. @returns {[number, number]} */
  get sight() {
    const top = -this.#body.getBoundingClientRect().top;
    const first = Math.min(Math.max(0, Math.floor(top / this.#height) - around), Math.max(0, this.#total - 1));
    return [first, Math.max(1, Math.min(this.#total - first, Math.ceil(innerHeight / this.#height) + 2 * around))];
  }

  #lacks() {
    const [first, count] = this.sight;
    for (let i = first; i < Math.min(first + count, this.#total); i++) if (!this.#rows[i]) return true;
    return false;
  }

  /** Shows rows of an answer of Hosts from an offset on. @param {URL} url of the page @param {boolean} anew other rows are not those of this order */
  set(url, offset, { hosts = [], total, domain }, anew) {
    if (anew) this.#rows = [];
    hosts.forEach((host, i) => { this.#rows[offset + i] = host; });
    this.#total = num(total);
    this.#rows.length = this.#total;
    this.#domain = domain;
    this.#url = url;
    this.element.setAttribute('aria-rowcount', String(this.#total + 1));
    this.#heads();
    this.draw();
  }

  #heads() {
    const pin = this.#url.searchParams.get('pin');
    this.#columns = [...figures, ...(pin ? [['pin', pin, '', 0]] : [])];
    this.element.classList.toggle('pinned', Boolean(pin)); // on a phone it takes the place of others
    const sort = this.#url.searchParams.get('sort') || 'name';
    const by = sort.replace('-', '');
    const heads = [['name', 'Host'], ['seen', 'Seen'], ...this.#columns, ['alerts', 'Alerts']].map(([name, title, , , more]) => {
      const next = name === by ? (sort[0] === '-' ? name : `-${name}`) : name;
      const order = name !== by ? null : (sort[0] === '-') === (name === 'name') ? 'descending' : 'ascending';
      return el('th', { scope: 'col', class: `col-${name}`, title: more, 'aria-sort': order },
        el('a', { href: withParams(this.#url, { sort: next === 'name' ? null : next }) }, title));
    });
    const text = heads.map((h) => h.outerHTML).join('');
    if (text === this.#head.dataset.text) return;
    this.#head.dataset.text = text;
    fill(this.#head, el('th', { class: 'col-state' }, el('span', { class: 'unseen' }, 'State')), heads);
  }

  /** Makes the rows in sight, and takes others away. */
  draw() {
    if (!this.#url) return;
    const [first, count] = this.sight, end = Math.min(this.#total, first + count);
    const scales = this.#scales(first, end), now = Date.now() / 1000;
    const rows = [], made = new Map();
    for (let i = first; i < end; i++) {
      const host = this.#rows[i], key = host ? host.node.path : `row ${i}`;
      const row = this.#made.get(key) || el('tr', {}, ...this.#columns.map(() => el('td')), el('td'), el('td'), el('td'), el('td'));
      made.set(key, row);
      this.#write(row, host, i, scales, now);
      rows.push(row);
    }
    this.#made = made;
    this.#above.firstChild.style.height = `${first * this.#height}px`;
    this.#below.firstChild.style.height = `${(this.#total - end) * this.#height}px`;
    const wanted = [this.#above, ...rows, this.#below];
    if (wanted.length !== this.#body.children.length || wanted.some((r, i) => this.#body.children[i] !== r)) {
      const focus = this.#body.contains(document.activeElement) ? document.activeElement : null;
      this.#body.replaceChildren(...wanted);
      if (focus?.isConnected) focus.focus({ preventScroll: true });
    }
    const height = rows[0]?.getBoundingClientRect().height;
    if (height && Math.abs(height - this.#height) > 0.5) { // a larger font
      this.#height = height;
      this.draw();
    }
  }

  // A column has one scale: of the rows in sight.
  #scales(first, end) {
    return this.#columns.map(([name, , unit, top]) => {
      const values = this.#rows.slice(first, end).map((h) => h?.[name]).filter((v) => typeof v === 'number');
      const of = name === 'pin' ? this.#rows.slice(first, end).find((h) => h?.node.unit)?.node.unit || '' : unit;
      return format.scaleOf(Math.min(0, ...values), Math.max(top, ...values), { unit: of });
    });
  }

  #write(row, host, i, scales, now) {
    row.setAttribute('aria-rowindex', String(i + 2));
    const cells = [...row.children];
    if (cells.length !== this.#columns.length + 4) { // another pin
      row.replaceChildren(...Array.from({ length: this.#columns.length + 4 }, () => el('td')));
      this.#write(row, host, i, scales, now);
      return;
    }
    row.classList.toggle('unknown', !host);
    if (!host) return;
    const [state, name, seen, ...rest] = cells, is = stateOf(host), { node } = host;
    if (row.dataset.state !== is) {
      row.dataset.state = is;
      fill(state, el('i', { class: 'dot', 'data-state': is }), el('span', { class: 'unseen' }, is));
    }
    if (!name.firstChild) name.append(el('a', { href: hostURL(node.path) }));
    setText(name.firstChild, shortName(node.name, this.#domain));
    name.title = `${node.name}: ${format.count(num(node.series))} series, by ${(host.senders || []).join(', ')}`;
    const at = num(node.lastUpdateUs) / 1e6;
    setText(seen, host.silent ? format.silence(at, now) : at ? format.ago(at, now) : 'no data yet');
    this.#columns.forEach(([column], k) => {
      const cell = rest[k], v = host[column];
      cell.className = `col-${column}`;
      setText(cell, typeof v === 'number' ? format.scaled(v, scales[k]) : '');
      cell.classList.toggle('high', column === 'load' ? v >= 1.5 : ['cpu', 'memory', 'disk'].includes(column) && v >= 90);
      if (column === 'pin') cell.title = node.sparkPath || '';
    });
    const alerts = alertNames(host), last = rest.at(-1);
    last.className = 'col-alerts';
    seen.className = 'col-seen';
    seen.dataset.alerts = alerts.join(', '); // a phone has no column for them
    if (last.textContent !== alerts.join(', ')) fill(last, alerts.length ? el('a', { class: 'alert-mark', href: '/alerts' }, alerts.join(', ')) : null);
  }
}
