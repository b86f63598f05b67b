import * as format from '../../assets/format.js';
import { equal, test } from './check.js';

const plain = (text) => text.replace(/\u202f/g, ' '); // the narrow space

test('numbers are written as the table says, which Go reads, too', async () => {
  const { cases } = await (await fetch('../numbers.json')).json();
  for (const { unit, base, values, want } of cases) {
    const all = values.map(Number), known = all.filter(Number.isFinite);
    const scale = format.scaleOf(Math.min(...known), Math.max(...known), { unit, base, whole: known.every(Number.isInteger) });
    if (scale.kind === 'date') {
      equal(format.scaled(all[0], scale).length, want[0].length);
      continue; // in the zone of the reader
    }
    equal(all.map((v) => plain(format.scaled(v, scale))), want, `${values} ${unit}`);
  }
});

test('a value under the pointer has a decimal more, unless all are whole', () => {
  const at = (low, high, v, how) => plain(format.scaled(v, format.scaleOf(low, high, how), 1));
  equal([at(1000, 1020, 1013.257, { unit: 'hPa' }), at(0, 5, 3, { whole: true }), at(0, 5e6, 1234567, { unit: 'bit/s' })], ['1013.26 hPa', '3', '1.235 Mbit/s']);
  equal(plain(format.value(undefined)), '–');
});

test('values between one prefix and the next never show four digits', () => {
  for (let value = 1; value < 1e15; value *= 1.07) {
    const [number] = /[\d.]+/.exec(format.value(value));
    if (number.replace('.', '').length > 3) throw new Error(`${value} is ${format.value(value)}`);
  }
});

test('durations have two parts at most', () => {
  const cases = [[0, '0 s'], [4.21, '4.2 s'], [59, '59 s'], [60, '1 min'], [90, '1 min 30 s'], [3600 * 26, '1 d 2 h'], [3599.9, '1 h'], [86400 * 12.5, '12 d 12 h'], [86400 * 400, '1 y 35 d'], [-120, '−2 min']];
  for (const [seconds, want] of cases) equal(plain(format.duration(seconds)), want, seconds);
});

test('how long ago', () => {
  const cases = [[0, 'never'], [999, 'now'], [970, '30 s ago'], [400, '10 min ago'], [1100, 'in 1 min'], [1003, 'now']];
  for (const [at, want] of cases) equal(plain(format.ago(at, 1000)), want, at);
});

test('a range names its day once', () => {
  const at = (...parts) => new Date(...parts).getTime() / 1000;
  const now = at(2026, 10, 22, 18, 0);
  equal(format.shortSpan(at(2026, 10, 22, 13, 0), at(2026, 10, 22, 14, 5), now), '22 Nov 13:00 – 14:05');
  equal(format.shortSpan(at(2026, 10, 21, 13, 0), at(2026, 10, 22, 13, 0), now), '21 Nov 13:00 – 22 Nov 13:00');
  equal(format.shortSpan(at(2025, 10, 22), at(2026, 10, 22), now), '22 Nov 2025 – 22 Nov 2026');
  equal(format.shortSpan(at(2026, 10, 22, 13, 0, 5), at(2026, 10, 22, 13, 0, 25), now), '22 Nov 13:00:05 – 13:00:25');
  equal(format.span(at(2026, 10, 22, 13, 0), at(2026, 10, 22, 14, 5)), 'Sun 2026-11-22 13:00 to 14:05');
});
