import { foldCores } from '../../assets/cores.js';
import { linesOf, selectionsOf } from '../../assets/data.js';
import { equal, test } from './check.js';

const core = (host, n) => ({
  id: `collectd/${host}/cpu-${n}`, group: 'CPU', stack: true, title: `CPU ${n}`,
  lines: ['user', 'idle'].map((name) => ({ path: `collectd/${host}/cpu-${n}/cpu-${name}`, ds: 'value', label: name })),
});

test('cores of a host are one chart, and that of each behind it', () => {
  const load = { id: 'collectd/a/load', group: 'Load', lines: [] };
  const { charts, cores } = foldCores([core('a', 0), core('a', 1), load, core('b', 0)]);
  equal(charts.map((c) => c.id), ['collectd/a/cpu-all', 'collectd/a/load', 'collectd/b/cpu-0']);
  equal(cores.map((c) => c.id), ['collectd/a/cpu-0', 'collectd/a/cpu-1']);
  equal(selectionsOf(charts[0]).length, 4);
  const rows = (v) => ({ start: 0, step: 10, end: 20, columns: new Map([['value', Float64Array.from(v)]]) });
  const lines = linesOf(charts[0], (key) => rows(key.endsWith('user') ? [1, NaN] : key.includes('cpu-1') ? [NaN, 4] : [3, 4]));
  equal(lines.map((l) => l.values), [[40, NaN], [60, 100]]);
  equal(foldCores([{ ...core('a', 0), id: 'collectd/a/cpu' }, core('a', 0), core('a', 1)]).charts.map((c) => c.id), ['collectd/a/cpu']);
});
