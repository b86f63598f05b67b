import { logTicks, tickLabels, timeTicks, valueStep, valueTicks } from '../../assets/ticks.js';
import { equal, test } from './check.js';

test('values have round ticks', () => {
  equal(valueTicks(0, 100, 4), [0, 25, 50, 75, 100]);
  equal(valueTicks(-3, 3, 3), [-2, 0, 2]);
  equal(valueTicks(0, 2 ** 34, 4, 1024), [0, 2 ** 32, 2 * 2 ** 32, 3 * 2 ** 32, 4 * 2 ** 32]);
  equal(valueTicks(1, 1, 4), []);
  equal(valueTicks(0, NaN, 4), []);
  equal(valueStep(0.3), 0.5);
  equal(valueStep(1), 1);
});

test('labels of ticks share a prefix and their decimals', () => {
  equal(tickLabels([0, 500, 1000, 1500], {}), ['0', '0.5 k', '1.0 k', '1.5 k']);
  equal(tickLabels([0, 2 ** 32, 2 ** 33], { base: 1024, unit: 'B' }), ['0', '4 Gi', '8 Gi']);
  equal(tickLabels([-2e6, 0, 2e6], { absolute: true }), ['2 M', '0', '2 M']);
  equal(tickLabels([0, 0.0005, 0.001], { unit: 's' }), ['0', '0.5 m', '1.0 m']);
  equal(tickLabels([1000, 1010, 1020], { unit: 'hPa' }), ['1000', '1010', '1020']);
  equal(tickLabels([10000, 10002, 10004], {}), ['10,000', '10,002', '10,004']);
  equal(tickLabels([0, 43200, 86400], { unit: 's' }).map((l) => l.replace(/\u202f/g, ' ')), ['0', '12 h', '1 d']);
  equal(tickLabels([0, 500, 1000], { unit: 'd' }).map((l) => l.replace(/\u202f/g, ' ')), ['0', '500 d', '1000 d'], 'no words that are cut off');
  equal(tickLabels([0, 1800, 3600, 5400], { unit: 's' }).map((l) => l.replace(/\u202f/g, ' ')), ['0', '0.5 h', '1.0 h', '1.5 h']);
  equal(valueStep(50000, 60), 86400);
  equal(valueStep(3e5, 60), 5 * 86400);
});

test('a logarithmic axis has powers', () => {
  equal(logTicks(1, 1e6, 10), [1, 10, 100, 1e3, 1e4, 1e5, 1e6]);
  equal(logTicks(1, 1e12, 5).length <= 5, true);
  equal(logTicks(-1, 5, 5), []);
});

test('ticks of time stand at round times of the reader, in every range', () => {
  for (const length of [60, 600, 3600, 6 * 3600, 86400, 3 * 86400, 7 * 86400, 31 * 86400, 180 * 86400, 366 * 86400, 10 * 366 * 86400]) {
    for (let k = 0; k < 40; k++) {
      const to = 1774000000 + k * 8 * 86400 + 12345; // over both changes of the clock
      const ticks = timeTicks(to - length, to, 8);
      if (ticks.length < 2 || ticks.length > 18) throw new Error(`${length} s have ${ticks.length} ticks at ${to}`);
      ticks.forEach((tick, i) => {
        const d = new Date(tick.time * 1000);
        if (tick.time < to - length || tick.time > to) throw new Error('a tick is outside');
        if (i && tick.time <= ticks[i - 1].time) throw new Error('ticks go back');
        if (d.getSeconds() % 5 || (length >= 86400 && d.getMinutes())) throw new Error(`a tick at ${d}`);
        if (length >= 31 * 86400 && d.getHours()) throw new Error(`a tick at ${d}, in ${length} s`);
        if (tick.major && !/^[A-Z][a-z]{2}|^\d{4}$/.test(tick.label)) throw new Error(`a major tick says ${tick.label}`);
      });
    }
  }
});

test('labels of a day are hours, and midnight says the day', () => {
  const midnight = new Date(2026, 10, 22).getTime() / 1000;
  const labels = timeTicks(midnight - 8 * 3600 - 5, midnight + 9 * 3600, 6).map((t) => t.label);
  equal(labels, ['18:00', '21:00', 'Sun 22', '03:00', '06:00', '09:00']);
});
