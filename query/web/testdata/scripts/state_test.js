import { secondsOf } from '../../assets/clock.js';
import { hostURL, moved, pathOf, rangeOf, rangeParams, seconds, seriesURL, shiftOf, withParams, zoomed } from '../../assets/state.js';
import { equal, test } from './check.js';

const url = (query) => new URL(`http://x/host/a${query}`);
const now = 1e9;

test('texts of the address are times', () => {
  const cases = [['now', now], ['-1h', now - 3600], ['now-1d', now - 86400], ['-90s', now - 90], ['-1y', now - 365 * 86400], ['12345', 12345]];
  for (const [text, want] of cases) equal(seconds(text, now), want, text);
  for (const text of ['yesterday', '-1', '1h', 'end-1d', '-1parsec', '-1.5h']) equal(seconds(text, now), NaN, text);
});

// What the page reads itself it reads as the command line does; the server reads the rest.
test('typed times', async () => {
  let read = 0;
  for (const { now, zone, times } of await (await fetch('../times.json')).json()) {
    const name = (options) => Intl.DateTimeFormat('en', options).resolvedOptions().timeZone; // some zones have two
    if (name({ timeZone: zone }) !== name()) continue;
    for (const [text, want] of Object.entries(times)) {
      const got = seconds(text, now);
      if (Number.isNaN(got)) continue;
      read++;
      equal(got, want, `${text} at ${now} in ${zone}`);
    }
  }
  equal(read >= 36, true, `${read} were read`);
});

test('a wrong range becomes the last day', () => {
  for (const query of ['', '?from=junk', '?from=now&to=-1d', '?from=-1s', '?from=0&to=99999999999999', '?to=5']) {
    const r = rangeOf(url(query), now);
    equal([r.from, r.to, r.live, r.name], [now - 86400, now, true, '1d'], query);
  }
});

test('ranges of the address', () => {
  equal(rangeOf(url('?from=-1h'), now).name, '1h');
  const r = rangeOf(url('?from=100&to=1100'), now);
  equal([r.from, r.to, r.live, r.name], [100, 1100, false, '']);
  equal(rangeOf(url('?from=-10800s'), now).live, true);
});

test('a range goes into the address and comes out again', () => {
  for (const [from, to] of [[now - 500, now], [now - 90000, now - 3600]]) {
    const r = rangeOf(new URL(withParams(url('?row=all'), rangeParams(from, to, now)), 'http://x'), now);
    equal([r.from, r.to, r.live], [from, to, to === now]);
  }
  equal(withParams(url('?row=all&from=5'), { from: null, f: 'a b' }), '/host/a?row=all&f=a+b');
});

test('moving and zooming never show the future', () => {
  equal(moved({ from: 0, to: 100 }, 0.5, 120), { from: 20, to: 120 });
  equal(moved({ from: 0, to: 100 }, -0.5, 120), { from: -50, to: 50 });
  equal(zoomed({ from: 0, to: 100 }, 0.5, undefined, 1000), { from: 25, to: 75 });
  equal(zoomed({ from: 0, to: 100, live: true }, 2, undefined, 100), { from: -100, to: 100 });
  equal(zoomed({ from: 0, to: 100 }, 1e-9, undefined, 1000), { from: 45, to: 55 });
});

test('paths of any kind survive the address', () => {
  for (const path of ['collectd/web1', 'a b/c%d', 'ü/#?&', '<img>/"x"']) {
    equal(pathOf(new URL(hostURL(path), 'http://x'), '/host/'), path);
    equal(pathOf(new URL(seriesURL(path, 'd s'), 'http://x'), '/series/'), path);
  }
  equal(new URL(seriesURL('a', 'd&s'), 'http://x').searchParams.get('ds'), 'd&s');
  equal(pathOf(new URL('http://x/host/%zz'), '/host/'), '%zz');
});

test('presets begin and end at midnights of the reader', () => {
  const sunday = secondsOf(2026, 10, 29, 13);
  equal([['midnight'], ['midnight-1d'], ['thisweek'], ['thismonth'], ['lastmonth']].map(([text]) => seconds(text, sunday)),
    [[10, 29], [10, 28], [10, 23], [10, 1], [9, 1]].map(([m, d]) => secondsOf(2026, m, d)));
  equal(rangeOf(url('?from=lastmonth&to=thismonth'), sunday).to, secondsOf(2026, 10, 1));
});

test('a range is compared with the same hours of another day', () => {
  const from = secondsOf(2026, 2, 9, 13), to = from + 7200; // clocks of New York changed the day before
  equal([['before', 7200], ['day', from - secondsOf(2026, 2, 8, 13)], ['week', from - secondsOf(2026, 2, 2, 13)], ['year', from - secondsOf(2025, 2, 9, 13)]]
    .map(([name, want]) => shiftOf({ from: from + 0.5, to: to + 0.5 }, name) - want), [0, 0, 0, 0]);
  equal([rangeOf(url('?compare=week'), now).compare, rangeOf(url('?compare=junk'), now).compare], ['week', '']);
});
