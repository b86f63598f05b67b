// What a definition of rrdtool's create says: data sources and archives.

/**
 * @typedef {{name: string, kind: string, heartbeat?: number, min?: number, max?: number, rpn?: string}} Source
 * @typedef {{cf: string, rows: number, seconds: number, span: number, text: string}} Archive
 *   seconds: of a row; span: of all rows together
 */

/** Reads "DS:in:GAUGE:20:0:U". An open limit is NaN. @param {string} text @returns {Source} */
export function source(text) {
  const [, name, kind, ...rest] = text.split(':');
  const limit = (v) => (v === undefined || v === 'U' ? NaN : Number(v));
  if (kind === 'COMPUTE') return { name, kind, rpn: rest.join(':') };
  return { name: name.split('=')[0], kind, heartbeat: Number(rest[0]), min: limit(rest[1]), max: limit(rest[2]) };
}

const holtWinters = new Set(['HWPREDICT', 'MHWPREDICT', 'SEASONAL', 'DEVSEASONAL', 'DEVPREDICT', 'FAILURES']);

/** Reads "RRA:AVERAGE:0.5:6:1008", or an archive of Holt-Winters. @param {string} text @param {number} step seconds @returns {Archive} */
export function archive(text, step) {
  const [, cf, a, b, c] = text.split(':');
  const one = holtWinters.has(cf);
  const rows = Number(one ? a : c), seconds = one ? step : Number(b) * step;
  return { cf, rows, seconds, span: rows * seconds, text };
}

/**
 * The consolidation functions that a chart of the series takes.
 * @param {Archive[]} archives
 * @returns {{main: string, min?: string, max?: string, predicted?: string, deviation?: string, failures?: string}}
 *   main is '' if the series keeps no rows that can be drawn
 */
export function functions(archives) {
  const has = (cf) => (archives.some((a) => a.cf === cf) ? cf : undefined);
  const main = has('AVERAGE') || has('LAST') || has('MAX') || has('MIN') || '';
  const plain = main === 'AVERAGE' || main === 'LAST';
  return {
    main, min: plain ? has('MIN') : undefined, max: plain ? has('MAX') : undefined,
    predicted: has('HWPREDICT') || has('MHWPREDICT'), deviation: has('DEVPREDICT'), failures: has('FAILURES'),
  };
}

/**
 * Values of other rows, put on the steps of a line: the least or the greatest of those that a step
 * covers. Undefined if the other rows are coarser: a band of hours around minutes says nothing.
 * @param {{start: number, step: number, values: ArrayLike<number>}} line
 * @param {{start: number, step: number, values: ArrayLike<number>}} [other]
 * @param {(a: number, b: number) => number} pick Math.min or Math.max
 * @returns {ArrayLike<number>|undefined}
 */
export function aligned(line, other, pick) {
  if (!other || other.step > line.step) return undefined;
  if (other.start === line.start && other.step === line.step && other.values.length === line.values.length) return other.values;
  const out = new Float64Array(line.values.length).fill(NaN);
  for (let i = 0; i < other.values.length; i++) {
    const v = other.values[i];
    const k = Math.floor((other.start + (i + 0.5) * other.step - line.start) / line.step);
    if (k < 0 || k >= out.length || Number.isNaN(v)) continue;
    out[k] = Number.isNaN(out[k]) ? v : pick(out[k], v);
  }
  return out;
}

/**
 * The band in which Holt-Winters expects values: the prediction and some deviations around it.
 * @param {{start: number, step: number, values: ArrayLike<number>}} [predicted]
 * @param {{start: number, step: number, values: ArrayLike<number>}} [deviation]
 * @param {{above?: number, below?: number}} [deltas] deviations; 2 as in rrdtool, if the series has none
 */
export function expected(predicted, deviation, { above = 2, below = 2 } = {}) {
  if (!predicted || !deviation || predicted.step !== deviation.step || predicted.start !== deviation.start) return null;
  const n = Math.min(predicted.values.length, deviation.values.length);
  const min = new Float64Array(n), max = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    min[i] = predicted.values[i] - below * deviation.values[i];
    max[i] = predicted.values[i] + above * deviation.values[i];
  }
  return { start: predicted.start, step: predicted.step, min, max, values: predicted.values };
}

/**
 * Spans in which the rows of FAILURES are not zero.
 * @param {{start: number, step: number, values: ArrayLike<number>}} [rows]
 * @returns {{time: number, to: number}[]}
 */
export function spans(rows) {
  const out = [];
  for (let i = 0; rows && i < rows.values.length; i++) {
    if (!(rows.values[i] > 0)) continue;
    const time = rows.start + i * rows.step, last = out[out.length - 1];
    if (last && last.to >= time) last.to = time + rows.step;
    else out.push({ time, to: time + rows.step });
  }
  return out;
}

/**
 * A table as CSV: the time as text and in seconds, and values in full; an unknown value is empty.
 * @param {{columns: string[], rows: number[][]}} table of a chart
 */
export function csv({ columns, rows }) {
  const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const line = (cells) => cells.join(',') + '\r\n';
  return line(['time', 'seconds', ...columns.slice(1)].map(quote))
    + rows.map(([at, ...values]) => line([iso(at), at, ...values.map((v) => (Number.isNaN(v) ? '' : v))])).join('');
}

/** The same as JSON: an unknown value is null. */
export function json({ columns, rows, step }) {
  return JSON.stringify({
    step, columns: ['seconds', ...columns.slice(1)], rows: rows.map((row) => row.map((v) => (Number.isFinite(v) ? v : null))),
  }, null, 1) + '\n';
}

const iso = (seconds) => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');

/**
 * The unit in which a series is stored, as charts assembled from its folder say.
 * @param {object[]} charts messages Chart @param {string} path @param {string[]} names data sources that are shown
 * @returns {{unit: string, base: 1000|1024}|null} null if no chart says, or they differ
 */
export function unitFrom(charts, path, names) {
  const found = new Map();
  for (const chart of charts) {
    for (const line of chart.lines || []) {
      if (line.path !== path || !names.includes(line.ds)) continue;
      const { factor = 1, offset = 0 } = line;
      let unit = !chart.percent && !offset && Math.abs(factor) === 1 ? chart.unit : '';
      if (chart.unit === 'bit/s' && Math.abs(factor) === 8) unit = 'B/s';
      found.set(line.ds, { unit, base: unit && chart.base === 1024 ? 1024 : 1000 });
    }
  }
  const [first, ...others] = found.values();
  return first?.unit && found.size === names.length && others.every((o) => o.unit === first.unit) ? first : null;
}

/** The paths under which notes about a series may stand: its own, and the folders above. @param {string} path */
export function noteKeys(path) {
  const parts = path.split('/');
  return parts.map((_, i) => parts.slice(0, parts.length - i).join('/')).filter((key, i) => i === 0 || key.includes('/')).slice(0, 4);
}

const severities = ['okay', 'warning', 'failure'];

/**
 * Marks of notes: those of one second share a mark, which has all texts, their number and the worst
 * severity.
 * @param {{time: number, text: string, severity?: string}[]} notes
 */
export function noteMarks(notes) {
  const marks = new Map();
  for (const { time, text, severity } of notes) {
    const key = Math.floor(time), mark = marks.get(key);
    if (!mark) {
      marks.set(key, { time, text, severity, count: 1 });
      continue;
    }
    mark.text += ` · ${text}`;
    mark.count++;
    if (severities.indexOf(severity) > severities.indexOf(mark.severity)) mark.severity = severity;
  }
  return [...marks.values()];
}
