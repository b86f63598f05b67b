// Charts of the method Charts on a page: drawn when they come into view, fetched together.

import { Chart, paper } from './chart.js';
import { Before } from './compare.js';
import { Crosshair } from './crosshair.js';
import { fetchMany, fetchNow, linesOf, selectionKey, selectionsOf } from './data.js';
import { call } from './rpc.js';
import { seriesURL } from './state.js';
import { Tail } from './tail.js';

/** A chart has hardly anything to show: the first and the last reading, say. */
export const bare = 2;

/**
 * Charts that share a range and a crosshair.
 *
 *     const set = new ChartSet({ signal, onRange: bar.drag, onBack: bar.back });
 *     set.add(element, chart);       // a message Chart of the method Charts
 *     set.show(range);               // fetches what is in view
 *     set.move(range);               // while the reader drags: moves, and fetches nothing
 */
export class ChartSet {
  #o; #cells = new Map(); #seen; #range = null; #planned = 0; #turn = 0; #tail = new Tail(); #crosshair = new Crosshair();

  /**
   * @param {{signal: AbortSignal, onRange?: Function, onBack?: Function, points?: number, actions?: (chart: object) => Array,
   *   options?: import('./chart.js').Options, title?: string, href?: string, onZero?: (element: HTMLElement, of: object, zero: boolean) => void}} options
   *   onZero: whether all values that are seen are zero; such a chart is fetched though it is hidden; points: rows of a line; left out, as the
   *   widest chart needs
   */
  constructor(options) {
    this.#o = options;
    this.#seen = new IntersectionObserver((entries) => this.#scrolled(entries), { rootMargin: '250px 400px' });
    options.signal.addEventListener('abort', () => this.clear());
    this.print = this.print.bind(this);
    addEventListener('beforeprint', this.print);
  }

  /** Adds a chart, which is made when its element comes into view. @param {HTMLElement} element @param {object} of */
  add(element, of) {
    this.#cells.set(element, { of, element, chart: null, visible: null, turn: -1 });
    this.#seen.observe(element);
  }

