// What a chart draws, as numbers: stacked values, extents, values at a time.

/**
 * @typedef {import('../chart.js').Line} Line
 * @typedef {object} Shape one line, ready to draw
 * @property {Line} line
 * @property {number} start @property {number} step @property {number} [end]
 * @property {ArrayLike<number>} top
 * @property {ArrayLike<number>|null} bottom the other edge of an area or band; null is the zero line
 */

/** The value of a line at a time, or NaN. */
export function valueAt(line, time, values = line.values) {
  if (!values) return NaN;
  const i = Math.floor((time - line.start) / line.step);
  return i >= 0 && i < values.length ? values[i] : NaN;
}

/** Where value i ends: the last one may be shorter than the others. */
export function rightOf({ start, step, end = Infinity }, i) {
  const right = start + (i + 1) * step;
  return end > right - step ? Math.min(right, end) : right;
}

/** The time in the middle of value i. */
export function middle(line, i) {
  return (line.start + i * line.step + rightOf(line, i)) / 2;
}

/** The values that a legend shows: of a band the middle. @param {Line} line */
export function seen(line) {
  if (line.style !== 'band' || line.values?.length) return line.values || [];
  return Array.from(line.max || [], (v, i) => (v + line.min[i]) / 2);
}

/** The first and the last index of values that lie in a range, even in part. */
export function within(line, from, to, length = line.values.length) {
  const first = Math.max(0, Math.floor((from - line.start) / line.step));
  const last = Math.min(length - 1, Math.ceil((to - line.start) / line.step) - 1);
  return [first, last];
}

/**
 * Last, smallest, average and greatest value of a line in a range. min and max come from
 * the finest data if the line has it.
 * @param {Line} line
 */
export function statistics(line, from, to) {
  const values = seen(line);
  const [first, last] = within(line, from, to, values.length);
  let low = Infinity, high = -Infinity, sum = 0, known = 0, latest = NaN;
  for (let i = first; i <= last; i++) {
    const v = values[i];
    if (Number.isNaN(v)) continue;
    known++;
    sum += v;
    latest = v;
    const least = line.min && !Number.isNaN(line.min[i]) ? line.min[i] : v;
    const most = line.max && !Number.isNaN(line.max[i]) ? line.max[i] : v;
    if (least < low) low = least;
    if (most > high) high = most;
  }
  if (!known) return { last: NaN, min: NaN, avg: NaN, max: NaN };
  return { last: latest, min: low, avg: sum / known, max: high };
}

/**
 * The least and the greatest value that lines show in a range, as a legend shows them, and whether all are whole numbers.
 * @param {Line[]} lines
 */
export function spread(lines, from, to) {
  let low = Infinity, high = -Infinity, whole = true;
  for (const line of lines) {
    const sign = line.mirror ? -1 : 1;
    for (const values of [seen(line), line.min, line.max]) {
      if (!values) continue;
      const [first, last] = within(line, from, to, values.length);
      for (let i = first; i <= last; i++) {
        const v = sign * values[i];
        if (v < low) low = v;
        if (v > high) high = v;
        if (whole && !Number.isNaN(v) && !Number.isInteger(v)) whole = false;
      }
    }
  }
  return high >= low ? { low, high, whole } : { low: 0, high: 0, whole: true };
}

/** What a legend says of a line: last, least, average, greatest. A mirrored line is turned over: its least value is the greatest. */
export function summary(line, from, to) {
  const { last, min, avg, max } = statistics(line, from, to);
  return line.mirror ? [last, max, avg, min] : [last, min, avg, max];
}

/**
 * Makes shapes of lines. Areas of a stacked chart stand on each other, those below zero apart.
 * @param {Line[]} lines those that are not hidden
 * @param {boolean} stack
 * @returns {Shape[]} in the order of drawing
 */
export function shapes(lines, stack) {
  const areas = stack ? lines.filter((l) => l.style !== 'line' && l.style !== 'band') : [];
  const result = [];
  if (areas.length) result.push(...stacked(areas));
  for (const line of lines) {
    if (areas.includes(line)) continue;
    const { start, step, end } = line;
    if (line.style === 'band') result.push({ line, start, step, end, top: line.max, bottom: line.min });
    else result.push({ line, start, step, end, top: line.values, bottom: null });
  }
  return result;
}

function stacked(areas) {
  const step = Math.min(...areas.map((l) => l.step));
  const start = Math.min(...areas.map((l) => l.start));
  const end = Math.max(...areas.map((l) => l.start + l.values.length * l.step));
  const ends = Math.max(...areas.map((l) => rightOf(l, l.values.length - 1)));
  const length = Math.min(100000, Math.max(0, Math.round((end - start) / step)));
  const above = new Float64Array(length), below = new Float64Array(length);
  return areas.map((line) => {
    const top = new Float64Array(length), bottom = new Float64Array(length);
    const same = line.step === step;
    if (line.restart) [above, below].forEach((base) => base.fill(0));
    const shift = Math.round((line.start - start) / step);
    for (let i = 0; i < length; i++) {
      const v = same ? line.values[i - shift] : valueAt(line, start + (i + 0.5) * step);
      const base = v < 0 || Object.is(v, -0) ? below : above;
      bottom[i] = base[i];
      if (v === undefined || Number.isNaN(v)) {
        top[i] = NaN;
        continue;
      }
      base[i] += v;
      top[i] = base[i];
    }
    return { line, start, step, end: ends, top, bottom };
  });
}

/**
 * The least and the greatest value that shapes show in a range.
 * @param {Shape[]} list @param {boolean} positive only values above zero count (logarithmic)
 * @returns {{low: number, high: number, zero: boolean}|null} zero: an area stands on zero
 */
export function extent(list, from, to, positive) {
  let low = Infinity, high = -Infinity, zero = false;
  const take = (values, shape) => {
    if (!values) return;
    const [first, last] = within(shape, from, to, values.length);
    for (let i = first; i <= last; i++) {
      const v = values[i];
      if (positive ? !(v > 0) : !Number.isFinite(v)) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  };
  for (const shape of list) {
    take(shape.top, shape);
    take(shape.bottom, shape);
    if (!shape.bottom || shape.line.style === 'line' || !shape.line.style) {
      if (shape.top === shape.line.values) {
        take(shape.line.min, shape);
        take(shape.line.max, shape);
      }
    }
    if (shape.line.style === 'area') zero = true;
  }
  return high >= low ? { low, high, zero } : null;
}

/** The time in the middle of the newest row with a value, or undefined. @param {import('../chart.js').Line} line */
export function newest(line) {
  for (let i = line.values.length - 1; i >= 0; i--) {
    if (!Number.isNaN(line.values[i])) return middle(line, i);
  }
  return undefined;
}
