// Cards of hosts and folders: name, age, sparkline, last value.

import { alertsOf, onAlerts } from './alerts.js';
import { el, setText } from './dom.js';
import * as format from './format.js';
import { num } from './rpc.js';
import { Spark } from './spark.js';
import { hostURL, seriesURL } from './state.js';
import { Tail } from './tail.js';

const hour = 3600;

/** A grid of cards, one a TreeNode. Setting nodes again changes what has changed, and nothing else. */
export class Cards {
  #cards = new Map(); #signal; #titles; #tail = new Tail();

  /** @param {AbortSignal} signal of the page @param {{receiver?: boolean}} [options] receiver: show the first segment of the path */
  constructor(signal, { receiver = false } = {}) {
    this.#signal = signal;
    this.#titles = receiver;
    this.element = el('ul', { class: 'cards' });
    onAlerts(() => this.tick(), signal);
  }

  /** The number of cards. */
  get size() { return this.#cards.size; }

  /**
   * Shows nodes. Cards that are there keep their places, so that nothing jumps under the pointer;
   * new ones come behind them.
   * @param {object[]} nodes
   */
  set(nodes) {
    const now = Date.now() / 1000;
    for (const node of nodes) {
      let card = this.#cards.get(node.path);
      if (!card) {
        card = this.#make(node);
        this.#cards.set(node.path, card);
        this.element.append(card.element);
      }
      card.node = node;
      this.#write(card, now);
    }
    this.element.classList.toggle('few', this.#cards.size <= 3);
  }

  /** Takes away the cards of all other nodes. @param {object[]} nodes */
  keep(nodes) {
    const paths = new Set(nodes.map((n) => n.path));
    for (const [path, card] of this.#cards) {
      if (paths.has(path)) continue;
      card.spark.destroy();
      card.element.remove();
      this.#cards.delete(path);
    }
  }

  #make(node) {
    const canvas = el('canvas', { class: 'card-spark', 'aria-hidden': 'true' });
    const card = {
      node, canvas, age: el('span', { class: 'card-age' }), value: el('span', { class: 'card-value' }), more: el('span', { class: 'card-more' }), alerts: el('span', { class: 'alert-mark', hidden: true }),
      dot: el('i', { class: 'dot' }), spark: new Spark(canvas, { upper: node.unit === '%' ? 100 : undefined }), last: NaN,
    };
    this.#signal.addEventListener('abort', () => card.spark.destroy());
    const href = node.isSeries && !node.isFolder ? seriesURL(node.path) : hostURL(node.path);
    card.element = el('li', {}, el('a', { class: 'card', href, title: node.path },
      el('span', { class: 'card-head' }, el('strong', {}, node.name), el('span', { class: 'card-when' }, card.dot, card.age)),
      canvas,
      el('span', { class: 'card-foot' }, el('span', { class: 'card-title' }, node.sparkTitle || ''), card.value),
      el('span', { class: 'card-foot' }, card.more, card.alerts, this.#titles ? el('span', { class: 'card-from' }, (node.senders || []).join(', ')) : null)));
    return card;
  }

  #write(card, now) {
    const { node } = card;
    const at = num(node.lastUpdateUs) / 1e6;
    setText(card.age, node.silent ? format.silence(at, now) : at ? format.ago(at, now) : 'no data yet');
    card.age.classList.toggle('silent', Boolean(node.silent));
    const steady = node.silent === false; // by its own steps
    card.dot.dataset.age = !at || node.silent || !steady && now - at > hour ? 'old' : steady || now - at <= 180 ? 'fresh' : 'late';
    const alerts = [...(node.alerts || []), ...alertsOf(node.path).map((a) => a.name)];
    card.alerts.hidden = !alerts.length;
    card.element.firstChild.classList.toggle('firing', alerts.length > 0);
    setText(card.alerts, [...new Set(alerts)].join(', '));
    const series = num(node.series);
    setText(card.more, series === 1 ? '1 series' : `${format.count(series)} series`);
  }

  /** Writes again how long ago each was updated. */
  tick() {
    const now = Date.now() / 1000;
    for (const card of this.#cards.values()) this.#write(card, now);
  }

  /** Fetches the last hour of all cards, in one request. */
  async fetch() {
    const cards = [...this.#cards.values()].filter((c) => c.node.sparkPath);
    if (!cards.length) return;
    const to = Date.now() / 1000, from = to - hour;
    const select = cards.map(({ node }) => ({ path: node.sparkPath, ds: node.sparkDs ? [node.sparkDs] : [], cf: node.sparkCf || 'AVERAGE' }));
    const rows = await this.#tail.fetch(select, { from, to, live: true }, 90, this.#signal);
    const lines = rows.map((r, i) => {
      const { node } = cards[i];
      const column = r.columns && (r.columns.get(node.sparkDs) || r.columns.values().next().value);
      return column && { start: r.start, step: r.step, from, to, values: column.map((v) => v * (node.sparkFactor || 1) + (node.sparkOffset || 0)) };
    });
    const tops = topsOf(cards, lines);
    lines.forEach((line, i) => {
      if (!line) return;
      const { node, spark, canvas, value } = cards[i];
      const top = tops.get(kindOf(node)), cut = spark.set({ ...line, top });
      canvas.title = cut ? `Cut off at three times the middle host's; it goes up to ${format.value(cut, { unit: node.unit })}` : '';
      const last = line.values.findLast((v) => !Number.isNaN(v));
      setText(value, last === undefined ? '–' : format.value(last, { unit: node.unit, base: /^B/.test(node.unit || '') ? 1024 : 1000 }));
    });
  }
}

const kindOf = (node) => `${node.sparkTitle} ${node.unit}`;

// Cards that show the same thing share one scale, or a host that stands out would look as all others
// do. Its top is three times the middle host's greatest value at most: one host does not press the
// others flat.
function topsOf(cards, lines) {
  const greatest = new Map();
  lines.forEach((line, i) => {
    const top = line ? line.values.reduce((a, v) => (v > a ? v : a), 0) : 0;
    if (top > 0) greatest.set(kindOf(cards[i].node), [...(greatest.get(kindOf(cards[i].node)) || []), top]);
  });
  return new Map([...greatest].map(([kind, tops]) => {
    tops.sort((a, b) => a - b);
    return [kind, Math.min(tops[tops.length - 1], 3 * tops[Math.floor((tops.length - 1) / 2)])];
  }));
}
