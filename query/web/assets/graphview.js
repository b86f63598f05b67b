// A graph of the graph language as a live chart; the server computes its values.

import { Chart } from './chart.js';
import { chartLines, dataArgs, readGraph, writeGraph } from './graphmodel.js';
import { graphURL } from './graphlang.js';
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
  #root; #o; #model; #chart; #turn = 0;

  /**
   * @param {HTMLElement} root @param {string[]} args of rrdgraph
   * @param {import('./chart.js').Options & {signal: AbortSignal}} options signal: the page is left
   */
  constructor(root, args, options) {
    this.#root = root;
    this.#o = options;
    this.#model = readGraph(args);
    this.#chart = new Chart(root, { ...this.#drawing(), graph: () => writeGraph(this.#model), ...options });
  }

  /** The model. Change it, and call change. */
  get model() { return this.#model; }

  /** The chart. */
  get chart() { return this.#chart; }

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
      const from = Math.floor(range.from), to = Math.ceil(range.to);
      const answer = await values(dataArgs(m, (to - from) / points), { from, to, width: points }, this.#o.signal);
      if (mine !== this.#turn) return undefined;
      const lines = chartLines(m, answer);
      this.#chart.setLines(lines);
      return lines;
    } finally {
      clearTimeout(busy);
      this.#chart.setBusy(false);
    }
  }

  /** Moves the chart, and fetches nothing. */
  move(range) { this.#chart.setRange(range.from, range.to); }

  destroy() { this.#chart.destroy(); }
}
