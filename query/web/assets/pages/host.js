// A host, or any other folder of paths: its charts in groups.

import { alertsOf, noteOf, onAlerts } from '../alerts.js';
import { Cards } from '../cards.js';
import { ChartSet } from '../chartset.js';
import { foldCores } from '../cores.js';
import { el, fill, setText } from '../dom.js';
import * as format from '../format.js';
import { repeat } from '../live.js';
import { problem } from '../problem.js';
import { RangeBar } from '../rangebar.js';
import { call, num } from '../rpc.js';
import { hostURL, pathOf, rangeOf, seriesURL, withParams } from '../state.js';
import { colourOf, onTheme, recipeColour, usualNames } from '../theme.js';
import { unknown } from '../unknown.js';
import { waiting } from '../waiting.js';

const row = [['hour', '-1h'], ['day', '-1d'], ['week', '-1w'], ['month', '-31d'], ['year', '-1y']];

/** Shows a folder of series. @type {import('../pages.js').Show} */
export async function show(root, url, context) {
  const path = pathOf(url, '/host/').replace(/\/+$/, '');
  context.title(path);
  const page = new Host(root, url, context, path);
  try {
    await page.start();
  } catch (error) {
    if (error.code === 'not_found') await nothing(root, path, context.signal);
    else if (error.name !== 'AbortError') fill(root, problem(`${path} cannot be shown`, error.message));
  }
  return { update: (next) => page.update(next), end: () => page.end() };
}

function nothing(root, path, signal) {
  fill(root);
  return unknown(root, { title: 'Nothing is here', text: `No series has a path that begins with ${path}/.`, path }, signal);
}

class Host {
  #root; #url; #context; #path; #charts = []; #next = ''; #sets = []; #bar; #rows; #body; #groups; #filter; #age; #last = 0; #ends = []; #more; #words = new Map(); #silent = false;

  constructor(root, url, context, path) {
    this.#root = root;
    this.#url = url;
    this.#context = context;
    this.#path = path;
  }

  get #inRow() { return this.#url.searchParams.get('row') === 'all'; }

