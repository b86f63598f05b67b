// From values to pixels: the range of an axis.

import { logTicks, tickLabels, valueStep, valueTicks } from '../ticks.js';

/**
 * @typedef {object} Axis
 * @property {number} low @property {number} high
 * @property {number[]} ticks @property {string[]} labels
 * @property {(value: number) => number} y the pixel of a value
 */

/**
 * Chooses the range of an axis.
 *
 * Limits that the chart names are kept, unless data lies beyond them. Without limits the axis begins
 * at zero, except for lines that all lie far from it: their axis shows the part where they are.
 *
 * @param {{low: number, high: number, zero: boolean}|null} extent what is seen
 * @param {{lower?: number, upper?: number, log?: boolean, base?: number, unit?: string, absolute?: boolean}} options
 * @param {number} top pixel of the highest value @param {number} bottom pixel of the lowest
 * @returns {Axis}
 */
export function axis(extent, options, top, bottom) {
  const wanted = Math.max(2, Math.round((bottom - top) / 42));
  return options.log ? logarithmic(extent, options, top, bottom, wanted) : linear(extent, options, top, bottom, wanted);
}

/** What is seen together with levels that lie near it: far ones would press the lines flat. @param {{low: number, high: number, zero: boolean}|null} extent @param {{value: number}[]} levels */
export function reach(extent, levels) {
  if (!extent) return null;
  const far = Math.max(Math.abs(extent.low), Math.abs(extent.high));
  const near = levels.map((l) => l.value).filter((v) => v <= extent.high + far && v >= extent.low - far);
  return { ...extent, low: Math.min(extent.low, ...near), high: Math.max(extent.high, ...near) };
}

function linear(extent, options, top, bottom, wanted) {
  let { low, high } = extent || { low: 0, high: 1 };
  const near = low > 0 && high - low < 0.2 * high && !(extent && extent.zero);
  const far = high < 0 && high - low < 0.2 * -low && !(extent && extent.zero);
  if (!near && !far) {
    low = Math.min(0, low);
    high = Math.max(0, high);
  }
  if (options.lower !== undefined) low = Math.min(low, options.lower);
  const fixed = options.upper !== undefined && high <= options.upper * 1.02;
  if (options.upper !== undefined) high = fixed ? options.upper : high;
  if (high - low <= 1e-9 * Math.abs(low)) { // the same but for rounding
    high = low === 0 ? 1 : low + Math.abs(low) * 0.1;
    if (low !== 0) low -= Math.abs(low) * 0.1;
  }
  const base = options.unit === 's' && Math.max(-low, high) >= 60 ? 60 : options.base ?? (options.unit === 'B' ? 1024 : 1000);
  const step = valueStep((high - low) / wanted, base);
  if (!fixed) high = Math.ceil(high / step - 0.02) * step;
  low = low === 0 || low === options.lower ? low : Math.floor(low / step + 0.02) * step;
  const ticks = valueTicks(low, high, wanted, base);
  const slope = (bottom - top) / (high - low);
  return { low, high, ticks, labels: tickLabels(ticks, options), y: (v) => bottom - (v - low) * slope };
}

function logarithmic(extent, options, top, bottom, wanted) {
  let { low, high } = extent || { low: 1, high: 10 };
  if (options.lower > 0) low = Math.min(low, options.lower);
  if (options.upper > 0) high = Math.max(high, options.upper);
  if (high / low < 10) {
    low = 10 ** Math.floor(Math.log10(low) + 1e-9);
    high = 10 ** Math.ceil(Math.log10(high) - 1e-9);
    if (high === low) high = low * 10;
  } else {
    low *= 0.9;
    high *= 1.1;
  }
  const ticks = logTicks(low, high, wanted, options.base);
  const slope = (bottom - top) / Math.log(high / low);
  const y = (v) => (v > 0 ? Math.min(bottom, bottom - Math.log(v / low) * slope) : bottom);
  return { low, high, ticks, labels: tickLabels(ticks, { ...options, log: true }), y };
}
