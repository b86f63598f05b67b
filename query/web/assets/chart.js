// A chart on canvas, with a legend that shows values, and a table behind it.
//
//     const chart = new Chart(root, { title: 'load', crosshair, onRange: (from, to, final) => …, onBack: () => … });
//     chart.setRange(from, to);
//     chart.setLines([{ label: 'shortterm', start, step, values, min, max }]);
//     …
//     chart.destroy();
//
// Set range and lines as often as you like: all changes of a moment are drawn in one frame, and
// what has not changed does not flash. Lines may be older than the range: the chart draws what it has.

import { alertsOn, leaveChart, watchChart } from './alerts.js';
import { Crosshair } from './crosshair.js';
import { extent, middle, newest, seen, shapes, spread, statistics, summary, valueAt } from './chart/data.js';
import { drawAxes, drawLevels, drawMarks, drawShape, hair, prepare, timeOf, xOf } from './chart/draw.js';
import { Hover } from './chart/hover.js';
import { listen } from './chart/input.js';
import { Legend } from './chart/legend.js';
import { openMenu } from './chart/menu.js';
import { axis, reach } from './chart/scale.js';
import { table } from './chart/table.js';
import { el, fill, icon, setText } from './dom.js';
import * as format from './format.js';
import { colourOf, inks, onPaper, onTheme, usualNames } from './theme.js';

/**
 * One line of a chart. Value i stands for the time from start+i*step to start+(i+1)*step.
 * @typedef {object} Line
 * @property {string} label unique in its chart
 * @property {'line'|'area'|'band'} [style] 'line' if it is left out; in a stacked chart 'area'. A band
 *   is the room between min and max, without values (a prediction of Holt-Winters, say)
 * @property {number} start seconds since 1970
 * @property {number} step seconds
 * @property {number} [end] where the last value ends, if that is earlier
 * @property {ArrayLike<number>} values NaN is unknown
 * @property {ArrayLike<number>} [min] with max: a faint band behind the line
 * @property {ArrayLike<number>} [max]
 * @property {number|string} [color] a place in the palette, 'faint', or a CSS colour; left out, the name or the order chooses
 * @property {'left'|'right'} [axis]
 * @property {boolean} [mirror] values are below zero only to be apart: legend and axis show them without sign
 * @property {boolean} [restart] in a stacked chart: it begins a stack of its own, on zero
 * @property {number[]} [dash]
 * @property {string} [href] where the label leads
 * @property {string} [path] what it shows, with `ds`: alerts about it are drawn, too
 * @property {string} [query] in place of a path: it shows the result of PromQL that has these `labels`
 * @property {[number, number]} [scale] a stored value times the first, plus the second, is what is drawn; left out, it is something else
 */

/**
 * A moment, or a span if it has `to`, that is hatched. count is how many notes it stands for.
 * @typedef {{time: number, to?: number, text: string, severity?: 'okay'|'warning'|'failure', count?: number}} Mark
 */

/**
 * @typedef {object} Options
 * @property {string} [title]
 * @property {string} [href] where the title leads
 * @property {string} [unit] @property {1000|1024} [base]
 * @property {string} [rightUnit] of lines with axis 'right'
 * @property {number} [lower] @property {number} [upper] the axis is at least so long
 * @property {boolean} [stack] @property {boolean} [log]
 * @property {number} [height] of the canvas in pixels; 180 if left out
 * @property {boolean} [small] no legend, and small labels
 * @property {number} [fold] the legend shows so many lines until it is unfolded; 6 if left out
 * @property {Crosshair} [crosshair] shared by the charts of a page
 * @property {(from: number, to: number, final: boolean) => void} [onRange] the reader zooms or pans: final is
 *   false while the pointer is still down. The chart itself changes only by setRange
 * @property {() => void} [onBack] double-click: back to the range before
 * @property {Array<{label: string, icon?: string, onclick?: Function, href?: string}>} [actions] small buttons beside the title
 * @property {() => string[]} [graph] the chart as arguments of rrdgraph, for the entries of its menu
 */

const dirty = new Set();
let frame = 0;

