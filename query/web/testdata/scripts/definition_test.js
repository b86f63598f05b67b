import { aligned, archive, csv, expected, functions, json, noteKeys, noteMarks, source, spans, unitFrom } from '../../assets/definition.js';
import { rateOf, verdict } from '../../assets/pages/status.js';
import { shortName } from '../../assets/pages/workbench.js';
import { graphText } from '../../assets/savegraph.js';
import { equal, test } from './check.js';

test('data sources', () => {
  equal(source('DS:in:DERIVE:20:0:U'), { name: 'in', kind: 'DERIVE', heartbeat: 20, min: 0, max: NaN });
  equal(source('DS:sum:COMPUTE:a,b,+'), { name: 'sum', kind: 'COMPUTE', rpn: 'a,b,+' });
});

test('archives', () => {
  equal(archive('RRA:AVERAGE:0.5:6:1008', 10), { cf: 'AVERAGE', rows: 1008, seconds: 60, span: 60480, text: 'RRA:AVERAGE:0.5:6:1008' });
  equal(archive('RRA:HWPREDICT:4032:0.1:0.0035:288:3', 300).span, 4032 * 300);
  equal(archive('RRA:FAILURES:288:7:9:4', 300).seconds, 300);
});

test('functions that a chart takes', () => {
  const of = (...cfs) => functions(cfs.map((cf) => ({ cf })));
  equal(of('AVERAGE', 'MIN', 'MAX'), { main: 'AVERAGE', min: 'MIN', max: 'MAX' });
  equal(of('MAX'), { main: 'MAX' });
  equal(of('LAST', 'HWPREDICT', 'DEVPREDICT', 'FAILURES'), { main: 'LAST', predicted: 'HWPREDICT', deviation: 'DEVPREDICT', failures: 'FAILURES' });
  equal(of('SEASONAL').main, '');
});

test('a band has the steps of its line', () => {
  const line = { start: 0, step: 20, values: [1, 2] };
  equal([...aligned(line, { start: 0, step: 10, values: [5, 3, NaN, 8] }, Math.min)], [3, 8]);
  equal([...aligned(line, { start: 0, step: 20, values: [0, 1] }, Math.min)], [0, 1]);
  equal(aligned(line, { start: 0, step: 40, values: [0] }, Math.min), undefined);
  equal(aligned(line, undefined, Math.min), undefined);
});

test('notes of one moment share a mark', () => {
  equal(noteMarks([{ time: 10, text: 'a', severity: 'okay' }, { time: 20, text: 'b' }, { time: 10, text: 'c', severity: 'failure' }, { time: 10, text: 'd', severity: 'warning' }]),
    [{ time: 10, text: 'a · c · d', severity: 'failure', count: 3 }, { time: 20, text: 'b', severity: undefined, count: 1 }]);
});

test('the band has the deviations of the series', () => {
  const rows = (...values) => ({ start: 0, step: 10, values });
  const band = expected(rows(10, 20), rows(1, 2), { above: 3, below: 0.5 });
  equal([band.min, band.max], [[9.5, 19], [13, 26]]);
});

test('what was expected, and when it was not so', () => {
  const band = expected({ start: 0, step: 10, values: [10, NaN] }, { start: 0, step: 10, values: [1, 1] });
  equal([[...band.min], [...band.max]], [[8, NaN], [12, NaN]]);
  equal(expected({ start: 0, step: 10, values: [] }, { start: 0, step: 20, values: [] }), null);
  equal(spans({ start: 100, step: 10, values: [0, 1, 1, NaN, 1, 0] }), [{ time: 110, to: 130 }, { time: 140, to: 150 }]);
  equal(spans(undefined), []);
});

test('tables as files', () => {
  const table = { columns: ['Time', 'a, b', 'say "x"'], rows: [[1700000000, 1.5, NaN]], step: 10 };
  equal(csv(table), 'time,seconds,"a, b","say ""x"""\r\n2023-11-14T22:13:20Z,1700000000,1.5,\r\n');
  equal(JSON.parse(json(table)), { step: 10, columns: ['seconds', 'a, b', 'say "x"'], rows: [[1700000000, 1.5, null]] });
});

test('notes stand at a series and at the folders above it', () => {
  equal(noteKeys('collectd/web1/load/load'), ['collectd/web1/load/load', 'collectd/web1/load', 'collectd/web1']);
  equal(noteKeys('one'), ['one']);
});

test('the verdict names the worst', () => {
  equal(verdict([]), { words: 'All is well', look: 'good' });
  equal(verdict([{ severity: 'info' }]).look, 'good');
  equal(verdict([{ severity: 'warning' }, { severity: 'warning' }]).words, '2 warnings');
  equal(verdict([{ severity: 'error' }, { severity: 'warning' }]), { words: '1 error, 1 warning', look: 'bad' });
});

test('the rate of a counter since it was first seen', () => {
  const seen = new Map();
  equal(rateOf(seen, 'a', 100, 1000, 1000), undefined);
  equal(rateOf(seen, 'a', 100, 1000, 950), 2, 'at first, since it began');
  equal(rateOf(seen, 'a', 220, 1005, 950), 4);
  equal(rateOf(seen, 'a', 50, 1010, 1009), 50, 'the server began anew');
  for (let i = 1; i <= 30; i++) rateOf(seen, 'b', i * 10 + (i > 15 ? 1000 : 0), i * 10, 0);
  equal(rateOf(seen, 'b', 1310, 310, 0), 1, 'over a minute');
});

test('short names, and a graph as text', () => {
  equal(shortName('collectd/web1/load/load'), 'web1 load load');
  equal(shortName('demo/x'), 'demo x');
  equal(graphText('Load', ['--rigid', 'LINE1:a']), 'graph: Load\n  --rigid\n  LINE1:a\n');
});

test('the unit of a series stands in the recipe of its charts', () => {
  const chart = (more, ...lines) => ({ unit: 'B', base: 1024, lines, ...more });
  equal(unitFrom([chart({}, { path: 'a/m', ds: 'value', factor: 1 })], 'a/m', ['value']), { unit: 'B', base: 1024 });
  const octets = chart({ unit: 'bit/s', base: 1000 }, { path: 'a/o', ds: 'rx', factor: 8 }, { path: 'a/o', ds: 'tx', factor: -8 });
  equal(unitFrom([octets], 'a/o', ['rx', 'tx']), { unit: 'B/s', base: 1000 });
  equal(unitFrom([octets], 'a/other', ['rx']), null);
  equal(unitFrom([octets], 'a/o', ['rx', 'unseen']), null);
  equal(unitFrom([chart({ unit: '%', percent: true }, { path: 'a/c', ds: 'value', factor: 1 })], 'a/c', ['value']), null);
  equal(unitFrom([chart({ unit: '%' }, { path: 'a/c', ds: 'value', factor: -1, offset: 100 })], 'a/c', ['value']), null);
});
