// Saved dashboards: the list, one of them with its graphs drawn live, and its text to edit.

import { Crosshair } from '../crosshair.js';
import { el, fill, setText } from '../dom.js';
import { filled, filledArgs, graphURL, linesOfArgs, pageOf } from '../graphlang.js';
import { commentsOf, readGraph } from '../graphmodel.js';
import { GraphView } from '../graphview.js';
import { repeat } from '../live.js';
import { problem } from '../problem.js';
import { RangeBar } from '../rangebar.js';
import { call } from '../rpc.js';
import { pathOf, withParams } from '../state.js';
import { styles } from '../styles.js';
import { inks } from '../theme.js';

const mostChoices = 1000; // values of a variable
const atOnce = 4; // graphs that are asked for at the same time

/** Shows dashboards, or one of them. @type {import('../pages.js').Show} */
export async function show(root, url, context) {
  await styles(new URL('dashboard.css', import.meta.url));
  const name = url.pathname.startsWith('/dashboard/') ? pathOf(url, '/dashboard/') : '';
  context.title(name || 'Dashboards');
  try {
    const all = await call('Dashboards', {}, context.signal);
    if (!name) return list(root, context, all);
    const there = (all.dashboards || []).some((d) => d.name === name);
    let saved = null;
    if (there || !all.maySave || !url.searchParams.has('edit')) saved = await call('Dashboard', { name }, context.signal);
    const page = new Dashboard(root, url, context, name, saved, Boolean(all.maySave));
    page.start();
    return page;
  } catch (error) {
    if (error.name === 'AbortError') return undefined;
    const missing = error.code === 'not_found';
    root.append(problem(missing ? 'No such dashboard' : 'The dashboard cannot be had', missing ? `Nothing is saved as ${name}.` : error.message));
    return undefined;
  }
}

function list(root, context, { dashboards = [], maySave = false }) {
  const name = el('input', { required: true, pattern: '[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}', placeholder: 'web-servers', 'aria-label': 'Name of the new dashboard', title: 'Letters, digits, dots, hyphens and underscores', autocapitalize: 'off', spellcheck: 'false' });
  const make = el('form', { class: 'boards-new' }, name, el('button', { class: 'main' }, 'New dashboard'));
  make.addEventListener('submit', (event) => {
    event.preventDefault();
    context.go(`/dashboard/${encodeURIComponent(name.value)}?edit=1`);
  });
  root.append(el('header', { class: 'board-head' }, el('h1', {}, 'Dashboards'), maySave ? make : null));
  if (dashboards.length) {
    root.append(el('ul', { class: 'boards' }, dashboards.map((d) => el('li', {}, el('a', { href: `/dashboard/${encodeURIComponent(d.name)}` },
      el('strong', {}, d.title || d.name), el('span', { class: 'soft' }, d.name))))));
    return undefined;
  }
  root.append(el('section', { class: 'boards-none' }, el('h2', {}, 'None is saved'),
    el('p', {}, 'A dashboard is a page of graphs, a plain text file beside the database. Put a graph together on the ',
      el('a', { href: '/workbench' }, 'workbench'), ' and save it', maySave ? ', or write a page in the graph language of rrdtool.' : '.')));
  return undefined;
}

const example = (name) => `title: ${name}\n\ngraph: Samples stored\n  --vertical-label samples/s\n  --lower-limit 0\n  DEF:s=rondo/samples:value:AVERAGE\n  AREA:s#2264d1:stored\n`;

class Dashboard {
  #context; #url; #name; #saved; #maySave; #root; #bar; #grid; #cells = []; #crosshair = new Crosshair(); #editor = null; #head; #wrong; #page = null; #known = new Map(); #shownValues = new Map(); #choices = el('div', { class: 'board-choices' });

