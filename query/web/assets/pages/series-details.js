// What stands below the chart of a series: notes, state, definition, labels, metadata, command.

import { el, fill, setText } from '../dom.js';
import * as format from '../format.js';
import { num } from '../rpc.js';
import { Sheet } from '../sheet.js';
import { copyButton } from '../transfer.js';

const kinds = {
  GAUGE: 'a value as it is', COUNTER: 'a counter; its rate', DERIVE: 'a rate, also of what falls', ABSOLUTE: 'a counter that a reading resets; its rate',
  DCOUNTER: 'a counter of doubles; its rate', DDERIVE: 'a rate of doubles', COMPUTE: 'computed from the others',
};

/**
 * @param {object} page the page of the series
 * @returns {{element: HTMLElement, update: () => void}}
 */
export function details(page) {
  const parts = [notes(page), state(page), archives(page), labels(page), ways(page)];
  return {
    element: el('div', { class: 'series-details' }, parts.map((p) => p.element)),
    update: () => parts.forEach((p) => p.update?.()),
  };
}

function notes(page) {
  const list = el('ul', { class: 'notes' });
  const element = el('section', { class: 'span', hidden: true }, el('h2', {}, 'Notifications'), list);
  let was = '';
  return {
    element,
    update() {
      const is = JSON.stringify(page.notes);
      if (is === was) return;
      was = is;
      element.hidden = page.notes.length === 0;
      fill(list, page.notes.map((n) => {
        const at = num(n.timeUs) / 1e6;
        return el('li', { class: n.severity }, el('strong', { class: 'severity' }, n.severity || 'note'),
          el('span', {}, n.text), el('time', { class: 'soft', datetime: new Date(at * 1000).toISOString() }, format.time(at)));
      }));
    },
  };
}

function limits({ rpn, min, max }) {
  if (rpn) return `= ${rpn}`;
  const low = !Number.isNaN(min), high = !Number.isNaN(max);
  if (low && high) return `${plain(min)} to ${plain(max)}`;
  return low ? `at least ${plain(min)}` : high ? `at most ${plain(max)}` : 'none';
}

const plain = (v) => (Number.isNaN(v) || v === undefined ? '–' : format.digits(v));

function state(page) {
  const sheet = new Sheet([
    { name: 'Data source', value: (s) => s.name },
    { name: 'Kind', value: (s) => s.kind, text: (s) => s.kind, title: 'How a reading becomes a value' },
    { name: 'Last reading', number: true, value: (s) => s.last },
    { name: 'So far in this step', number: true, value: (s) => s.value, text: (s) => (s.kind === 'COMPUTE' ? '–' : plain(s.value)), title: 'What the step under way holds: the values so far, times their seconds' },
    { name: 'Unknown', number: true, value: (s) => s.unknown, text: (s) => (s.unknown ? format.duration(s.unknown) : 'nothing'), title: 'How much of the step under way is unknown' },
    { name: 'Heartbeat', number: true, value: (s) => s.heartbeat ?? NaN, text: (s) => (s.heartbeat ? format.duration(s.heartbeat) : '–'), title: 'After so long without a reading values are unknown' },
    { name: 'Limits', value: (s) => s.rpn || `${plain(s.min)} to ${plain(s.max)}`, text: limits },
  ], { caption: 'Data sources', key: (s) => s.name });
  const facts = el('p', { class: 'soft' });
  return {
    element: el('section', { class: 'span' }, el('h2', {}, 'Data sources'), facts, sheet.element),
    update() {
      const now = new Map((page.info.sources || []).map((s) => [s.name, s]));
      const kind = page.sources.length === 1 ? `, ${kinds[page.sources[0].kind] || ''}` : '';
      const at = num(page.info.lastUpdateUs) / 1e6;
      setText(facts, `A step of ${format.duration(page.step)}${kind}. The last update was at ${format.time(at)}.${(page.info.problems || []).map((p) => ` ${p.text} ${p.advice}`).join('')}`);
      sheet.update(page.sources.map((s) => {
        const x = now.get(s.name) || {};
        return { ...s, last: x.lastReading ?? 'U', value: Number(x.value ?? 0), unknown: num(x.unknownSeconds) };
      }));
    },
  };
}

function archives(page) {
  const sheet = new Sheet([
    { name: 'Archive', value: (a) => a.cf },
    { name: 'A row is', number: true, value: (a) => a.seconds, text: (a) => format.duration(a.seconds) },
    { name: 'Rows', number: true, value: (a) => a.rows, text: (a) => format.count(a.rows) },
    { name: 'Reaches back', number: true, value: (a) => a.span, text: (a) => format.duration(a.span) },
    { name: 'Definition', value: (a) => a.text, nodes: (a) => el('code', {}, a.text), wide: true },
  ], { caption: 'Archives', key: (a) => a.text });
  sheet.update(page.archives);
  return { element: el('section', {}, el('h2', {}, 'Archives'), sheet.element) };
}

// Labels and metadata: names and values.
function labels(page) {
  const list = el('dl', { class: 'facts' });
  let was = '';
  return {
    element: el('section', {}, el('h2', {}, 'Labels and metadata'), list),
    update() {
      const m = page.info.metadata || {};
      const facts = [
        ...(page.info.series.labels || []), ...(m.attributes || []).map((a) => ({ name: a.name, value: a.value })),
        { name: 'text', value: m.text || '' }, { name: 'path', value: page.path }, { name: 'ref', value: String(page.info.series.ref || '') },
        { name: 'expires after', value: num(m.expire) ? format.duration(num(m.expire)) + ' of silence' : '' },
      ].filter((f) => f.value);
      const is = JSON.stringify(facts);
      if (is === was) return;
      was = is;
      fill(list, facts.map((f) => el('div', {}, el('dt', { class: 'soft' }, f.name), el('dd', {}, f.value))));
    },
  };
}

function ways(page) {
  const code = el('pre', { class: 'example', tabindex: '0', 'aria-label': 'The command' });
  const picture = el('a', { class: 'button', target: '_blank', rel: 'noopener' }, 'As SVG');
  const bench = el('a', { class: 'button' }, 'Open in the workbench');
  return {
    element: el('section', { class: 'span' }, el('h2', {}, 'The same as a command'), code,
      el('div', { class: 'series-ways' }, copyButton(() => page.command(), 'Copy'), picture, bench)),
    update() {
      setText(code, page.command());
      picture.href = page.picture();
      bench.href = page.workbench();
    },
  };
}
