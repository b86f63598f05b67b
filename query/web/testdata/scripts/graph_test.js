import { shapes } from '../../assets/chart/data.js';
import { argsOf, command, filled, filledArgs, freeName, graphURL, guard, linesOfArgs, pageOf, parts, shellWord } from '../../assets/graphlang.js';
import { chartLines, dataArgs, emptyModel, freeColour, legendOf, niceScale, readGraph, writeGraph } from '../../assets/graphmodel.js';
import { acrossHosts, withHost } from '../../assets/hosts.js';
import { added } from '../../assets/savegraph.js';
import { equal, test } from './check.js';

test('lines become arguments, and arguments lines', () => {
  const text = '# a comment\n--title Two words\n  --logarithmic\n\n--lower-limit -5\nDEF:a=web1/load:one:AVERAGE\r\nLINE1:a#ff0000:load  ';
  const args = ['--title', 'Two words', '--logarithmic', '--lower-limit', '-5', 'DEF:a=web1/load:one:AVERAGE', 'LINE1:a#ff0000:load  '];
  equal(argsOf(text), args);
  equal(argsOf(linesOfArgs(args).join('\n')), args);
  equal(argsOf(linesOfArgs(['--title=Two words', '-o', 'LINE1:a']).join('\n')), ['--title', 'Two words', '-o', 'LINE1:a']);
});

test('colons and backslashes are protected', () => {
  for (const text of ['a:b', 'a\\b', '::', 'plain', '\\:']) equal(parts(`DEF:${guard(text)}:x`), ['DEF', text, 'x'], text);
  equal(parts('load\\l'), ['load\\l']);
});

test('a command can be pasted into a shell', () => {
  equal(shellWord("it's"), "'it'\\''s'");
  equal(shellWord('DEF:a=x:y:AVERAGE'), 'DEF:a=x:y:AVERAGE');
  equal(command(['rondo', 'graph', 'a b.png'], ['LINE1:a#f00:$(x)']), "rondo graph 'a b.png' \\\n  'LINE1:a#f00:$(x)'");
});

test('the address of a graph holds every argument', () => {
  equal(new URL(graphURL('svg', ['--title', 'a&b', 'LINE:x#f00'], { from: 5, to: 6 }), 'http://x').searchParams.getAll('arg'), ['--title', 'a&b', 'LINE:x#f00']);
});

test('names that are free', () => {
  equal(freeName(new Set(['a', 'b'])), 'c');
  equal(freeName(new Set([...'abcdefghijklmnopqrstuvwxyz'])), 'a1');
});

test('a page of graphs', () => {
  const page = pageOf('# of the shop\ntitle: Web: all\n\ngraph: Load\n  --rigid\n  title: of no page\ngraph:\nHRULE:5#f00\n');
  equal(page, { title: 'Web: all', variables: [], graphs: [{ title: 'Load', args: ['--rigid', 'title: of no page'] }, { title: '', args: ['HRULE:5#f00'] }] });
});

const whole = [
  '--title', 'Two words', '--vertical-label', 'B/s', '--logarithmic', '--base', '1024', '--lower-limit', '-5', '--right-axis', '0.001:0', '--right-axis-label', 'req',
  '--rigid', '--font', 'DEFAULT:8:', 'DEF:a=web1/if\\:0:rx:AVERAGE', 'DEF:b=web1/x:y:MAX:step=60', 'CDEF:c=a,b,+', 'VDEF:d=c,MAXIMUM',
  'AREA:a#2264d1:in\\: all\\l', 'AREA:b#b8580c80:out:STACK', 'LINE1.5:c#1a7f4b', 'CDEF:b_right=b,0.001,/', 'LINE2:b_right#112233:right', 'GPRINT:d:%lf',
];

