// Draws on a canvas: axes, areas, bands, lines, marks. All sizes are CSS pixels.

import { timeTicks } from '../ticks.js';
import { middle, rightOf } from './data.js';

/**
 * @typedef {{left: number, right: number, top: number, bottom: number, from: number, to: number}} Frame
 *   the plot's edges in pixels, and the range in seconds
 */

/**
 * Gives a canvas its size in CSS pixels, and returns an empty context that counts in them.
 * @param {HTMLCanvasElement} canvas
 */
export function prepare(canvas, width, height) {
  const ratio = globalThis.devicePixelRatio || 1;
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const g = canvas.getContext('2d');
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
}

/**
 * How lines are drawn that are as thin as they can be: whole pixels of the screen, whatever the zoom of the
 * browser is.
 * @returns {{width: number, at: (v: number) => number}} in CSS pixels; at gives the nearest place that is sharp
 */
export function hair() {
  const ratio = globalThis.devicePixelRatio || 1;
  const n = Math.max(1, Math.floor(ratio));
  return { width: n / ratio, at: (v) => (Math.round(v * ratio - n / 2) + n / 2) / ratio };
}

/** The pixel of a time. @param {Frame} f @param {number} time */
export function xOf(f, time) {
  return f.left + (time - f.from) / (f.to - f.from) * (f.right - f.left);
}

/** The time of a pixel. @param {Frame} f @param {number} x */
export function timeOf(f, x) {
  return f.from + (x - f.left) / (f.right - f.left) * (f.to - f.from);
}

/** Draws grid and labels. */
export function drawAxes(g, f, left, right, ink, small) {
  g.font = `${small ? 10 : 11}px ${ink.font}`;
  const thin = hair();
  g.lineWidth = thin.width;
  g.textBaseline = 'middle';
  g.textAlign = 'right';
  left.ticks.forEach((tick, i) => {
    const y = thin.at(left.y(tick));
    if (y < f.top - 1 || y > f.bottom + 1) return;
    g.strokeStyle = tick === 0 ? ink.axis : ink.grid;
    line(g, f.left, y, f.right, y);
    g.fillStyle = ink.soft;
    g.fillText(left.labels[i], f.left - 7, y);
  });
  if (right) {
    g.textAlign = 'left';
    right.ticks.forEach((tick, i) => g.fillText(right.labels[i], f.right + 7, thin.at(right.y(tick))));
  }
  drawTimes(g, f, ink, small, thin);
}

function drawTimes(g, f, ink, small, thin) {
  const ticks = timeTicks(f.from, f.to, Math.max(2, (f.right - f.left) / (small ? 62 : 76)));
  g.textAlign = 'center';
  g.textBaseline = 'alphabetic';
  let free = -Infinity;
  for (const tick of ticks) {
    const x = thin.at(xOf(f, tick.time));
    g.strokeStyle = tick.major ? ink.axis : ink.grid;
    line(g, x, f.top, x, f.bottom + (tick.major ? 4 : 0));
    const half = g.measureText(tick.label).width / 2;
    const at = Math.min(Math.max(x, half + 2), f.width - half - 2);
    if (at - half < free || Math.abs(at - x) > half) continue;
    g.fillStyle = tick.major ? ink.text : ink.soft;
    g.fillText(tick.label, at, f.bottom + 16);
    free = at + half + 8;
  }
}

/** Draws a shape: its area or band, and its line. */
export function drawShape(g, f, shape, y, look) {
  const { line: of, top } = shape;
  if (!top || !top.length) return;
  const runs = known(shape, f);
  const x = (i) => xOf(f, middle(shape, i));
  x.left = (i) => xOf(f, shape.start + i * shape.step);
  x.right = (i) => xOf(f, rightOf(shape, i));
  const zero = Math.min(f.bottom, Math.max(f.top, y(0)));
  if (of.style === 'band') {
    g.fillStyle = look.colour;
    g.globalAlpha = look.bandAlpha;
    for (const run of runs) fillRun(g, run, x, (i) => y(top[i]), (i) => y(shape.bottom[i]));
    g.globalAlpha = 1;
    return;
  }
  if (of.min && of.max && top === of.values) {
    g.fillStyle = look.colour;
    g.globalAlpha = look.bandAlpha;
    for (const run of runs) fillRun(g, run, x, (i) => y(or(of.max[i], top[i])), (i) => y(or(of.min[i], top[i])));
    g.globalAlpha = 1;
  }
  if (of.style === 'area' || shape.bottom) {
    g.fillStyle = look.colour;
    g.globalAlpha = look.areaAlpha;
    const floor = shape.bottom ? (i) => y(shape.bottom[i]) : () => zero;
    for (const run of runs) fillRun(g, run, x, (i) => y(top[i]), floor);
    g.globalAlpha = 1;
  }
  g.strokeStyle = look.colour;
  g.lineWidth = look.width;
  g.lineJoin = 'round';
  g.setLineDash(of.dash || []);
  const whole = of.dash || !opaque.test(look.colour); // pieces would be seen where they meet
  for (const run of runs) strokeRun(g, run, x, (i) => y(top[i]), whole ? Infinity : piece);
  g.setLineDash([]);
  // A value alone between unknown ones would be a speck.
  g.fillStyle = look.colour;
  for (const [first, last] of runs) {
    if (x.right(last) - x.left(first) < 3) g.fillRect(x((first + last) / 2) - 1.25, y(top[first]) - 1.25, 2.5, 2.5);
  }
}

const or = (value, instead) => (Number.isNaN(value) || value === undefined ? instead : value);

