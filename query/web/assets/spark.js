// A sparkline: the shape of the last hour, without axes.

import { inks, onTheme } from './theme.js';

export class Spark {
  #canvas; #line = null; #upper; #width = 0; #ends;

  /** @param {HTMLCanvasElement} canvas sized by CSS @param {{upper?: number}} [options] upper: the least top */
  constructor(canvas, { upper } = {}) {
    this.#canvas = canvas;
    this.#upper = upper;
    const sized = new ResizeObserver(([entry]) => {
      this.#width = entry.contentRect.width;
      this.#draw();
    });
    sized.observe(canvas);
    this.#ends = [() => sized.disconnect(), onTheme(() => this.#draw())];
  }

  /**
   * @param {{start: number, step: number, values: ArrayLike<number>, from: number, to: number, top?: number}} line
   *   top: the value at the upper edge, shared by sparklines that are compared; greater values are cut
   *   off, and marked there
   * @returns {number} the greatest value if it is cut off, else 0
   */
  set(line) {
    this.#line = line;
    this.#draw();
    const greatest = Math.max(0, ...Array.from(line.values).filter((v) => v > 0));
    return line.top > 0 && greatest > Math.max(line.top, this.#upper || 0) ? greatest : 0;
  }

  /** Ends it. */
  destroy() {
    for (const end of this.#ends) end();
  }

  #draw() {
    const width = this.#width, height = this.#canvas.clientHeight;
    if (!width || !height || !this.#line) return;
    const ratio = globalThis.devicePixelRatio || 1;
    if (this.#canvas.width !== Math.round(width * ratio)) this.#canvas.width = Math.round(width * ratio);
    if (this.#canvas.height !== Math.round(height * ratio)) this.#canvas.height = Math.round(height * ratio);
    const g = this.#canvas.getContext('2d');
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    const { start, step, values, from, to, top } = this.#line;
    let low = 0, high = this.#upper || 0;
    for (const v of values) {
      if (v < low) low = v;
      if (v > high) high = v;
    }
    if (top > low) high = Math.max(top, this.#upper || 0);
    if (high === low) high = low + 1;
    const x = (i) => (start + (i + 0.5) * step - from) / (to - from) * width;
    const y = (v) => height - 1.5 - (Math.min(v, high) - low) / (high - low) * (height - 4);
    const ink = inks();
    for (const [first, last] of runsOf(values)) {
      const path = new Path2D();
      path.moveTo(x(first - 0.5), y(values[first]));
      for (let i = first; i <= last; i++) path.lineTo(x(i), y(values[i]));
      path.lineTo(x(last + 0.5), y(values[last]));
      g.strokeStyle = g.fillStyle = ink.palette[0];
      g.lineWidth = 1.5;
      g.lineJoin = 'round';
      g.stroke(path);
      path.lineTo(x(last + 0.5), height);
      path.lineTo(x(first - 0.5), height);
      g.globalAlpha = 0.13;
      g.fill(path);
      g.globalAlpha = 1;
      g.fillStyle = ink.bad;
      for (let i = first; i <= last; i++) if (values[i] > high) g.fillRect(x(i - 0.5), 0, x(i + 0.5) - x(i - 0.5) + 0.5, 2.5);
    }
  }
}

function runsOf(values) {
  const runs = [];
  let begin = -1;
  for (let i = 0; i <= values.length; i++) {
    const has = i < values.length && !Number.isNaN(values[i]);
    if (has && begin < 0) begin = i;
    if (!has && begin >= 0) {
      runs.push([begin, i - 1]);
      begin = -1;
    }
  }
  return runs;
}
