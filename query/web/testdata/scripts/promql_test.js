import { measured, place, shownOf, stepOf } from '../../assets/promql.js';
import { equal, test } from './check.js';

test('what may stand at the cursor', () => {
  const at = (text) => {
    const i = text.indexOf('|'), found = place(text.replace('|', ''), i);
    return found && [found.kind, found.prefix, found.metric, found.label].filter(Boolean).join(' ');
  };
  for (const [text, want] of Object.entries({
    'colle|': 'name colle', 'sum(colle|': 'name colle', 'load{|': 'label load', 'load{ho|="x"}': 'label ho load', 'load{host="|': 'value load host',
    'load{host=~"web|"}': 'value web load host', 'load{a="1", b!~"x|': 'value x load b', 'sum by (|) (rate(load[5m]))': 'label load', 'sum by (a, h|) (load)': 'label h load',
    'rate(load[|': 'range', '{__name__="|': 'value __name__', 'load + 5|': null, 'load{a="}"} + x|': 'name x', 'label_replace(x, "|': null, 'load{a="\\"|': 'value \\" load a',
  })) equal(at(text), want, text);
});

test('the unit of an expression is the metric’s where functions keep it', () => {
  equal(measured('avg by (host) (load{a="b"})'), { metric: 'load', rate: false });
  equal(measured('sum(rate(bytes_total[5m]))'), { metric: 'bytes_total', rate: true });
  for (const text of ['count(load)', 'load / 2', 'a + b', 'a and b', 'time()', '1', '']) equal(measured(text), null, text);
});

test('steps are round, and few', () => {
  equal([stepOf(3600, 800), stepOf(86400, 1200), stepOf(366 * 86400, 800), stepOf(10, 800)], [5, 120, 43200, 1]);
  equal(stepOf(100 * 365 * 86400, 400), 92 * 86400);
});

test('many series: the greatest are shown, and that is said', () => {
  const series = Array.from({ length: 50 }, (_, i) => ({ labels: { i: String(i) }, values: Float64Array.from([i, NaN]) }));
  const { series: shown, note } = shownOf(series);
  equal([shown.length, shown[0].labels.i, note], [20, '30', '20 of 50 series are shown: the greatest last values.']);
  equal(shownOf(series.slice(0, 3)), { series: series.slice(0, 3), note: '' });
  equal(shownOf(series, ['results truncated due to limit']).note.includes('there are more'), true);
  equal(shownOf([], ['PromQL info: x']).note, 'No series in this range. PromQL info: x');
});
