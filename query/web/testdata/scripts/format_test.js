import * as format from '../../assets/format.js';
import { equal, test } from './check.js';

const plain = (text) => text.replace(/\u202f/g, ' '); // the narrow space

test('values have three digits, a prefix and a unit', () => {
  const cases = [
    [0, {}, '0'], [1, {}, '1'], [1.234, {}, '1.23'], [12.34, {}, '12.3'], [123.4, {}, '123'], [1234, {}, '1.23k'],
    [999.4, {}, '999'], [999.6, {}, '1.00k'], [999999, {}, '1.00M'], [-1500, {}, '−1.50k'],
    [1536, { unit: 'B', base: 1024 }, '1.50 KiB'], [1023.9, { unit: 'B', base: 1024 }, '1.00 KiB'], [2 ** 40, { unit: 'B', base: 1024 }, '1 TiB'],
    [12.3e6, { unit: 'bit/s' }, '12.3 Mbit/s'], [1200, { unit: 'packets/s' }, '1.20k packets/s'], [45.678, { unit: '%' }, '45.7 %'],
    [0.0408, { unit: '%' }, '0.04 %'], [1234, { unit: '%' }, '1234 %'], [0.0123, { unit: 's' }, '12.3 ms'], [0.00002, { unit: 's' }, '20.0 µs'],
    [0.5, {}, '0.50'], [0.0123, {}, '0.012'], [7200, { unit: 's' }, '2 h'], [41.2, { unit: '°C' }, '41.2 °C'], [2610, { unit: '1/s' }, '2.61k/s'],
    [NaN, { unit: 'B' }, '–'], [undefined, {}, '–'], [Infinity, {}, '∞'], [-Infinity, {}, '−∞'],
  ];
  for (const [value, how, want] of cases) equal(plain(format.value(value, how)), want, `${value} ${how.unit || ''}`);
});

test('values between one prefix and the next never show four digits', () => {
  for (let value = 1; value < 1e15; value *= 1.07) {
    const [number] = /[\d.]+/.exec(format.value(value));
    if (number.replace('.', '').length > 3) throw new Error(`${value} is ${format.value(value)}`);
  }
});

test('durations have two parts at most', () => {
  const cases = [[0, '0 s'], [4.21, '4.20 s'], [59, '59 s'], [60, '1 min'], [90, '1 min 30 s'], [3600 * 26, '1 d 2 h'], [86400 * 12.5, '12 d'], [86400 * 400, '1 y 35 d'], [-120, '−2 min']];
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
