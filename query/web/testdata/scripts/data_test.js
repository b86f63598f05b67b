import { hostOf } from '../../assets/alerts.js';
import { linesOf, readRows, selectionKey, selectionsOf } from '../../assets/data.js';
import { equal, test } from './check.js';

const rows = (start, step, columns) => ({ start, step, columns: new Map(Object.entries(columns).map(([ds, v]) => [ds, Float64Array.from(v)])) });

test('rows of JSON', () => {
  const r = readRows({ start: '100', step: '10', columns: [{ ds: 'a', values: [1, 'NaN', 'Infinity'] }, { ds: 'b' }] });
  equal([r.start, r.step, r.columns.get('a'), r.columns.get('b')], [100, 10, [1, NaN, Infinity], []]);
});

test('a chart asks for each series and function once', () => {
  const chart = { lines: [{ path: 'if', ds: 'rx', cf: 'AVERAGE', maxCf: 'MAX' }, { path: 'if', ds: 'tx', cf: 'AVERAGE', maxCf: 'MAX' }, { path: 'x', ds: 'v' }] };
  equal(selectionsOf(chart), [
    { path: 'if', ds: ['rx', 'tx'], cf: 'AVERAGE' }, { path: 'if', ds: ['rx', 'tx'], cf: 'MAX' }, { path: 'x', ds: ['v'], cf: 'AVERAGE' }]);
});

test('a mirrored line is below zero, and its band is turned over', () => {
  const found = {
    [selectionKey('p', 'AVERAGE')]: rows(0, 10, { d: [1, NaN] }), [selectionKey('p', 'MAX')]: rows(0, 10, { d: [2, 3] }), [selectionKey('p', 'MIN')]: rows(0, 10, { d: [0, 1] }),
  };
  const [line] = linesOf({ lines: [{ path: 'p', ds: 'd', factor: -8, cf: 'AVERAGE', maxCf: 'MAX', minCf: 'MIN' }] }, (key) => found[key]);
  equal([line.values, line.min, line.max, line.mirror], [[-8, NaN], [-16, -24], [-0, -8].map((v) => v + 0), true]);
});

test('labels are unique, and a line without rows is left out', () => {
  const found = { [selectionKey('a/x', 'AVERAGE')]: rows(0, 1, { value: [1] }), [selectionKey('b/x', 'AVERAGE')]: rows(0, 1, { value: [2] }), [selectionKey('c', 'AVERAGE')]: new Error('gone') };
  const chart = { lines: ['a/x', 'b/x', 'c', 'd'].map((path) => ({ path, ds: 'value', label: 'x' })) };
  equal(linesOf(chart, (key) => found[key]).map((l) => l.label), ['x', 'b/x value']);
});

test('shares are percent of what is known', () => {
  const found = { [selectionKey('u', 'AVERAGE')]: rows(0, 10, { v: [1, NaN, 0] }), [selectionKey('i', 'AVERAGE')]: rows(0, 10, { v: [3, 5, 0] }) };
  const lines = linesOf({ percent: true, stack: true, lines: [{ path: 'u', ds: 'v', style: 'area' }, { path: 'i', ds: 'v', style: 'area' }] }, (key) => found[key]);
  equal(lines.map((l) => l.values), [[25, NaN, NaN], [75, 100, NaN]]);
});

test('a sum has each series as long as it is known', () => {
  const found = {
    [selectionKey('c0', 'AVERAGE')]: rows(0, 10, { v: [1, NaN] }), // it has ended
    [selectionKey('c1', 'AVERAGE')]: rows(0, 10, { v: [2, 3, 4] }),
    [selectionKey('c2', 'AVERAGE')]: rows(0, 5, { v: [10, 20, NaN, 30, NaN, NaN] }), // its rows are shorter
    [selectionKey('c3', 'AVERAGE')]: new Error('gone'),
  };
  const sum = (...paths) => {
    const [first, ...others] = paths.map((path) => ({ path, ds: 'v', cf: 'AVERAGE' }));
    const [line] = linesOf({ lines: [{ ...first, sum: others }] }, (key) => found[key]);
    return line && [line.start, line.step, line.values];
  };
  equal(sum('c0', 'c1'), [0, 10, [3, 3, 4]]);
  equal(sum('c1', 'c0'), [0, 10, [3, 3, 4]]);
  equal(sum('c0', 'c1', 'c2'), [0, 10, [18, 33, 4]]);
  equal(sum('c2', 'c1'), [0, 10, [17, 33, 4]]);
  equal(sum('c3', 'c1', 'c1'), [0, 10, [4, 6, 8]]);
  equal(sum('c3', 'c3'), undefined);
});

test('hosts of instances', () => {
  for (const [instance, host] of [
    ['web1', 'web1'], ['web1:9100', 'web1'], ['https://shop.example.org:8443/cart', 'shop.example.org'], ['http://shop.example.org', 'shop.example.org'],
    ['[fe80::1]:9100', 'fe80::1'], ['[fe80::1]', 'fe80::1'], ['fe80::1', 'fe80::1'], ['10.0.0.7:9100', '10.0.0.7'],
  ]) equal(hostOf(instance), host);
});
