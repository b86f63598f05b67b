// The list of what a graph of the workbench holds: one row for each series and expression.

import { el, fill, icon, setText } from '../dom.js';
import { freeColour } from '../graphmodel.js';
import { field } from './workbench-promql.js';
import { seriesURL } from '../state.js';

const functions = ['AVERAGE', 'MIN', 'MAX', 'LAST'];

export class Editor {
  #change; #rows = el('ul', { class: 'bench-rows' }); #options; #fields = {}; #note; #model = null; #shown = ''; #said = new Map(); #signal;

  /** @param {{signal: AbortSignal, change: (typing: boolean) => void, addExpression: () => void, addQuery: () => void, find: {element: HTMLElement}}} options */
  constructor({ signal, change, addExpression, addQuery, find }) {
    this.#signal = signal;
    this.#change = change;
    this.#note = el('p', { class: 'soft', hidden: true });
    this.#options = this.#build();
    this.element = el('section', { class: 'bench-editor', 'aria-label': 'What the graph shows' }, this.#rows,
      el('div', { class: 'bench-add' }, find.element, el('button', { type: 'button', class: 'quiet', onclick: addQuery }, 'Add PromQL'),
        el('button', { type: 'button', class: 'quiet', onclick: addExpression }, 'Add an expression')),
      this.#note, this.#options);
  }

  #build() {
    const field = (name, words, size) => {
      const input = el('input', { size, 'aria-label': words, placeholder: words, onchange: () => { this.#model[name] = input.value.trim(); this.#change(false); } });
      this.#fields[name] = input;
      return input;
    };
    const limit = (name, words) => {
      const input = el('input', {
        size: '8', inputmode: 'decimal', 'aria-label': words, placeholder: words,
        onchange: () => { this.#model[name] = input.value.trim() === '' ? undefined : Number(input.value); this.#change(false); },
      });
      this.#fields[name] = input;
      return input;
    };
    const toggle = (name, words, title, turn, is) => {
      const button = el('button', { type: 'button', title, onclick: () => { turn(this.#model); this.#change(false); } }, words);
      this.#fields[name] = { show: (m) => button.setAttribute('aria-pressed', String(is(m))) };
      return button;
    };
    return el('div', { class: 'bench-options' }, field('title', 'Title', '22'), field('unit', 'Unit', '8'), limit('lower', 'Least'), limit('upper', 'Greatest'),
      el('div', { class: 'segments' },
        toggle('log', 'Log', 'A logarithmic axis', (m) => { m.log = !m.log; }, (m) => m.log),
        toggle('base', '1024', 'Ki, Mi and Gi: for bytes of memory', (m) => { m.base = m.base === 1024 ? 1000 : 1024; }, (m) => m.base === 1024),
        toggle('stack', 'Stack all', 'All as areas, one on the other', stackAll, isStacked)));
  }

  /** Shows a model; what is being typed stays. @param {import('../graphmodel.js').Model} model */
  show(model) {
    this.#model = model;
    const is = JSON.stringify([model.series, model.expressions, model.queries, model.draws]);
    if (is !== this.#shown) {
      const focus = document.activeElement?.dataset?.field;
      this.#shown = is;
      this.#said.clear();
      fill(this.#rows, [...model.series.map((s) => this.#row(s, (c) => this.#source(s, c))), ...model.expressions.map((e) => this.#row(e, (c) => this.#expression(e, c))),
        ...model.queries.map((q) => this.#row(q, (c) => this.#query(q, c)))]);
      if (focus) this.#rows.querySelector(`[data-field="${CSS.escape(focus)}"]`)?.focus();
    }
    for (const [name, input] of Object.entries(this.#fields)) {
      if (input.show) input.show(model);
      else if (document.activeElement !== input) input.value = model[name] ?? '';
    }
    this.#options.hidden = !model.draws.length;
  }

  /** A remark below the rows; '' takes it away. */
  note(text) {
    this.#note.hidden = !text;
    setText(this.#note, text);
  }

  /** Says beside each query what the server says of it. @param {Map<string, import('../promql.js').Result>} results */
  results(results) {
    for (const [name, element] of this.#said) {
      const { error = '', note = '' } = results.get(name) || {};
      setText(element, error || note);
      element.hidden = !error && !note;
      element.classList.toggle('bad', Boolean(error));
    }
  }

  /** Puts the cursor into an expression. */
  focus(name) {
    const input = this.#rows.querySelector(`[data-field="${CSS.escape(name)} rpn"]`);
    input?.focus();
    input?.select();
  }

  #row(of, main) {
    const draw = this.#model.draws.find((d) => d.ref === of.name);
    const change = (typing) => this.#change(Boolean(typing));
    const cells = [el('b', { class: 'bench-name', title: 'Its name in expressions' }, of.name)];
    cells.unshift(this.#colour(of, draw, change));
    cells.push(main(change));
    cells.push(this.#label(of, draw, change), this.#look(of, draw, change),
      el('button', { type: 'button', class: 'act', title: `Remove ${of.name}`, 'aria-label': `Remove ${of.name}`, onclick: () => this.#remove(of, change) }, icon('cross')));
    return el('li', {}, cells);
  }

  #colour(of, draw, change) {
    const input = el('input', {
      type: 'color', value: (draw?.colour || '#888888').slice(0, 7), disabled: !draw, 'aria-label': `Colour of ${of.name}`, title: 'Colour', 'data-field': `${of.name} colour`,
      onchange: () => { draw.colour = input.value + draw.colour.slice(7); change(); },
    });
    return input;
  }

  #source(of, change) {
    const cf = el('select', { 'aria-label': `Consolidation function of ${of.name}`, 'data-field': `${of.name} cf`, onchange: () => { of.cf = cf.value; change(); } },
      [...new Set([...functions, of.cf])].map((f) => el('option', { selected: f === of.cf }, f)));
    return el('span', { class: 'bench-source' }, el('a', { href: seriesURL(of.path, of.ds) }, of.path), el('span', { class: 'soft' }, of.ds), cf);
  }

  #expression(of, change) {
    const input = el('input', {
      class: 'mono', value: of.rpn, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', 'aria-label': `Expression ${of.name}`,
      title: 'Reverse Polish, as CDEF: a,b,+', 'data-field': `${of.name} rpn`, onchange: () => { of.rpn = input.value.replaceAll(/\s+/g, ''); change(); },
    });
    return el('span', { class: 'bench-source' }, of.kind === 'VDEF' ? el('span', { class: 'soft' }, 'VDEF') : null, input);
  }

  #query(of, change) {
    const said = el('p', { class: 'bench-said soft', role: 'status', hidden: true });
    this.#said.set(of.name, said);
    return el('div', { class: 'bench-source bench-query' }, el('span', { class: 'soft' }, 'PromQL'), field(of, this.#signal, change), said);
  }

  #label(of, draw, change) {
    const input = el('input', {
      value: draw?.label || '', disabled: !draw, placeholder: 'expr' in of ? 'Legend: {{instance}}' : 'Label', 'aria-label': `Label of ${of.name}`, 'data-field': `${of.name} label`,
      onchange: () => { draw.label = input.value; change(); },
    });
    return input;
  }

  #look(of, draw, change) {
    const set = (style) => {
      const i = this.#model.draws.indexOf(draw);
      if (style === 'none') this.#model.draws.splice(i, 1);
      else if (!draw) this.#model.draws.push({ ref: of.name, style, width: '1.5', colour: freeColour(this.#model), label: 'expr' in of ? '' : of.name, tail: '', stack: false, right: false, more: [] });
      else Object.assign(draw, { style, width: style === 'line' ? draw.width || '1.5' : draw.width });
      change();
    };
    const button = (words, pressed, run, title) => el('button', { type: 'button', 'aria-pressed': String(pressed), title, 'data-field': `${of.name} ${words}`, onclick: run }, words);
    const is = draw?.style || 'none';
    return el('div', { class: 'bench-look' },
      el('div', { class: 'segments', role: 'group', 'aria-label': `How ${of.name} is drawn` },
        button('Line', is === 'line', () => set('line')), button('Area', is === 'area', () => set('area')), button('Hidden', is === 'none', () => set('none'), 'Only for expressions')),
      el('div', { class: 'segments' },
        button('Stack', draw?.stack, () => { if (draw) { draw.stack = !draw.stack; change(); } }, 'Stands on what is drawn before it'),
        button('Right', draw?.right, () => { if (draw) { draw.right = !draw.right; change(); } }, 'Has the axis on the right')));
  }

  #remove(of, change) {
    const m = this.#model;
    m.series = m.series.filter((x) => x !== of);
    m.expressions = m.expressions.filter((x) => x !== of);
    m.queries = m.queries.filter((x) => x !== of);
    m.draws = m.draws.filter((d) => d.ref !== of.name);
    change();
  }
}

const isStacked = (m) => m.draws.length > 1 && m.draws.every((d, i) => d.style === 'area' && d.stack === (i > 0));

function stackAll(m) {
  const on = !isStacked(m);
  m.draws.forEach((d, i) => { Object.assign(d, on ? { style: 'area', stack: i > 0, right: false } : { style: 'line', stack: false, width: d.width || '1.5' }); });
}
