// A graph of the graph language as a live chart; the server computes its values.

import { Chart } from './chart.js';
import { Before } from './compare.js';
import { setText } from './dom.js';
import { chartLines, dataArgs, queryOf, readGraph, writeGraph } from './graphmodel.js';
import { graphURL } from './graphlang.js';
import { queryRange, unitOf } from './promql.js';
import { RPCError } from './rpc.js';

/** Values of a graph. @param {string[]} args @param {object} range @param {AbortSignal} signal */
export async function values(args, range, signal) {
  let response;
  try {
    response = await fetch(graphURL('json', args, range), { signal });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new RPCError('unavailable', 'the server does not answer');
  }
  if (!response.ok) throw new RPCError(response.status === 404 ? 'not_found' : 'invalid_argument', (await response.text()).trim());
  return response.json();
}

export class GraphView {
  #root; #o; #model; #chart; #before; #turn = 0; #results = new Map();

  /**
   * @param {HTMLElement} root @param {string[]} args of rrdgraph
   * @param {import('./chart.js').Options & {signal: AbortSignal}} options signal: the page is left
   */
  constructor(root, args, options) {
    this.#root = root;
    this.#o = options;
    this.#model = readGraph(args);
    this.#chart = new Chart(root, { ...this.#drawing(), graph: () => writeGraph(this.#model), ...options });
    this.#before = new Before(this.#chart);
  }

  /** The model. Change it, and call change. */
  get model() { return this.#model; }

  /** The chart. */
  get chart() { return this.#chart; }

  /** What the server says of the queries that are shown, by their names. @returns {Map<string, import('./promql.js').Result>} */
  get results() { return this.#results; }

  #drawing() {
    const m = this.#model;
    return {
      unit: m.unit, base: m.base, lower: m.lower, upper: m.upper, log: m.log, rightUnit: m.right?.unit || '',
      stack: m.draws.some((d) => d.stack),
    };
  }

  /** Takes other arguments; the chart stays. @param {string[]} args */
  change(args) {
    this.#model = readGraph(args);
    this.#before.fail(); // its lines are those of the old model
    this.#chart.set(this.#drawing());
  }

  /**
   * Shows a range. @param {{from: number, to: number}} range @param {boolean} [quiet] it only moves on: nothing turns pale
   * @returns {Promise<import('./chart.js').Line[]|undefined>} rejected with an RPCError; undefined if overtaken
   */
  async show(range, quiet = false) {
    const mine = ++this.#turn, m = this.#model;
    this.#chart.setRange(range.from, range.to);
    if (!m.draws.length) {
      this.#chart.setLines([]);
      return [];
    }
    const points = Math.max(200, Math.round(this.#root.clientWidth || 800));
    const busy = quiet ? 0 : setTimeout(() => this.#chart.setBusy(true), 300);
    try {
      const { lines, results, failed, asked, plain } = await this.#ask(range, points);
      if (mine !== this.#turn) return undefined;
      this.#results = new Map(asked.map((q, i) => [q.name, results[i]]));
      this.#chart.setLines(lines);
      if (!lines.length && asked.length) this.#chart.setMessage(results.find((r) => r.error)?.error || (asked.some((q) => q.expr) ? 'No data in this range' : 'An expression is missing'));
      if (!m.unit && asked.length && !plain) this.#measure(asked[0].expr, mine);
      this.#compare(range, points);
      if (failed) throw failed;
      return lines;
    } finally {
      clearTimeout(busy);
      this.#chart.setBusy(false);
    }
  }

  // The lines of a range: of series and expressions, and of PromQL.
  async #ask(range, points) {
    const m = this.#model, from = Math.floor(range.from), to = Math.ceil(range.to);
    const args = dataArgs(m, (to - from) / points), asked = m.queries.filter((q) => m.draws.some((d) => queryOf(m, d) === q));
    const mixed = m.expressions.find((e) => e.rpn.split(',').some((word) => m.queries.some((q) => q.name === word)));
    if (mixed) throw new RPCError('invalid_argument', `${mixed.name} computes with PromQL, which expressions of rrdtool do not know: write it in PromQL`);
    let failed = null;
    const [answer, results] = await Promise.all([
      args.length ? values(args, { from, to, width: points }, this.#o.signal).catch((error) => { failed = error; }) : null,
      Promise.all(asked.map((q) => queryRange(q.expr, { from, to }, Math.min(points, 1200), this.#o.signal))),
    ]);
    if (failed?.name === 'AbortError' || (failed && !asked.length)) throw failed;
    return { lines: chartLines(m, answer, new Map(asked.map((q, i) => [q.name, results[i]]))), results, failed, asked, plain: args.length > 0 };
  }

  async #compare(range, points) {
    const before = this.#before.wants(range);
    if (before) await this.#ask(before, points).then(({ lines }) => this.#before.take(lines), () => this.#before.fail());
  }

  // The unit of PromQL comes from metadata, a moment after its values.
  async #measure(expr, turn) {
    const unit = await unitOf(expr, this.#o.signal);
    if (turn !== this.#turn || unit === this.#chart.options.unit) return;
    this.#chart.set({ unit });
    setText(this.#root.querySelector('.unit'), unit);
  }

  /** Moves the chart, and fetches nothing. */
  move(range) { this.#chart.setRange(range.from, range.to); }

  destroy() { this.#chart.destroy(); }
}