  constructor(root, url, context, name, saved, maySave) {
    this.#root = root;
    this.#url = url;
    this.#context = context;
    this.#name = name;
    this.#saved = saved;
    this.#maySave = maySave;
    this.#bar = new RangeBar(context, url, { onChange: (range) => this.#range(range) });
    this.#head = el('header', { class: 'board-head' });
    this.#wrong = el('p', { class: 'note bad', role: 'alert', hidden: true });
    this.#grid = el('div', { class: 'board-grid' });
    if (maySave) context.keys([{ key: 'e', words: 'edit', run: () => this.#edit(true) }]);
  }

  get #editing() { return this.#maySave && (this.#url.searchParams.has('edit') || !this.#saved); }

  start() {
    fill(this.#root, this.#head, this.#bar.element, this.#wrong, this.#grid);
    this.#arrange();
    repeat(async () => {
      if (this.#bar.follows) await this.#fetch(this.#bar.now(), true);
    }, () => this.#bar.every(Math.max(5, Math.min(60, (this.#bar.range.to - this.#bar.range.from) / 400))), this.#context.signal);
  }

  update(url) {
    const before = this.#editing;
    this.#url = url;
    if (before !== this.#editing) this.#arrange();
    else if (this.#page?.variables.some((name) => this.#values.get(name) !== this.#shownValues.get(name))) this.#show(this.#page);
    this.#bar.update(url);
  }

  // The page as it is saved, or the editor beside a preview.
  #arrange() {
    const editing = this.#editing;
    this.#root.classList.toggle('board-edits', editing);
    this.#editor?.element.remove();
    this.#editor = null;
    const page = this.#saved ? { ...pageOf(this.#saved.text || ''), title: this.#saved.title || '', graphs: (this.#saved.graphs || []).map((g) => ({ title: g.title || '', args: g.arg || [] })) } : pageOf('');
    if (!editing) {
      this.#say(this.#saved?.problem ? `The file has a mistake: ${this.#saved.problem}.` : '');
      this.#show(page);
    } else {
      this.#editor = this.#makeEditor(this.#saved ? this.#saved.text || '' : example(this.#name));
      this.#grid.before(this.#editor.element);
      this.#show(pageOf(this.#editor.text()));
    }
    const dashboards = el('nav', { class: 'crumbs', 'aria-label': 'Dashboards' }, el('a', { href: '/dashboards' }, 'Dashboards'), el('span', { 'aria-hidden': 'true' }, '/'));
    fill(this.#head, el('div', {}, dashboards, el('h1', {}, filled(page.title || this.#name, this.#values))), this.#choices,
      this.#maySave && !editing ? el('button', { type: 'button', class: 'quiet', onclick: () => this.#edit(true) }, 'Edit') : null);
    this.#context.title(filled(page.title || this.#name, this.#values));
  }

  #edit(on) {
    this.#context.go(withParams(this.#url, { edit: on ? 1 : null }));
  }

  #say(text) {
    this.#wrong.hidden = !text;
    setText(this.#wrong, text);
  }

  #makeEditor(text) {
    const area = el('textarea', { spellcheck: 'false', autocapitalize: 'off', 'aria-label': 'Text of the dashboard', rows: '24' });
    area.value = text;
    let timer = 0;
    area.addEventListener('input', () => {
      clearTimeout(timer);
      this.#say('');
      timer = setTimeout(() => this.#show(pageOf(area.value)), 400);
    });
    area.addEventListener('keydown', (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === 's') {
        event.preventDefault();
        this.#save(area.value);
      }
    });
    const element = el('section', { class: 'board-editor', 'aria-label': 'Edit the dashboard' }, area, el('div', { class: 'board-buttons' },
      el('button', { type: 'button', class: 'main', title: 'Ctrl S', onclick: () => this.#save(area.value) }, 'Save'),
      el('button', { type: 'button', class: 'quiet', onclick: () => (this.#saved ? this.#edit(false) : this.#context.go('/dashboards')) }, 'Cancel'),
      this.#saved ? el('button', { type: 'button', class: 'quiet danger', onclick: (event) => this.#drop(event.currentTarget) }, 'Delete') : null));
    return { element, text: () => area.value };
  }

  async #save(text) {
    try {
      await call('SaveDashboard', { name: this.#name, text }, this.#context.signal);
      this.#saved = await call('Dashboard', { name: this.#name }, this.#context.signal);
      this.#edit(false);
    } catch (error) {
      if (error.name !== 'AbortError') this.#say(`Not saved: ${error.message}.`);
    }
  }

  // The first press asks, the second one does it.
  async #drop(button) {
    if (!button.dataset.sure) {
      button.dataset.sure = '1';
      setText(button, `Delete ${this.#name} for good?`);
      return;
    }
    try {
      await call('DropDashboard', { name: this.#name }, this.#context.signal);
      this.#context.go('/dashboards', { replace: true });
    } catch (error) {
      if (error.name !== 'AbortError') this.#say(`Not deleted: ${error.message}.`);
    }
  }

  end() {
    for (const cell of this.#cells) cell.view?.destroy();
    this.#cells = [];
    fill(this.#grid);
  }

  // What the address says of the variables; else the first value of each.
  get #values() {
    return new Map((this.#page?.variables || []).map((name) => [name, this.#url.searchParams.get(`var-${name}`) || this.#known.get(name)?.[0] || '']).filter(([, v]) => v && v.length <= 256));
  }

  // The values of a variable are asked for once, when a page first has it.
  async #learn(page) {
    const fresh = page.variables.filter((name) => /^[A-Za-z_]\w*$/.test(name) && !this.#known.has(name)).slice(0, 4);
    if (!fresh.length) return;
    for (const name of fresh) this.#known.set(name, null);
    await Promise.all(fresh.map(async (name) => {
      const answer = await call('Labels', { name }, this.#context.signal).catch((error) => error);
      if (answer instanceof Error && answer.name !== 'AbortError') this.#say(`The values of ${name} cannot be had: ${answer.message}.`);
      this.#known.set(name, answer.values || []);
    }));
    if (this.#context.signal.aborted) return;
    if (this.#page === page) this.#show(page);
  }

  #choose() {
    const shown = this.#values;
    fill(this.#choices, this.#page.variables.filter((name) => this.#known.get(name)).map((name) => {
      const value = shown.get(name) || '', all = this.#known.get(name), offered = all.slice(0, mostChoices);
      if (value && !offered.includes(value)) offered.unshift(value);
      const box = el('select', { 'aria-label': name, onchange: () => this.#context.go(withParams(this.#url, { [`var-${name}`]: box.value })) },
        offered.map((v) => el('option', { selected: v === value }, v)));
      return el('label', {}, el('span', { class: 'soft' }, name), box,
        all.length > mostChoices ? el('span', { class: 'soft' }, `${mostChoices} of ${all.length}: the address takes others`) : null,
        all.length ? null : el('span', { class: 'soft' }, 'no series has this label'));
    }));
  }

  // Graphs that have not changed keep their charts.
  #show(page) {
    this.#page = page;
    this.#learn(page);
    this.#shownValues = this.#values;
    this.#choose();
    const title = filled(page.title || this.#name, this.#shownValues);
    const head = this.#head.querySelector('h1');
    if (head) setText(head, title);
    this.#context.title(title);
    if (page.variables.some((name) => this.#known.get(name) === null)) return; // in a moment
    page = { ...page, graphs: page.graphs.map((g) => ({ title: filled(g.title, this.#shownValues), args: filledArgs(g.args, this.#shownValues) })) };
    const old = new Map(this.#cells.map((c) => [c.key, c]));
    this.#cells = page.graphs.map((g, i) => {
      const key = JSON.stringify([g, page.graphs.slice(0, i).filter((o) => JSON.stringify(o) === JSON.stringify(g)).length]);
      const known = old.get(key);
      old.delete(key);
      return known || this.#cell(key, g);
    });
    for (const gone of old.values()) gone.view?.destroy();
    fill(this.#grid, this.#cells.length ? this.#cells.map((c) => c.element) : el('p', { class: 'soft' }, this.#saved?.problem ? '' : 'There are no graphs yet.'));
    this.#range({ ...this.#bar.range, final: true });
  }

  #cell(key, g) {
    const element = el('section', { class: 'board-cell' });
    const model = readGraph(g.args);
    const title = g.title || model.title || 'Graph';
    const bench = withParams(new URL('/workbench', location.origin), { g: linesOfArgs(g.args).join('\n') });
    if (!model.queries.length && (!model.whole || !model.draws.length)) return { key, element, ...picture(element, title, bench, g.args) };
    const view = new GraphView(element, g.args, {
      signal: this.#context.signal, title, height: 200, fold: 8, crosshair: this.#crosshair, onRange: this.#bar.drag, onBack: this.#bar.back,
      actions: [{ label: 'Open in the workbench', icon: 'series', href: bench }],
    });
    const remark = el('p', { class: 'soft board-remark', hidden: true });
    element.append(remark);
    const say = () => {
      const said = [...view.results.values()].map((r) => (view.chart.lines.length ? r.error || r.note : r.note));
      setText(remark, [commentsOf(model), ...said].filter(Boolean).join(' '));
      remark.hidden = !remark.textContent;
    };
    return {
      key, element, view, move: (range) => view.move(range),
      show: async (range, quiet) => {
        try {
          await view.show(range, quiet);
          say();
        } catch (error) {
          if (error.name === 'AbortError') throw error;
          view.chart.setLines([]);
          view.chart.setMessage(error.message);
        }
      },
    };
  }

  #range(range) {
    for (const cell of this.#cells) cell.move(range);
    if (range.final) this.#fetch(range).catch(() => {}); // each graph says what is wrong with it
  }

  async #fetch(range, quiet = false) {
    const wait = [...this.#cells];
    const work = async () => {
      for (let cell = wait.shift(); cell; cell = wait.shift()) await cell.show(range, quiet);
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }
}

// A graph that only the server can draw: a picture, which is renewed when the range moves on.
function picture(element, title, bench, args) {
  const image = el('img', { alt: title, decoding: 'async' });
  const wrong = el('p', { class: 'note bad', hidden: true });
  fill(element, el('div', { class: 'chart board-picture' }, el('div', { class: 'chart-head' }, el('h3', {}, title),
    el('div', { class: 'acts' }, el('a', { class: 'act', href: bench, title: 'Open in the workbench', 'aria-label': `Open in the workbench: ${title}` }, '↗'))), image, wrong));
  image.addEventListener('error', async () => {
    const response = await fetch(image.src).catch(() => null);
    if (response?.ok) return;
    setText(wrong, response ? (await response.text()).trim() : 'the server does not answer');
    wrong.hidden = false;
    image.hidden = true;
  });
  image.addEventListener('load', () => { wrong.hidden = true; });
  return {
    move() {},
    async show({ from, to }) {
      const width = Math.max(200, Math.min(1200, (element.clientWidth || 500) - 120));
      image.hidden = false;
      image.src = graphURL('svg', [...colours(), ...args], { from: Math.round(from), to: Math.round(to), width: Math.round(width / 20) * 20, height: 170 });
    },
  };
}

// The page's colours for a picture; those that the graph itself names come later and win.
function colours() {
  const ink = inks();
  const of = { BACK: ink.surface, CANVAS: ink.surface, SHADEA: ink.surface, SHADEB: ink.surface, FONT: ink.text, AXIS: ink.axis, ARROW: ink.axis, GRID: ink.grid, MGRID: ink.axis, FRAME: ink.surface };
  return ['--border', '0', ...Object.entries(of).flatMap(([name, colour]) => ['--color', `${name}${hex(colour)}`])];
}

// #fff as #ffffff: the graph language knows long colours only.
const hex = (colour) => (/^#[0-9a-f]{3}$/i.test(colour) ? colour.replace(/[0-9a-f]/gi, '$&$&') : colour);