test('a graph is read and written without loss', () => {
  equal(writeGraph(readGraph(whole)), whole);
  const m = readGraph(whole);
  equal([m.title, m.unit, m.log, m.base, m.lower, m.right], ['Two words', 'B/s', true, 1024, -5, { scale: 0.001, unit: 'req' }]);
  equal(m.series[0], { name: 'a', path: 'web1/if:0', ds: 'rx', cf: 'AVERAGE', more: [] });
  equal(m.draws.map((d) => [d.ref, d.style, d.stack, d.right, d.label]), [
    ['a', 'area', false, false, 'in: all'], ['b', 'area', true, false, 'out'], ['c', 'line', false, false, ''], ['b', 'line', false, true, 'right']]);
  equal(m.whole, true);
});

test('size and range are the page’s own', () => {
  equal(writeGraph(readGraph(['--start', '-1d', '-w', '400', '--end=now', '-t', 'x'])), ['--title', 'x']);
});

test('what a chart cannot show is kept, and reported', () => {
  for (const arg of ['TICK:a#f00', 'HRULE:5#f00', 'SHIFT:a:3600', 'LINE1:a#f00:x:dashes', 'AREA:a#ff0000#00ff00:x']) {
    const m = readGraph(['DEF:a=x:y:AVERAGE', arg]);
    equal(m.whole, false, arg);
  }
  equal(writeGraph(readGraph(['AREA:a#ff0000#00ff00:x'])), ['AREA:a#ff0000#00ff00:x']);
  equal(readGraph(['COMMENT:hello', 'GPRINT:a:LAST:%lf']).whole, true);
  equal(writeGraph(readGraph(['TICK:a#f00', 'LINE1:a#ff0000:x:dashes=1,2'])), ['LINE1:a#ff0000:x:dashes=1,2', 'TICK:a#f00']);
});

test('values are asked for with a step of a pixel', () => {
  const m = readGraph(whole);
  const args = dataArgs(m, 61.7);
  equal(args.slice(0, 4), ['DEF:a=web1/if\\:0:rx:AVERAGE:step=61', 'DEF:b=web1/x:y:MAX:step=60', 'CDEF:c=a,b,+', 'VDEF:d=c,MAXIMUM']);
  equal(args.length, 4 + m.draws.length);
});

test('an answer becomes lines', () => {
  const m = { ...emptyModel(), ...readGraph(['DEF:a=x:y:AVERAGE', 'AREA:a#2264d1:one', 'LINE1:a#2264d1:one:STACK', 'LINE1:a#123456']) };
  const lines = chartLines(m, { meta: { step: 10 }, data: [[110, 1, 2, null], [120, 3, 4, 5]] });
  equal(lines.map((l) => [l.label, l.start, l.step, l.style, l.color]), [['one', 100, 10, 'area', 0], ['one (2)', 100, 10, 'line', 0], ['a', 100, 10, 'line', '#123456']]);
  equal([...lines[1].values], [3, 7]);
  equal(Number.isNaN(lines[2].values[0]), true);
  equal(chartLines(m, { meta: { step: 10 }, data: [] })[0].values.length, 0);
});

// As rrdgraph draws it: 3 stands on 2, and 5 on zero again.
test('an area without STACK behind a stack starts anew', () => {
  const m = readGraph(['DEF:a=x:y:AVERAGE', 'AREA:a#f00:one', 'AREA:a#0f0:two:STACK', 'AREA:a#00f:three', 'AREA:a#0ff:four:STACK']);
  const made = shapes(chartLines(m, { meta: { step: 10 }, data: [[110, 2, 3, 5, 7]] }), true);
  equal(made.map((s) => [s.bottom[0], s.top[0]]), [[0, 2], [2, 5], [0, 5], [5, 12]]);
});

test('a scale for the second axis, and a free colour', () => {
  equal([niceScale(100, 1), niceScale(1, 350), niceScale(0, 5), niceScale(3, 0)], [0.01, 500, 1, 1]);
  const m = readGraph(['LINE1:a#2264d1:x']);
  equal(freeColour(m), '#b8580c');
});

