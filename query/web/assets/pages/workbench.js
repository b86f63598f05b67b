// The workbench: a graph of several series and expressions. Its definition is in the address, in the
// graph language, one argument a line.

import { archive, functions, source } from '../definition.js';
import { el, setText } from '../dom.js';
import { finder } from '../finder.js';
import { argsOf, command, freeName, graphURL, linesOfArgs } from '../graphlang.js';
import { commentsOf, freeColour, niceScale, writeGraph } from '../graphmodel.js';
import { GraphView } from '../graphview.js';
import { repeat } from '../live.js';
import { RangeBar } from '../rangebar.js';
import { call, num } from '../rpc.js';
import { saveDialog } from '../savegraph.js';
import { withParams } from '../state.js';
import { styles } from '../styles.js';
import { copyButton } from '../transfer.js';
import { Editor } from './workbench-editor.js';

const most = 40; // lines of one graph

/** Shows a graph of several series. @type {import('../pages.js').Show} */
export async function show(root, url, context) {
  context.title('Workbench');
  await styles(new URL('workbench.css', import.meta.url));
  const page = new Workbench(root, url, context);
  page.start();
  return page;
}

class Workbench {
  #context; #url; #bar; #view; #editor; #text; #wrong; #empty; #code; #title; #tools; #box; #notes; #asGraph; #asQuery;