  async start() {
    const [charts, tree] = await waiting(this.#root, Promise.all([
      call('Charts', { prefix: this.#path }, this.#context.signal),
      call('Tree', { prefix: this.#path, limit: 200 }, this.#context.signal).catch((error) => {
        if (error.name === 'AbortError') throw error;
        return {};
      }),
    ]), this.#context.signal);
    this.#charts = charts.charts || [];
    this.#next = charts.nextPage || '';
    const nodes = tree.nodes || [];
    if (!this.#charts.length && !nodes.length) {
      await nothing(this.#root, this.#path, this.#context.signal);
      return;
    }
    this.#build(nodes);
    this.#show();
    this.#listen();
    repeat(() => this.#live(), () => (this.#inRow ? 60 : this.#bar.every(Math.min(...this.#sets.map((s) => s.every())))), this.#context.signal);
    const clock = setInterval(() => this.#report(), 1000);
    this.#ends.push(() => clearInterval(clock));
  }

  #build(nodes) {
    this.#last = Math.max(0, ...nodes.map((n) => num(n.lastUpdateUs))) / 1e6;
    const series = nodes.reduce((sum, n) => sum + num(n.series), 0);
    this.#age = el('span', { class: 'soft' });
    this.#rows = el('button', { type: 'button', title: 'Hour, day, week, month and year beside each other (r)', onclick: () => this.#toggleRow() }, 'All ranges');
    this.#bar = new RangeBar(this.#context, this.#url, { onChange: (range) => this.#changed(range), extra: [this.#rows], params: { row: null } });
    this.#context.keys([
      { key: 'r', words: 'hour, day, week, month, year on one row', run: () => this.#toggleRow() },
      { key: 'f', words: 'filter the charts', run: () => this.#filter.focus() },
      { key: 'j', words: 'next group', run: () => this.#jump(1) },
      { key: 'k', words: 'group before', run: () => this.#jump(-1) },
    ]);
    this.#filter = el('input', { type: 'search', placeholder: 'Filter charts', 'aria-label': 'Filter the charts', value: this.#url.searchParams.get('f') || '', oninput: () => this.#filtered() });
    this.#groups = el('ul', { class: 'groups' });
    this.#body = el('div', { class: 'host-charts' });
    this.#more = el('p', { class: 'soft' });
    this.#root.append(
      el('div', { class: 'host-head' }, this.#crumbs(), el('span', { class: 'soft' }, `${format.count(series)} series`), this.#age, this.#alerts()),
      el('div', { class: 'bar' }, this.#bar.element),
      el('div', { class: 'host-body' }, el('nav', { class: 'side', 'aria-label': 'Groups of charts' }, this.#filter, this.#groups, this.#parts(nodes)), el('div', {}, this.#folders(nodes), this.#body, this.#more)));
    this.#report();
  }

  #crumbs() {
    const parts = this.#path.split('/');
    const above = parts.slice(0, -1).flatMap((part, i) => [el('a', { href: hostURL(parts.slice(0, i + 1).join('/')) }, part), el('span', { 'aria-hidden': 'true' }, '/')]);
    return el('nav', { class: 'crumbs', 'aria-label': 'Path' }, above, el('h1', {}, parts.at(-1)));
  }

  // The alerts that fire and name the host.
  #alerts() {
    const list = el('span', { class: 'host-alerts' });
    const write = () => fill(list, alertsOf(this.#path).map((a) => el('a', { class: 'alert-mark', href: '/alerts' },
      `${noteOf(a, 'summary') || a.name}, for ${format.duration(Math.max(0, Math.floor(Date.now() / 1000 - num(a.sinceUs) / 1e6)))}`)));
    onAlerts(write, this.#context.signal);
    write();
    return list;
  }

  // The folders below as cards: in the folder of a receiver they are its hosts.
  #folders(nodes) {
    const folders = nodes.filter((n) => n.isFolder);
    if (!folders.length || (this.#path.includes('/') || !this.#below(folders[0])) && this.#charts.length) return null;
    const cards = new Cards(this.#context.signal);
    cards.set(folders);
    cards.fetch().catch(() => {});
    repeat(() => cards.fetch(), () => 10, this.#context.signal);
    return el('section', { class: 'group' }, cards.element);
  }

  // The folders of a machine may be anywhere.
  #below(node) { return node.path.startsWith(`${this.#path}/`); }

  #parts(nodes) {
    if (!nodes.length) return null;
    return el('details', {}, el('summary', {}, `Folders and series (${nodes.length})`), el('ul', { class: 'parts' }, nodes.map((n) => el('li', {},
      el('a', { href: n.isFolder || !n.isSeries ? hostURL(n.path) : seriesURL(n.path), title: n.path }, this.#below(n) ? n.name : n.path)))));
  }

  #report() {
    if (!this.#last) return;
    const now = Date.now() / 1000;
    this.#age.className = this.#silent ? 'silent' : 'soft';
    setText(this.#age, this.#silent ? format.silence(this.#last, now) : `updated ${format.ago(this.#last, now)}`);
  }

  // Whether the host is silent, as home says it. One that was heard a minute ago is not.
  async #listen() {
    let answer = {};
    if (Date.now() / 1000 - this.#last > 60) answer = await call('Hosts', { filter: this.#path, limit: 1000 }, this.#context.signal).catch(() => null);
    if (!answer) return; // what was said stays
    this.#silent = (answer.hosts || []).some((h) => h.silent && h.node.path === this.#path);
    this.#report();
  }

  // show makes the sections for the charts that the filter leaves.
  #show() {
    for (const set of this.#sets) set.clear();
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (c) => words.every((w) => `${c.title} ${c.group} ${c.id}`.toLowerCase().includes(w));
    const groups = new Map();
    const { charts, cores } = words.length ? { charts: this.#charts.filter(fits), cores: [] } : foldCores(this.#charts);
    for (const chart of charts) {
      const name = chart.group || 'Other';
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(chart);
    }
    const { signal } = this.#context;
    this.#sets = this.#inRow ? row.map(([name, from]) => new ChartSet({
      signal, points: 200, title: name, href: withParams(this.#url, { from, row: null }), options: { small: true, height: 130 },
    })) : [new ChartSet({
      signal, onRange: this.#bar.drag, onBack: this.#bar.back, actions: (chart) => this.#actions(chart), onZero: words.length ? undefined : (...of) => this.#zero(...of),
    })];
    this.#bar.muted = this.#inRow;
    this.#rows.setAttribute('aria-pressed', String(this.#inRow));
    fill(this.#body, [...groups].map(([name, list]) => this.#section(name, list, name === 'CPU' ? cores : [])));
    if (!groups.size && this.#charts.length) fill(this.#body, el('p', { class: 'note' }, 'No chart fits the filter.'));
    fill(this.#groups, [...groups].map(([name, list]) => el('li', {}, el('a', { href: `#${anchor(name)}` }, name, el('small', {}, list.length)))));
    this.#spy();
    this.#follow();
    this.#range().catch(() => {}); // the charts say it
  }

  #section(name, charts, cores) {
    const cells = (list) => el('div', { class: this.#inRow ? 'rows' : 'charts' }, list.map((chart) => (this.#inRow ? this.#rowOf(chart) : this.#cell(this.#sets[0], chart))));
    return el('section', { class: 'group', id: anchor(name), 'aria-label': name }, el('h2', {}, name), cells(charts),
      cores.length ? el('details', { class: 'cores' }, el('summary', {}, `Each of ${cores.length} cores`), cells(cores)) : null);
  }

  // A chart of zeros stands as a word in a line below the others, until it has something to say.
  #zero(element, chart, zero) {
    const group = element.closest('.charts');
    let line = group.querySelector('.zeros'), word = this.#words.get(element);
    if (zero && !word) {
      line ||= group.appendChild(el('p', { class: 'zeros soft' }, 'Only zeros: '));
      word = el('button', { type: 'button', title: 'Show the chart', onclick: () => { element.hidden = false; word.hidden = true; } }, chart.title);
      this.#words.set(element, line.appendChild(word));
      element.hidden = true;
    } else if (!zero && word) {
      word.remove();
      this.#words.delete(element);
      element.hidden = false;
    }
    if (line) line.hidden = ![...line.children].some((w) => !w.hidden);
  }

  #actions(chart) {
    if (!chart.arg) return [];
    const open = () => {
      const { from, to } = this.#bar.range.query;
      this.#context.go(withParams(new URL('/workbench', location.origin), { g: chart.arg.join('\n'), from: from === '-1d' ? null : from, to: to === 'now' ? null : to }));
    };
    return [{ label: 'Open in the workbench', icon: 'bench', onclick: open }];
  }

  #cell(set, chart) {
    const element = el('div', { class: 'chart' });
    set.add(element, chart);
    return element;
  }

  #rowOf(chart) {
    const labels = (chart.lines || []).map((l) => l.label || l.ds);
    const swatches = labels.slice(0, 12).map(() => el('i', { class: 'swatch' }));
    const paint = () => swatches.forEach((s, i) => { s.style.backgroundColor = colourOf(recipeColour(chart.lines[i].color, labels[i]), usualNames(labels) ? labels[i] : '', i); });
    paint();
    this.#ends.push(onTheme(paint));
    return el('div', { class: 'row' },
      el('div', { class: 'row-head' }, el('h3', {}, chart.title), el('span', { class: 'unit soft' }, chart.unit || ''), el('ul', { class: 'row-legend' }, swatches.map((s, i) => el('li', {}, s, labels[i])))),
      el('div', { class: 'row-charts' }, this.#sets.map((set) => this.#cell(set, chart))));
  }

  // A host shows all its charts; a folder of hosts has too many to do so unasked.
  #follow() {
    setText(this.#more, this.#next ? 'More charts follow …' : '');
    if (this.#next && this.#path.includes('/')) this.#loadMore();
    else if (this.#next) fill(this.#more, el('button', { class: 'quiet more', type: 'button', onclick: () => this.#loadMore() }, 'Show more charts'));
  }

  // Pages of charts follow each other while the reader looks at the first.
  async #loadMore() {
    const page = this.#next;
    this.#next = '';
    try {
      const answer = await call('Charts', { prefix: this.#path, page, limit: 200 }, this.#context.signal);
      this.#charts.push(...(answer.charts || []));
      if (this.#charts.length < 500) this.#next = answer.nextPage || '';
      this.#show();
    } catch (error) {
      if (error.name !== 'AbortError') setText(this.#more, `The other charts could not be loaded: ${error.message}`);
    }
  }

  #range() {
    const now = Date.now() / 1000;
    if (this.#inRow) return Promise.all(this.#sets.map((set, i) => set.show(rangeOf(new URL(`?from=${row[i][1]}`, location.href), now))));
    const range = this.#bar.now();
    return this.#sets[0].show(range).then(() => {
      const { oldest } = this.#sets[0];
      if (oldest < Infinity && this.#bar.fit(range.to - oldest)) return this.#sets[0].show(this.#bar.range);
      return undefined;
    });
  }

  #changed(range) {
    if (this.#inRow) return;
    if (range.final) this.#sets[0].show(range).catch(() => {});
    else this.#sets[0].move(range);
  }

  async #live() {
    if (!this.#inRow && !this.#bar.follows) return;
    await this.#range();
    const tree = await call('Tree', { prefix: this.#path, limit: 200 }, this.#context.signal);
    this.#last = Math.max(this.#last, ...(tree.nodes || []).map((n) => num(n.lastUpdateUs) / 1e6));
    await this.#listen();
  }

  #toggleRow() {
    this.#context.go(withParams(this.#url, { row: this.#inRow ? null : 'all' }));
  }

  #filtered() {
    clearTimeout(this.wait);
    this.wait = setTimeout(() => this.#context.go(withParams(this.#url, { f: this.#filter.value }), { replace: true }), 120);
  }

  #jump(by) {
    const sections = [...this.#body.children];
    const at = sections.findLastIndex((s) => s.getBoundingClientRect().top < 140);
    sections[Math.min(sections.length - 1, Math.max(0, at + by))]?.scrollIntoView();
  }

  // spy marks the group that is being read.
  #spy() {
    this.#seen?.disconnect();
    const links = [...this.#groups.querySelectorAll('a')];
    this.#seen = new IntersectionObserver(() => {
      const sections = [...this.#body.children];
      const at = Math.max(0, sections.findLastIndex((s) => s.getBoundingClientRect().top < 170));
      links.forEach((a, i) => { if (i === at) a.setAttribute('aria-current', 'true'); else a.removeAttribute('aria-current'); });
    }, { rootMargin: '-130px 0px -60% 0px', threshold: [0, 0.01] });
    for (const section of this.#body.children) this.#seen.observe(section);
  }

  #seen = null;

  /** The query of the address has changed. */
  update(url) {
    const before = this.#url;
    this.#url = url;
    const differs = (name) => before.searchParams.get(name) !== url.searchParams.get(name);
    this.#bar?.update(url);
    if (this.#bar && (differs('row') || differs('f'))) this.#show();
  }

  end() {
    this.#seen?.disconnect();
    for (const end of this.#ends) end();
  }
}

const anchor = (name) => `group-${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`;