test('a line of PromQL is kept as it is, and drawn by the page', () => {
  const args = ['DEF:a=web1/load:one:AVERAGE', 'PROMQL:b=sum by (host) (rate({__name__="x:y", z="a=b"}[5m]))', 'AREA:a#2264d1:in', 'LINE1.5:b#b8580c:{{host}}'];
  equal(writeGraph(readGraph(args)), args);
  equal(argsOf(linesOfArgs(args).join('\n')), args);
  const m = readGraph(args);
  equal(dataArgs(m, 10), ['DEF:a=web1/load:one:AVERAGE:step=10', 'LINE1:a#000000:d0']);
  const series = (host, ...values) => ({ labels: { __name__: 'x', host, zone: 'z' }, start: 0, step: 10, values: Float64Array.from(values) });
  const lines = chartLines(m, { meta: { step: 10 }, data: [[10, 1], [20, 2]] }, new Map([['b', { series: [series('one', 1, 2), series('two', 3, 4)] }]]));
  equal(lines.map((l) => [l.label, [...l.values], l.style]), [['in', [1, 2], 'area'], ['one', [1, 2], 'line'], ['two', [3, 4], 'line']]);
  equal(lines[1].color !== lines[2].color, true);
  equal(dataArgs(readGraph(['PROMQL:b=up', 'LINE1:b']), 10), []);
});

test('a legend is the labels that tell one series from the others', () => {
  const all = [{ labels: { host: 'a', job: 'x' } }, { labels: { host: 'b', job: 'x' } }];
  equal(legendOf('', all[0], all, 'q'), 'a');
  equal(legendOf('load', all[0], all, 'q'), 'load a');
  equal(legendOf('{{ host }} of {{job}}{{nosuch}}', all[1], all, 'q'), 'b of x');
  equal(legendOf('', { labels: { __name__: 'up', host: 'a' } }, [all[0]], 'q'), 'up');
  equal(legendOf('all', all[0], [all[0]], 'q'), 'all');
});

test('variables of a page', () => {
  const page = pageOf('title: All of $host\nvariable: host\n\ngraph: Load\n DEF:a=x/${host}/load:one$hosted:AVERAGE\n PROMQL:q=up{instance="$host"}[$__interval]\n variable: none\n');
  equal(page.variables, ['host']);
  const values = new Map([['host', 'a:b"c']]);
  equal(filled(page.title, values), 'All of a:b"c');
  equal(filledArgs(page.graphs[0].args, values), ['DEF:a=x/a\\:b"c/load:one$hosted:AVERAGE', 'PROMQL:q=up{instance="a:b\\"c"}[$__interval]', 'variable: none']);
  equal(filled('$constructor $__proto__', values), '$constructor $__proto__');
});

test('one line of a graph for other hosts', () => {
  const args = ['--vertical-label', 'bit/s', 'DEF:in=collectd/web1/net-web1x/oct:rx:AVERAGE', 'DEF:out=collectd/web1/net/oct:tx:AVERAGE', 'CDEF:bits=in,8,*', 'LINE1:bits#2264d1:in', 'LINE1:out#b8580c:out'];
  const m = readGraph(args);
  equal(writeGraph(acrossHosts(m, m.draws[0], 'web1', ['a', 'b'])), ['--vertical-label', 'bit/s', 'DEF:in_0=collectd/a/net-web1x/oct:rx:AVERAGE', 'DEF:in_1=collectd/b/net-web1x/oct:rx:AVERAGE',
    'CDEF:bits_0=in_0,8,*', 'CDEF:bits_1=in_1,8,*', 'LINE1.5:bits_0#2264d1:a', 'LINE1.5:bits_1#b8580c:b']);
  equal(withHost(['DEF:a=x,host=web1/b\\:c:v:LAST', 'LINE1:a:web1'], 'web1', '$host'), ['DEF:a=x,host=$host/b\\:c:v:LAST', 'LINE1:a:web1']);
});

test('a graph is added to a dashboard, with the variable that it needs', () => {
  equal(added('title: a\n', 'graph: b\n', 'host'), 'variable: host\ntitle: a\n\ngraph: b\n');
  equal(added('variable: host\ntitle: a\ngraph: x\n', 'graph: b\n', 'host'), 'variable: host\ntitle: a\ngraph: x\n\ngraph: b\n');
});