  constructor(root, url, context) {
    this.#context = context;
    this.#url = url;
    this.#bar = new RangeBar(context, url, { onChange: (range) => this.#range(range) });
    const box = this.#box = el('div', { class: 'bench-chart' });
    this.#wrong = el('p', { class: 'note bad', role: 'alert', hidden: true });
    this.#notes = el('p', { class: 'soft', hidden: true });
    this.#title = el('h1', {}, 'Workbench');
    const find = finder({ label: 'Add a series', placeholder: 'Add series: words, web*/load/*, host=web1', signal: context.signal,
      room: () => Math.max(1, most - this.#view.model.draws.length), onPick: (paths) => this.#add(paths) });
    this.#editor = new Editor({ signal: context.signal, change: (why) => this.#changed(why), addExpression: () => this.#addExpression(), addQuery: () => this.#addQuery(), find });
    this.#text = el('textarea', { rows: '10', spellcheck: 'false', 'aria-label': 'The graph as text, an argument of rrdtool graph a line' });
    this.#code = el('details', { class: 'bench-text' }, el('summary', {}, 'As text'), this.#text,
      el('div', { class: 'buttons' }, el('button', { type: 'button', class: 'main', onclick: () => this.#go(argsOf(this.#text.value), false) }, 'Apply')));
    this.#empty = this.#welcome();
    this.#tools = this.#ways();
    root.append(el('header', { class: 'bench-head' }, this.#title, this.#tools), this.#bar.element, this.#empty, box, this.#notes, this.#wrong, this.#editor.element, this.#code);
    this.#view = new GraphView(box, this.#args(), {
      signal: context.signal, title: '', height: innerWidth < 720 ? 240 : 340, fold: 20, onRange: this.#bar.drag, onBack: this.#bar.back,
    });
    context.keys([{ key: 'a', words: 'add a series', run: () => find.focus() }, { key: 'e', words: 'add an expression', run: () => this.#addExpression() }, { key: 'p', words: 'add PromQL', run: () => this.#addQuery() }]);
  }

  #welcome() {
    return el('section', { class: 'bench-empty' }, el('h2', {}, 'Put several series on one chart'),
      el('p', {}, 'Add series below by words of their paths, or from the page of a series. Expressions compute with them: ',
        el('code', {}, 'a,b,+'), ' is the sum of a and b, in the language of rrdtool’s CDEF. A line of PromQL asks across hosts: ',
        el('code', {}, 'topk(5, collectd_load_shortterm)'), '.'));
  }

  #ways() {
    const command = () => this.#command();
    const svg = el('a', { class: 'button', target: '_blank', rel: 'noopener', onclick: (event) => { event.currentTarget.href = this.#picture(); } }, 'SVG');
    this.#asGraph = [copyButton(command, 'Copy as rrdtool graph'), svg];
    this.#asQuery = copyButton(() => this.#query(), 'Copy as rondo query');
    return el('div', { class: 'bench-ways' }, this.#asGraph[0], this.#asQuery, copyButton(() => location.href, 'Copy link'), svg,
      el('button', { type: 'button', class: 'main', onclick: () => saveDialog(this.#context, this.#view.model.title, this.#args()) }, 'Add to dashboard'));
  }

  #args() { return argsOf(this.#url.searchParams.get('g') || ''); }

  #command() {
    const { query, live, from, to } = this.#bar.range;
    const start = live ? query.from : String(Math.round(from)), end = live ? 'now' : String(Math.round(to));
    return command(['rondo', 'graph', 'graph.png', '--start', start, '--end', end, '--width', '800', '--height', '300'], writeGraph(this.#view.model));
  }

  #query() {
    const { query, live, from, to } = this.#bar.range;
    const at = live ? ['--start', query.from] : ['--start', String(Math.round(from)), '--end', String(Math.round(to))];
    return command(['rondo', 'query', this.#view.model.queries[0].expr, ...at], []);
  }

  #picture() {
    const { from, to } = this.#bar.range;
    return graphURL('svg', writeGraph(this.#view.model), { from: Math.round(from), to: Math.round(to), width: 800, height: 300 });
  }

  start() {
    this.#show();
    repeat(async () => {
      if (this.#bar.follows && this.#view.model.draws.length) await this.#range({ ...this.#bar.now(), final: true }, true);
    }, () => this.#bar.every(Math.max(5, Math.min(60, (this.#bar.range.to - this.#bar.range.from) / 800))), this.#context.signal);
  }

  update(url) {
    const before = this.#url.searchParams.get('g');
    this.#url = url;
    if (url.searchParams.get('g') !== before) this.#show();
    this.#bar.update(url);
  }

  // Everything that the definition decides, from the address.
  #show() {
    const args = this.#args();
    this.#view.change(args);
    const { model } = this.#view;
    const something = model.series.length + model.expressions.length + model.queries.length + model.rest.length > 0;
    this.#empty.hidden = something;
    this.#tools.hidden = !something;
    for (const way of this.#asGraph) way.hidden = model.queries.length > 0; // rrdtool knows no PromQL
    this.#asQuery.hidden = model.queries.length !== 1 || model.series.length + model.expressions.length > 0;
    const remarks = commentsOf(model);
    this.#notes.hidden = !remarks;
    setText(this.#notes, remarks);
    this.#view.chart.set({ height: something ? (innerWidth < 720 ? 240 : 340) : 0 });
    this.#view.chart.options.title = model.title;
    setText(this.#box.querySelector('.unit'), model.unit);
    setText(this.#title, model.title || 'Workbench');
    this.#context.title(model.title || 'Workbench');
    this.#editor.show(model);
    const text = linesOfArgs(args).join('\n');
    if (document.activeElement !== this.#text && this.#text.value !== text) this.#text.value = text;
    this.#range({ ...this.#bar.range, final: true });
  }

  #range(range, quiet = false) {
    if (!range.final) {
      this.#view.move(range);
      return undefined;
    }
    return this.#view.show(range, quiet).then((lines) => {
      if (!lines) return;
      this.#wrong.hidden = true;
      this.#editor.results(this.#view.results);
      this.#editor.note(this.#view.model.whole ? '' : 'Some of what the text says is not shown here; ' + (this.#view.model.queries.length ? 'it is kept.' : 'the SVG has all of it.'));
    }, (error) => {
      if (error.name === 'AbortError') return;
      setText(this.#wrong, error.message);
      this.#wrong.hidden = false;
    });
  }

  // The reader has changed the model. Typing replaces the address, everything else can be undone by back.
  #changed(typing) {
    const { model } = this.#view;
    if (model.draws.some((d) => d.right) && !model.right) model.right = { scale: this.#rightScale(), unit: '' };
    this.#go(writeGraph(model), typing);
  }

  #rightScale() {
    const greatest = (side) => Math.max(0, ...this.#view.chart.lines.filter((_, i) => Boolean(this.#view.model.draws[i]?.right) === side)
      .map((l) => l.values.reduce((a, v) => (Math.abs(v) > a ? Math.abs(v) : a), 0)));
    return niceScale(greatest(false), greatest(true));
  }

  #go(args, replace) {
    this.#context.go(withParams(this.#url, { g: linesOfArgs(args).join('\n') || null }), { replace });
  }

  // All series of a pattern are one change, which one step back undoes.
  async #add(paths) {
    const { model } = this.#view;
    const found = await Promise.all(paths.map((path) => call('Info', { path }, this.#context.signal).catch((error) => error)));
    const failed = found.find((x) => x instanceof Error);
    if (failed?.name === 'AbortError') return;
    found.forEach((info, i) => { if (!(info instanceof Error)) this.#put(model, paths[i], info); });
    if (found.some((x) => x !== failed)) this.#changed(false);
    if (!failed) return;
    setText(this.#wrong, failed.code === 'not_found' ? `There is no series ${paths[found.indexOf(failed)]}.` : failed.message);
    this.#wrong.hidden = false;
  }

  #put(model, path, info) {
    const { definition = {} } = info.series;
    const sources = (definition.ds || []).map(source);
    const { main } = functions((definition.rra || []).map((r) => archive(r, num(definition.step))));
    const unit = [...(info.metadata?.attributes || []), ...(info.series.labels || [])].find((a) => /^units?$/i.test(a.name))?.value;
    if (!model.unit && !model.draws.length && unit) model.unit = unit;
    for (const s of sources.slice(0, Math.max(0, most - model.draws.length))) {
      const name = freeName(this.#names());
      model.series.push({ name, path, ds: s.name, cf: main || 'AVERAGE', more: [] });
      model.draws.push(this.#draw(name, sources.length > 1 ? `${shortName(path)} ${s.name}` : shortName(path)));
    }
  }

  #addQuery() {
    const { model } = this.#view;
    const name = freeName(this.#names());
    model.queries.push({ name, expr: '' });
    model.draws.push(this.#draw(name, ''));
    this.#changed(false);
    this.#editor.focus(name);
  }

  #addExpression() {
    const { model } = this.#view;
    const name = freeName(this.#names());
    const known = model.series.map((x) => x.name);
    const rpn = known.length > 1 ? [known[0], ...known.slice(1).flatMap((n) => [n, '+'])].join(',') : `${known[0] || 1},1,*`;
    model.expressions.push({ name, kind: 'CDEF', rpn });
    model.draws.push(this.#draw(name, known.length > 1 ? 'sum' : name));
    this.#changed(false);
    this.#editor.focus(name);
  }

  #names() {
    const { model } = this.#view;
    return new Set([...model.series, ...model.expressions, ...model.queries].map((x) => x.name));
  }

  #draw(ref, label) {
    return { ref, style: 'line', width: '1.5', colour: freeColour(this.#view.model), label, tail: '', stack: false, right: false, more: [] };
  }

  end() { this.#view.destroy(); }
}

/** The part of a path that says most: host and last components. @param {string} path */
export function shortName(path) {
  const all = path.split('/');
  return all.length > 3 ? all.slice(1).join(' ') : all.join(' ');
}