// known gives the runs of known values that the frame shows, with one value more at each end.
function known({ start, step, top, bottom }, f) {
  const first = Math.max(0, Math.floor((f.from - start) / step) - 1);
  const last = Math.min(top.length - 1, Math.ceil((f.to - start) / step));
  const runs = [];
  let begin = -1;
  for (let i = first; i <= last + 1; i++) {
    const has = i <= last && !Number.isNaN(top[i]) && (!bottom || !Number.isNaN(bottom[i]));
    if (has && begin < 0) begin = i;
    if (!has && begin >= 0) {
      runs.push([begin, i - 1]);
      begin = -1;
    }
  }
  return runs;
}

const opaque = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i;

// The values of one path. A browser without a graphics card takes time for a path that grows with
// the square of its corners: a long one is drawn in pieces.
const piece = 32;

// strokeRun draws the line of a run. Its pieces do not overlap: that would be seen as dots.
function strokeRun(g, [first, last], x, at, length) {
  g.beginPath();
  g.moveTo(x.left(first), at(first));
  for (let i = first, n = 0; i <= last; i++) {
    g.lineTo(x(i), at(i));
    if (++n < length) continue;
    g.stroke();
    g.beginPath();
    g.moveTo(x(i), at(i));
    n = 0;
  }
  g.lineTo(x.right(last), at(last));
  g.stroke();
}

// fillRun fills between two edges. Its pieces meet between two pixels, so that no seam is seen.
function fillRun(g, [first, last], x, high, low) {
  const ratio = globalThis.devicePixelRatio || 1;
  const place = (i) => ((i - first) % piece === 0 ? Math.round(x(i) * ratio) / ratio : x(i));
  for (let begin = first; begin === first || begin < last; begin += piece) {
    const end = Math.min(begin + piece, last);
    const left = begin === first ? x.left(first) : place(begin);
    const right = end === last ? x.right(last) : place(end);
    g.beginPath();
    g.moveTo(left, high(begin));
    for (let i = begin; i <= end; i++) g.lineTo(place(i), high(i));
    g.lineTo(right, high(end));
    g.lineTo(right, low(end));
    for (let i = end; i >= begin; i--) g.lineTo(place(i), low(i));
    g.lineTo(left, low(begin));
    g.closePath();
    g.fill();
  }
}

/** Draws marks: spans hatched, moments as a dashed line with a flag. pale: spans are a background, and a bar at the foot. */
export function drawMarks(g, f, marks, ink, pale = false) {
  for (const mark of marks) {
    const colour = mark.severity === 'failure' || mark.severity === 'bad' ? ink.bad : mark.severity === 'warning' ? ink.warn : mark.severity === 'okay' ? ink.good : ink.soft;
    const a = xOf(f, mark.time);
    g.strokeStyle = colour;
    g.fillStyle = colour;
    if (mark.to) {
      const b = xOf(f, mark.to);
      const left = Math.max(a, f.left), right = Math.min(Math.max(b, a + 2), f.right);
      if (b < f.left || a > f.right) continue;
      hatch(g, left, right, f, pale ? 0.4 : 1);
      if (pale) g.fillRect(left, f.bottom - 3, right - left, 3);
      continue;
    }
    if (a < f.left || a > f.right) continue;
    const thin = hair(), x = thin.at(a);
    g.setLineDash([3, 3]);
    g.lineWidth = thin.width;
    line(g, x, f.top, x, f.bottom);
    g.setLineDash([]);
    g.beginPath();
    g.moveTo(x - 4.5, f.top);
    g.lineTo(x + 4.5, f.top);
    g.lineTo(x, f.top + 7);
    g.fill();
    if (!(mark.count > 1)) continue;
    g.font = `600 10px ${ink.font}`;
    g.textBaseline = 'top';
    g.textAlign = x > f.right - 20 ? 'right' : 'left';
    g.fillText(String(mark.count), x + (x > f.right - 20 ? -6 : 6), f.top);
  }
}

/** Draws the numbers with which rules compare: a dashed line and its words; only words where it lies out of sight. */
export function drawLevels(g, f, levels, ink) {
  const thin = hair();
  g.font = `600 10px ${ink.font}`;
  g.textAlign = 'left'; // the newest values are at the right
  g.textBaseline = 'alphabetic';
  for (const { y, text } of levels) {
    const above = y < f.top - 1, below = y > f.bottom + 1, at = thin.at(y);
    g.strokeStyle = ink.bad;
    g.lineWidth = thin.width;
    g.setLineDash([6, 4]);
    if (!above && !below) line(g, f.left, at, f.right, at);
    g.setLineDash([]);
    if (!text) continue;
    const words = `${above ? '↑ ' : below ? '↓ ' : ''}${text}`, foot = above || y - 14 < f.top ? Math.max(f.top, y) + 11 : Math.min(f.bottom, y) - 4;
    g.strokeStyle = ink.surface;
    g.lineWidth = 3;
    g.lineJoin = 'round';
    g.strokeText(words, f.left + 4, foot);
    g.fillStyle = ink.bad;
    g.fillText(words, f.left + 4, foot);
  }
}

function hatch(g, a, b, f, strength) {
  g.save();
  g.beginPath();
  g.rect(a, f.top, b - a, f.bottom - f.top);
  g.clip();
  g.globalAlpha = 0.1 * strength;
  g.fill();
  g.globalAlpha = 0.55 * strength;
  g.lineWidth = 1;
  g.beginPath();
  const height = f.bottom - f.top;
  for (let x = Math.floor((a - height) / 7) * 7; x < b; x += 7) {
    g.moveTo(x, f.bottom);
    g.lineTo(x + height, f.top);
  }
  g.stroke();
  g.restore();
}

function line(g, x1, y1, x2, y2) {
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x2, y2);
  g.stroke();
}