  /** Takes all charts away. */
  clear() {
    this.#seen.disconnect();
    removeEventListener('beforeprint', this.print);
    cancelAnimationFrame(this.#planned);
    for (const cell of this.#cells.values()) cell.chart?.destroy();
    this.#cells.clear();
  }

  /** Moves the charts; what they have stays on them. @param {{from: number, to: number}} range */
  move(range) {
    this.#range = range;
    for (const { chart } of this.#cells.values()) chart?.setRange(range.from, range.to);
  }

  /** Shows a range: what is in view is fetched now, the rest when it is seen. @param {{from: number, to: number}} range */
  show(range) {
    this.move(range);
    this.#turn++;
    this.#look();
    return this.#fetch();
  }

  /** When the oldest value was stored that is seen, in seconds since 1970; Infinity if there is none. */
  get oldest() {
    let first = Infinity;
    for (const { chart } of this.#cells.values()) {
      for (const { start, step, values } of chart?.lines || []) {
        const i = values.findIndex((v) => !Number.isNaN(v));
        if (i >= 0) first = Math.min(first, start + i * step);
      }
    }
    return first;
  }

  /** The seconds after which new rows are worth a look: a pixel or two of the range. */
  every() {
    const steps = [...this.#cells.values()].filter((c) => c.visible && c.chart).flatMap((c) => c.chart.lines.map((l) => l.step));
    const step = steps.length ? Math.min(...steps) : 10;
    return Math.min(300, Math.max(2, step, (this.#range.to - this.#range.from) / 800));
  }

  // The observer reports a frame or two later what is in view: the first charts need not wait for it.
  #look() {
    for (const cell of this.#cells.values()) {
      if (cell.visible !== null) continue;
      if (!cell.element.checkVisibility()) continue; // folded
      const { top, left } = cell.element.getBoundingClientRect();
      if (top > innerHeight) break;
      cell.visible = left < innerWidth && top > -1000;
    }
  }

  #scrolled(entries) {
    for (const entry of entries) {
      const cell = this.#cells.get(entry.target);
      if (cell) cell.visible = entry.isIntersecting;
    }
    this.#planned ||= requestAnimationFrame(() => {
      this.#planned = 0;
      this.#fetch().catch(() => {});
    });
  }

  #make(cell) {
    const { of } = cell;
    const single = new Set((of.lines || []).map((l) => l.path)).size === 1;
    cell.chart = new Chart(cell.element, {
      title: this.#o.title || of.title || of.id, href: this.#o.href || (single ? seriesURL(of.lines[0].path) : undefined), unit: of.unit, base: of.base || 1000,
      lower: of.lower, upper: of.upper, stack: of.stack, crosshair: this.#crosshair,
      onRange: this.#o.onRange, onBack: this.#o.onBack, actions: this.#o.actions?.(of), graph: of.arg && (() => of.arg), ...this.#o.options,
    });
    cell.chart.setRange(this.#range.from, this.#range.to);
    cell.before = new Before(cell.chart);
    const { chart } = cell;
    setTimeout(() => { if (!chart.lines.length && cell.turn >= 0) chart.setMessage('Loading …'); }, 400);
  }

  // Fetches rows for the charts in view that have none of the range yet.
  async #fetch() {
    if (!this.#range) return;
    const turn = this.#turn;
    const cells = [...this.#cells.values()].filter((c) => (c.visible || c.zero) && c.turn !== turn);
    if (!cells.length) return;
    // Charts of one width share a request: more rows than pixels would only be noise.
    const groups = new Map();
    for (const cell of cells) {
      cell.turn = turn;
      if (!cell.chart) this.#make(cell);
      const points = this.#o.points || Math.min(sums(cell.of) ? 500 : 1000, Math.max(300, Math.round(cell.element.clientWidth / 125) * 100));
      groups.set(points, [...(groups.get(points) || []), cell]);
    }
    await Promise.all([...groups].map(([points, some]) => this.#request(some, points, turn)));
    performance.mark('charts');
    await Promise.all([...groups].map(([points, some]) => this.#compare(some, points)));
  }

  async #compare(cells, points) {
    const wanting = cells.map((cell) => [cell, cell.before.wants(this.#range)]).filter(([, range]) => range);
    if (!wanting.length) return;
    const select = wantedBy(wanting.map(([cell]) => cell));
    try {
      const rows = await fetchMany([...select.values()], { ...wanting[0][1], points }, this.#o.signal);
      const found = new Map([...select.keys()].map((key, i) => [key, rows[i]]));
      for (const [cell] of wanting) cell.before.take(linesOf(cell.of, (key) => found.get(key)));
    } catch {
      for (const [cell] of wanting) cell.before.fail();
    }
  }

  /** Fetches what was not seen yet, and waits for it: paper has all charts. */
  print() {
    const cells = [...this.#cells.values()].filter((c) => !c.chart?.lines.length && c.element.checkVisibility());
    if (!cells.length || !this.#range) return;
    const wanted = wantedBy(cells), rows = fetchNow([...wanted.values()], { ...this.#range, points: 600 });
    const found = new Map([...wanted.keys()].map((key, i) => [key, rows[i]]));
    for (const cell of cells) {
      if (!cell.chart) this.#make(cell);
      this.#fill(cell, found);
      cell.chart.print(paper);
    }
  }

  async #request(cells, points, turn) {
    const wanted = wantedBy(cells);
    try {
      const keys = [...wanted.keys()];
      const rows = await this.#tail.fetch([...wanted.values()], this.#range, points, this.#o.signal);
      if (turn !== this.#turn) return;
      const found = new Map(keys.map((key, i) => [key, rows[i]]));
      for (const cell of cells) this.#fill(cell, found);
    } catch (error) {
      if (error.name === 'AbortError') return;
      for (const cell of cells) {
        cell.turn = -1;
        if (cell.chart && !cell.chart.lines.length) cell.chart.setMessage(error.message);
      }
      throw error;
    }
  }

  #fill(cell, found) {
    if (!cell.chart) return;
    const lines = linesOf(cell.of, (key) => found.get(key));
    for (const line of lines) line.href = line.sum ? undefined : seriesURL(line.path, line.ds);
    cell.chart.setLines(lines);
    cell.turn = this.#turn;
    cell.zero = lines.length > 0 && isZero(lines);
    this.#o.onZero?.(cell.element, cell.of, cell.zero);
    const { known } = cell.chart;
    if (known > bare) return;
    const failed = selectionsOf(cell.of).map((s) => found.get(selectionKey(s.path, s.cf))).find((r) => r instanceof Error);
    cell.chart.setMessage(cell.why || (known ? '' : lines.length || !failed ? 'No data in this range' : failed.message));
    this.#explain(cell).catch(() => {}); // the next fetch asks again
  }

  // What is the matter with the series of a bare chart, and what mends it.
  async #explain(cell) {
    const now = performance.now(), { path } = cell.of.lines?.[0] || {};
    if (!path || now < cell.asked + 60_000) return;
    cell.asked = now;
    const { problems = [] } = await call('Info', { path }, this.#o.signal);
    cell.why = problems.map((p) => `${p.text} ${p.advice}`)[0];
    if (cell.why && cell.chart?.known <= bare) cell.chart.setMessage(cell.why);
  }
}

// A chart that adds up many series is no finer than it has to be.
const sums = (of) => (of.lines || []).some((l) => l.sum?.length);

// isZero reports whether something is known, and all of it is zero.
function isZero(lines) {
  const known = lines.flatMap((l) => [l.values, l.max || []]).map((values) => values.filter((v) => !Number.isNaN(v)));
  return known.some((v) => v.length) && known.every((values) => values.every((v) => v === 0));
}

// What cells need of each series, once.
function wantedBy(cells) {
  const wanted = new Map();
  for (const cell of cells) {
    for (const s of selectionsOf(cell.of)) {
      const key = selectionKey(s.path, s.cf);
      const known = wanted.get(key);
      if (known) known.ds = [...new Set([...known.ds, ...s.ds])];
      else wanted.set(key, s);
    }
  }
  return wanted;
}
