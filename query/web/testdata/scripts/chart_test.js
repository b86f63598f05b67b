import { extent, shapes, statistics, valueAt } from '../../assets/chart/data.js';
import { axis } from '../../assets/chart/scale.js';
import { table } from '../../assets/chart/table.js';
import { equal, test } from './check.js';

const line = (values, more = {}) => ({ label: 'l', start: 0, step: 10, values: Float64Array.from(values), ...more });

test('the value under the pointer is that of its row', () => {
  const l = line([1, 2, NaN]);
  equal([-1, 0, 9.9, 10, 25, 30].map((t) => valueAt(l, t)), [NaN, 1, 1, 2, NaN, NaN]);
});

test('statistics are of the range that is seen, and of the finest data', () => {
  equal(statistics(line([1, 2, 3, NaN, 9]), 10, 40), { last: 3, min: 2, avg: 2.5, max: 3 });
  equal(statistics(line([1, 2], { min: [0, 1], max: [5, 7] }), 0, 20), { last: 2, min: 0, avg: 1.5, max: 7 });
  equal(statistics(line([NaN]), 0, 10), { last: NaN, min: NaN, avg: NaN, max: NaN });
  equal(statistics(line([]), 0, 10).last, NaN);
});

test('a legend shows the middle of a band', () => {
  const band = line([], { style: 'band', min: [1, NaN, 3], max: [3, 4, 5] });
  equal(statistics(band, 0, 30), { last: 4, min: 1, avg: 3, max: 5 });
  equal(table([band], 0, 30).rows, [[10, 2], [20, NaN], [30, 4]]);
});

test('areas stand on each other, those below zero apart, and lines on nothing', () => {
  const list = shapes([line([1, NaN]), line([2, 3], { label: 'b' }), line([-1, -2], { label: 'c' }), line([7, 7], { label: 'd', style: 'line' })], true);
  equal(list.map((s) => s.top), [[1, NaN], [3, 3], [-1, -2], [7, 7]]);
  equal(list.map((s) => s.bottom), [[0, 0], [1, 0], [0, 0], null]);
});

test('areas of other steps and starts stand on each other', () => {
  const list = shapes([line([1, 1, 1, 1]), line([5, 7], { label: 'b', step: 20 })], true);
  equal(list[1].top, [6, 6, 8, 8]);
  equal(shapes([line([1, 1]), line([2], { label: 'b', start: 10 })], true)[1].top, [NaN, 3]);
});

test('a stack that begins anew stands on zero', () => {
  equal(shapes([line([1]), line([2], { label: 'b', restart: true })], true)[1].top, [2]);
});

test('an axis begins at zero unless all lies far from it, and keeps the limits of the chart', () => {
  const of = (low, high, options = {}, zero = false) => { const a = axis({ low, high, zero }, options, 0, 168); return [a.low, a.high]; };
  equal(of(3, 9), [0, 10]);
  equal(of(40, 41), [40, 41]);
  equal(of(40, 41, {}, true), [0, 60]);
  equal(of(3, 60, { lower: 0, upper: 100 }), [0, 100]);
  equal(of(3, 130, { lower: 0, upper: 100 })[1] >= 130, true);
  equal(of(0, 0), [0, 1]);
  equal(of(-3, 5)[0] <= -3, true);
  equal(axis(null, {}, 0, 100).ticks.length > 1, true);
  const log = axis({ low: 1, high: 1000 }, { log: true }, 0, 300);
  equal([log.y(0), log.y(-5), log.y(1e9) < 0], [300, 300, true]);
});

test('the extent counts what is seen', () => {
  equal(extent(shapes([line([1, 50, 3])], false), 20, 30, false), { low: 3, high: 3, zero: false });
  equal(extent(shapes([line([0, 5, -1])], false), 0, 30, true), { low: 5, high: 5, zero: false });
  equal(extent(shapes([line([NaN])], false), 0, 30, false), null);
});

test('the table has the rows that are seen', () => {
  const t = table([line([1, 2, 3]), line([9], { label: 'b', step: 30 })], 5, 25);
  equal(t, { columns: ['Time', 'l', 'b'], rows: [[10, 1, 9], [20, 2, 9], [30, 3, 9]], step: 10 });
  equal(table([], 0, 1).rows, []);
});
