import { joined, Tail } from '../../assets/tail.js';
import { equal, test } from './check.js';

const rows = (start, ...values) => ({ start, step: 10, columns: new Map([['v', Float64Array.from(values)]]) });
const shown = (r) => r && [r.start, r.columns.get('v')];

test('new rows stand behind the old ones, and the front goes', () => {
  equal(shown(joined(rows(100, 1, 2, 3, NaN), rows(120, 3, 4, 5, NaN), 110, 120)), [110, [2, 3, 4, 5, NaN]]);
  equal(shown(joined(rows(100, 1, 2), rows(110, 2), 100, 110)), [100, [1, 2]]);
});

test('rows that do not fit are no rows', () => {
  equal(joined(rows(100, 1), { ...rows(110, 1), step: 20 }, 100, 110), undefined);
  equal(joined(rows(100, 1), rows(105, 1), 100, 110), undefined);
  equal(joined(rows(100, 1), rows(150, 1), 100, 150), undefined); // a gap
  equal(joined(rows(100, 1), new Error('gone'), 100, 110), undefined);
  equal(joined(rows(100, 1, NaN, NaN, NaN), rows(130, NaN, 7), 100, 130), undefined); // it was silent, and is back
});

test('a live range is fetched whole once, then only what is new', async () => {
  const asked = [];
  let now = 1000;
  globalThis.fetch = async (_, { body }) => {
    const m = JSON.parse(body);
    asked.push(m.after || '');
    const first = Math.max(Number(m.start), Number(m.after || 0));
    const values = [];
    for (let at = first; at < now; at += 10) values.push(at);
    return new Response(JSON.stringify({ results: m.select.map(() => ({ rows: { start: String(first), step: '10', columns: [{ ds: 'v', values: [...values, 'NaN'] }] } })) }));
  };
  const tail = new Tail(), select = [{ path: 'a', cf: 'AVERAGE' }];
  const whole = (from) => [from, [...Array.from({ length: (now - from) / 10 }, (_, i) => from + 10 * i), NaN]];
  for (now of [1000, 1010, 1050]) equal(shown((await tail.fetch(select, { from: now - 500, to: now, live: true }, 100))[0]), whole(now - 500));
  equal(asked, ['', '990', '1000']);
  await tail.fetch([...select, { path: 'b', cf: 'AVERAGE' }], { from: now - 500, to: now, live: true }, 100);
  equal(asked.slice(3), ['', '1040']); // another series is fetched whole, this one is not
  equal(shown((await tail.fetch(select, { from: now - 600, to: now, live: true }, 100))[0]), whole(now - 600));
  await tail.fetch(select, { from: now - 600, to: now }, 100);
  equal(asked.slice(5), ['', '']);
});