// All charts that have changed are drawn in one frame.
function schedule(chart) {
  dirty.add(chart);
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    const charts = [...dirty];
    dirty.clear();
    for (const c of charts) c.draw();
  });
}

export class Chart {
  #o; #root; #plot; #base; #over; #message; #hover = new Hover(); #legend; #sheet = null;
  #lines = []; #marks = []; #hidden = new Set();
  #from = 0; #to = 1; #width = 0; #frame = null; #left = null; #right = null;
  #selection = null; #ends = []; #onlyOver = true; #announced = ''; #begun = false; #pointed = false; #scales = {}; #before = null; #mine = false;

  /** @param {HTMLElement} root is filled by the chart @param {Options} options */
  constructor(root, options = {}) {
    this.#o = { height: 180, fold: 6, crosshair: new Crosshair(), ...options };
    this.#root = root;
    drawn.add(this);
    this.#build();
    const sized = new ResizeObserver(([entry]) => {
      const width = Math.round(entry.contentRect.width);
      if (width && width !== this.#width) {
        this.#width = width;
        this.#changed();
      }
    });
    sized.observe(this.#plot);
    this.#ends.push(() => sized.disconnect(), onTheme(() => this.#changed()),
      this.#o.crosshair.on((time, source) => { this.#mine = source === this; this.#legend?.point(time); schedule(this); }),
      listen(this.#plot, this));
  }

  #build() {
    const o = this.#o;
    this.#base = el('canvas');
    this.#over = el('canvas');
    this.#message = el('p', { class: 'chart-message', hidden: true });
    this.#plot = el('div', { class: 'chart-plot', tabindex: '0', role: 'img', 'aria-label': o.title || 'chart' },
      this.#base, this.#over, this.#hover.elements, this.#message);
    this.#plot.style.height = `${o.height}px`;
    const parts = [this.#plot];
    if (o.title !== undefined) parts.unshift(this.#head());
    if (!o.small) {
      this.#legend = new Legend({
        title: `Legend of ${o.title || 'the chart'}`, fold: o.fold, onToggle: (label, alone) => this.#toggle(label, alone),
        onHover: (label) => { this.highlight = label; this.#changed(); },
      });
      parts.push(this.#legend.element);
    }
    this.#root.classList.add('chart');
    this.#root.classList.toggle('small', Boolean(o.small));
    fill(this.#root, parts);
  }

  #head() {
    const o = this.#o;
    const acts = (o.actions || []).map((a) => {
      const inside = [a.icon ? icon(a.icon) : a.label];
      const props = { class: 'act', title: a.label, 'aria-label': `${a.label}: ${o.title}` };
      return a.href ? el('a', { ...props, href: a.href }, inside) : el('button', { ...props, type: 'button', onclick: a.onclick }, inside);
    });
    if (!o.small) {
      acts.push(el('button', {
        class: 'act', type: 'button', title: 'Values as a table', 'aria-label': `Values as a table: ${o.title}`,
        'aria-expanded': 'false', onclick: (event) => this.#toggleTable(event.currentTarget),
      }, icon('table')), el('button', {
        class: 'act', type: 'button', title: 'Save as', 'aria-label': `Save as: ${o.title}`, 'aria-haspopup': 'menu',
        onclick: (event) => openMenu(event.currentTarget, this),
      }, icon('more')));
    }
    return el('div', { class: 'chart-head' },
      el('h3', {}, o.href ? el('a', { href: o.href }, o.title) : o.title),
      el('span', { class: 'unit' }, [o.unit, o.rightUnit && `right: ${o.rightUnit}`].filter(Boolean).join(' · ')), el('div', { class: 'acts' }, acts));
  }

  /** The options. Change them by `set`. */
  get options() { return this.#o; }

  /** The lines, as they were set. */
  get lines() { return this.#lines; }

  /** How many values are known of the line that has most. */
  get known() { return Math.max(0, ...this.#lines.map((l) => l.values.reduce((n, v) => n + !Number.isNaN(v), 0))); }

  /** The range in seconds. */
  get range() { return { from: this.#from, to: this.#to }; }

  /** @param {Line[]} lines replaces all lines; those that the reader has hidden stay so */
  setLines(lines) {
    this.#begun = true;
    this.#lines = lines;
    this.#legend?.setLines(lines, this.#hidden, (line, index) => this.#colour(line, index));
    this.setMessage('');
    this.redraw();
    this.#renewTable();
    watchChart(this);
  }

  /** Draws the chart again: what others know of its lines has changed. */
  redraw() { this.#changed(); }

  /** @param {number} from seconds @param {number} to seconds */
  setRange(from, to) {
    if (from === this.#from && to === this.#to) return;
    this.#from = from;
    this.#to = to;
    this.#changed();
  }

  /** Changes options that concern drawing: stack, log, unit, lower … @param {Options} options */
  set(options) {
    Object.assign(this.#o, options);
    if (options.height) this.#plot.style.height = `${options.height}px`;
    this.#changed();
  }

  /** @param {Mark[]} marks */
  setMarks(marks) {
    this.#marks = marks;
    this.#changed();
  }

  /** Lines of an earlier range, drawn dashed below those of the same label. @param {{words: string, lines: Line[]}|null} before words: "last week" */
  setBefore(before) {
    this.#before = before;
    this.#changed();
  }

  /** How a line compares with the one before: "27 % more than last week", or ''. */
  #compared(line) {
    const other = this.#before?.lines.find((l) => l.label === line.label);
    const a = statistics(line, this.#from, this.#to).avg, b = other ? statistics(other, this.#from, this.#to).avg : NaN;
    const percent = Math.round((a / b - 1) * 100);
    if (!Number.isFinite(percent)) return '';
    if (percent === 0) return `as much as ${this.#before.words}`;
    return percent >= 1000 ? `${Math.round(a / b)} times as much as ${this.#before.words}` : `${Math.abs(percent)} % ${percent > 0 ? 'more' : 'less'} than ${this.#before.words}`;
  }

  /** Shows a text in place of lines ("no data in this range"); '' takes it away. */
  setMessage(text) {
    if (text && !this.#begun) this.#begin();
    this.#message.hidden = !text;
    setText(this.#message, text);
  }

  /** Says that new data is on its way: the old stays, a little paler. */
  setBusy(busy) {
    if (busy && !this.#begun) this.#begin();
    this.#root.classList.toggle('busy', busy);
  }

  /** What is seen, as a table: the names of the columns, and rows of [seconds, value, …]. */
  table() {
    return table(this.#visible(), this.#from, this.#to);
  }

  /** What the legend says of the lines that are seen. @returns {{label: string, colour: string, values: string[]}[]} last, min, avg, max */
  legend() {
    return this.#visible().map((line) => ({
      label: line.label, colour: this.#colour(line, this.#lines.indexOf(line)), values: summary(line, this.#from, this.#to).map((v, i) => this.#text(v, line, 0, i === 2)),
    }));
  }

  /** The name of a file that has what the chart shows, without its kind. */
  get name() {
    const subject = document.title.replace(/ · rondo$/, '');
    return [subject, this.#o.title].filter(Boolean).join(' ').replace(/[^\p{L}\p{N}.-]+/gu, '_').slice(0, 100) || 'chart';
  }

  /** The width of the plot in pixels. */
  get width() { return this.#width; }

  /** Ends the chart. The element is empty afterwards. */
  destroy() {
    for (const end of this.#ends) end();
    dirty.delete(this);
    drawn.delete(this);
    leaveChart(this);
    this.#root.textContent = '';
  }

  // What input.js needs.

  /** @ignore the time under a pixel of the plot */
  timeAt(x) { return this.#frame ? timeOf(this.#frame, x) : NaN; }

  /** @ignore true if a pixel lies below the plot, on the axis of time */
  onAxis(y) { return this.#frame !== null && y > this.#frame.bottom; }

  /** @ignore pixels of the plot's width */
  get plotWidth() { return this.#frame ? this.#frame.right - this.#frame.left : 1; }

  /** @ignore shows what is being selected: seconds, or null */
  select(selection) {
    this.#selection = selection;
    schedule(this);
  }

  /** Moves the crosshair by so many values, and says them to a screen reader. */
  step(by) {
    const line = this.#visible()[0];
    if (!line) return;
    const rest = this.#o.crosshair.at;
    const end = by > 0 ? this.#from : newest(line) ?? this.#to; // where to begin
    const at = Math.min(this.#to, Math.max(this.#from, rest === null ? end : rest + by * line.step));
    this.#o.crosshair.set(at, this);
    const said = document.getElementById('said');
    if (said) said.textContent = this.#words(at);
  }

  #words(at) {
    const values = this.#visible().map((l) => `${l.label} ${this.#text(valueAt(l, at), l, 1)}`);
    return `${format.moment(at, this.#lines[0]?.step)}: ${values.join(', ')}`;
  }

  // Values of one axis share prefix and decimals; a mean of whole numbers has decimals, too. Each value of
  // a logarithmic axis has its own.
  #text(v, line, more = 0, mean = false) {
    const side = line.axis === 'right' ? 'right' : 'left', scale = this.#scales[side];
    const shown = line.mirror ? Math.abs(v) : v;
    if (!scale || this.#o.log) return format.value(shown, this.#how(side));
    return format.scaled(shown, mean ? { ...scale, places: scale.mean } : scale, more);
  }

  // A unit of many words stands in the title alone: in the legend it would push values out of sight.
  #how(side) {
    const unit = (side === 'right' ? this.#o.rightUnit : this.#o.unit) || '';
    return { unit: unit.length > 12 ? '' : unit, base: side === 'left' ? this.#o.base : undefined };
  }

  #measure(lines, from, to) {
    for (const side of ['left', 'right']) {
      const { low, high, whole } = spread(lines.filter((l) => (l.axis || 'left') === side), from, to);
      this.#scales[side] = format.scaleOf(low, high, { ...this.#how(side), whole });
    }
  }

  #visible() {
    return this.#lines.filter((l) => !this.#hidden.has(l.label));
  }

  #colour(line, index) {
    this.named ??= usualNames(this.#lines.map((l) => l.label));
    return colourOf(line.color, this.named ? line.label : '', index);
  }

  #toggle(label, alone) {
    const others = this.#lines.filter((l) => l.label !== label).map((l) => l.label);
    if (alone) {
      const isAlone = !this.#hidden.has(label) && others.every((l) => this.#hidden.has(l));
      this.#hidden = new Set(isAlone ? [] : others);
    } else if (!this.#hidden.delete(label)) {
      this.#hidden.add(label);
    }
    this.setLines(this.#lines);
  }

  #toggleTable(button) {
    if (this.#sheet) this.#sheet.remove();
    else this.#root.append(el('div', { class: 'chart-table', tabindex: '0', role: 'region', 'aria-label': `Values: ${this.#o.title}` }));
    this.#sheet = this.#sheet ? null : this.#root.lastElementChild;
    button.setAttribute('aria-expanded', String(this.#sheet !== null));
    this.#renewTable();
  }

  #renewTable() {
    if (!this.#sheet) return;
    const { columns, rows, step } = this.table();
    const lines = this.#visible();
    fill(this.#sheet, el('table', {},
      el('thead', {}, el('tr', {}, columns.map((c) => el('th', { scope: 'col' }, c)))),
      el('tbody', {}, rows.slice(-500).reverse().map((row) => el('tr', {}, row.map((v, i) => (i === 0
        ? el('th', { scope: 'row' }, format.moment(v, step)) : el('td', {}, this.#text(v, lines[i - 1])))))))));
  }

  #changed() {
    this.#onlyOver = false;
    schedule(this);
  }

  // Axes alone are not worth a frame if lines come in a moment.
  #begin() {
    this.#begun = true;
    this.#changed();
  }

  /** @ignore draws what has changed; called once a frame */
  draw() {
    this.#width ||= this.#plot.clientWidth; // the observer reports it after this frame
    if (!this.#width || !this.#begun) return;
    if (!this.#onlyOver || !this.#frame) this.#drawBase();
    this.#onlyOver = true;
    this.#drawOver();
  }

  #drawBase() {
    const g = prepare(this.#base, this.#width, this.#o.height);
    const f = this.#frame = this.paint(g, this.#width);
    this.#legend?.setRange(f.from, f.to, (...of) => this.#text(...of), (line) => this.#compared(line));
    const said = this.#visible().slice(0, 8).map((l) => `${l.label} ${this.#legend?.last(l.label) ?? ''}`).join(', ');
    const label = `${this.#o.title || 'Chart'}, ${format.span(f.from, f.to)}. ${said}`;
    if (label !== this.#announced) this.#plot.setAttribute('aria-label', this.#announced = label);
  }

  /** @ignore draws axes and lines, for the page or for a file @returns {import('./chart/draw.js').Frame} */
  paint(g, width) {
    const o = this.#o, ink = inks();
    const rightLines = this.#visible().some((l) => l.axis === 'right');
    const f = {
      width, left: o.small ? 40 : 54, right: width - (rightLines ? 54 : 10), top: 9, bottom: o.height - 22, from: this.#from, to: this.#to,
    };
    this.#measure(this.#visible(), f.from, f.to);
    const all = shapes(this.#visible(), Boolean(o.stack));
    const before = this.#ghosts(), { spans, levels } = this.#alerts();
    const absolute = this.#lines.some((l) => l.mirror);
    const scale = (side, unit, limits) => {
      const on = ({ line }) => (line.axis || 'left') === side;
      const seen = reach(extent([...all, ...before].filter(on), f.from, f.to, o.log), levels.filter(on));
      return axis(seen, { base: o.base, log: o.log, unit, absolute, ...limits }, f.top, f.bottom);
    };
    this.#left = scale('left', o.unit, { lower: o.lower, upper: o.upper });
    this.#right = rightLines ? scale('right', o.rightUnit, {}) : null;
    drawAxes(g, f, this.#left, this.#right, ink, o.small);
    drawMarks(g, f, spans, ink, true);
    g.save();
    g.beginPath();
    g.rect(f.left, 0, f.right - f.left, f.bottom + 1);
    g.clip();
    for (const shape of before) {
      g.globalAlpha = 0.55;
      const index = this.#lines.findIndex((l) => l.label === shape.line.label);
      drawShape(g, f, shape, shape.line.axis === 'right' ? this.#right.y : this.#left.y, { colour: this.#colour(this.#lines[index], index), width: 1.25 });
    }
    for (const shape of o.stack ? all : areasFirst(all)) {
      const pale = this.highlight && this.highlight !== shape.line.label;
      g.globalAlpha = 1;
      const colour = this.#colour(shape.line, this.#lines.indexOf(shape.line)), stacked = o.stack && shape.bottom;
      drawShape(g, f, shape, shape.line.axis === 'right' ? this.#right.y : this.#left.y, {
        colour, width: this.highlight === shape.line.label ? 2.25 : stacked ? 1 : 1.5,
        areaAlpha: pale ? 0.1 : !stacked ? 0.2 : colour === ink.rest ? 0.2 : 0.62, bandAlpha: pale ? 0.05 : 0.18,
      });
    }
    g.restore();
    drawMarks(g, f, this.#marks, ink);
    drawLevels(g, f, levels.map((l) => ({ y: (l.line.axis === 'right' ? this.#right : this.#left).y(l.value), text: o.small ? '' : `${l.name} ${format.value(l.line.mirror ? -l.value : l.value, this.#how(l.line.axis || 'left'))}` })), ink);
    return f;
  }

  // Alerts about the lines that are seen. Where areas stand on each other, a number says nothing about one of them.
  #alerts() {
    const lines = this.#visible(), stacked = this.#o.stack && lines.filter((l) => l.style !== 'line').length > 1;
    const { spans, levels } = alertsOn(lines);
    return { spans, levels: stacked ? [] : levels };
  }

  // The shapes of before: where areas stand on each other, their tops.
  #ghosts() {
    const seen = this.#visible().map((l) => l.label), lines = this.#before?.lines.filter((l) => seen.includes(l.label)) || [];
    return shapes(lines, Boolean(this.#o.stack)).filter((s) => s.line.style !== 'band')
      .map((s) => ({ ...s, bottom: null, line: { ...s.line, style: 'line', dash: [4, 3], min: undefined, max: undefined } }));
  }

  #drawOver() {
    const f = this.#frame, ink = inks(), at = this.#o.crosshair.at;
    const shown = at !== null && at >= f.from && at <= f.to;
    if (!shown) this.#hover.hide();
    if (!shown && !this.#selection && !this.#pointed) return; // a canvas that stays empty costs nothing
    this.#pointed = shown || Boolean(this.#selection);
    const g = prepare(this.#over, this.#width, this.#o.height);
    if (this.#selection) {
      const [a, b] = this.#selection.map((t) => Math.min(f.right, Math.max(f.left, xOf(f, t)))).sort((p, q) => p - q);
      g.globalAlpha = 0.16;
      g.fillStyle = ink.accent;
      g.fillRect(a, f.top, b - a, f.bottom - f.top);
      g.globalAlpha = 0.9;
      g.fillRect(a, f.top, 1, f.bottom - f.top);
      g.fillRect(b, f.top, 1, f.bottom - f.top);
      g.globalAlpha = 1;
    }
    if (!shown) return;
    const thin = hair(), x = thin.at(xOf(f, at));
    g.strokeStyle = ink.soft;
    g.lineWidth = thin.width;
    g.beginPath();
    g.moveTo(x, f.top);
    g.lineTo(x, f.bottom);
    g.stroke();
    this.#dots(g, f, at, ink);
    this.#point(f, x, at);
  }

  #dots(g, f, at, ink) {
    for (const shape of shapes(this.#visible(), Boolean(this.#o.stack))) {
      const v = valueAt(shape, at, shape.top);
      if (Number.isNaN(v) || shape.line.style === 'band') continue;
      const i = Math.floor((at - shape.start) / shape.step);
      const x = Math.min(f.right, Math.max(f.left, xOf(f, middle(shape, i))));
      g.fillStyle = this.#colour(shape.line, this.#lines.indexOf(shape.line));
      g.strokeStyle = ink.surface;
      g.lineWidth = 1.5;
      g.beginPath();
      g.arc(x, (shape.line.axis === 'right' ? this.#right : this.#left).y(v), 3.2, 0, 7);
      g.fill();
      g.stroke();
    }
  }

  #point(f, x, at) {
    const marks = [...this.#marks, ...this.#alerts().spans].filter((m) => (m.to ? at >= m.time && at <= m.to : Math.abs(xOf(f, m.time) - x) < 6)).slice(0, 3).map((m) => m.text);
    const rows = this.#mine ? this.#visible().map((line) => {
      const value = valueAt(line, at, seen(line)), old = this.#before?.lines.find((l) => l.label === line.label);
      return {
        label: line.label, colour: this.#colour(line, this.#lines.indexOf(line)), value: line.mirror ? -value : value, text: this.#text(value, line, 1),
        before: old && this.#text(valueAt(old, at, seen(old)), line, 1),
      };
    }) : [];
    this.#hover.show({ x, width: f.width, time: at, step: this.#lines[0]?.step || 1, marks, mine: this.#mine, before: this.#before?.words, rows });
  }

  /** @ignore draws at once, for paper: as wide as that, and sharp; 0 is for the screen again */
  print(width) {
    this.#width = (!this.#o.small && width) || Math.round(this.#plot.clientWidth);
    this.#begun = true;
    this.#onlyOver = false;
    this.#hover.hide();
    this.draw();
  }
}

/** The width of a chart on paper in CSS pixels. */
export const paper = 700;

// On paper all charts are drawn anew, in light colours.
const drawn = new Set();
globalThis.addEventListener?.('beforeprint', () => {
  onPaper(true);
  for (const chart of drawn) chart.print(paper);
});
globalThis.addEventListener?.('afterprint', () => {
  onPaper(false);
  for (const chart of drawn) chart.print(0);
});

const areasFirst = (list) => [...list].sort((a, b) => weight(a) - weight(b));
const weight = (s) => (s.line.style === 'band' ? 0 : s.line.style === 'area' ? 1 : 2);
