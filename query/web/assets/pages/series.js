// One series: its values with their band, what was expected, notes, definition and state.

import { Chart } from '../chart.js';
import { bare } from '../chartset.js';
import { Before } from '../compare.js';
import { fetchMany } from '../data.js';
import { aligned, archive, csv, expected, functions, json, noteKeys, noteMarks, source, spans, unitFrom } from '../definition.js';
import { el, fill, painted, setText } from '../dom.js';
import * as format from '../format.js';
import { command, graphURL, guard } from '../graphlang.js';
import { repeat } from '../live.js';
import { problem } from '../problem.js';
import { RangeBar } from '../rangebar.js';
import { call, num } from '../rpc.js';
import { hostURL, pathOf, points, rememberPoints, withParams } from '../state.js';
import { styles } from '../styles.js';
import { Tail } from '../tail.js';
import { printed, recipeColour } from '../theme.js';
import { copyButton, save } from '../transfer.js';
import { unknown } from '../unknown.js';
import { details } from './series-details.js';

/** Shows one series. @type {import('../pages.js').Show} */
export async function show(root, url, context) {
  const path = pathOf(url, '/series/');
  const name = path.split('/').pop();
  context.title(name);
  const styled = styles(new URL('series.css', import.meta.url));
  let info, charts = [];
  try {
    info = await call('Info', { path }, context.signal);
    const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (folder) ({ charts = [] } = await call('Charts', { prefix: folder, limit: 200 }, context.signal).catch(() => ({})));
  } catch (error) {
    if (error.name === 'AbortError') return undefined;
    if (error.code !== 'not_found') root.append(problem('The series cannot be had', error.message));
    else await unknown(root, { title: 'No such series', text: `There is no series ${path}. It may have been dropped or renamed.`, path }, context.signal);
    return undefined;
  }
  await styled;
  const page = new SeriesPage(root, url, context, path, info, charts);
  await page.start();
  return page;
}

class SeriesPage {
  #context; #url; #path; #info; #sources; #step; #uses; #bar; #chart; #notes = []; #marks = []; #root;
  #about; #foot; #log; #picks = new Map(); #turn = 0; #details = null; #box; #recipe = null; #colours; #tail = new Tail(); #before; #lost = false;

  constructor(root, url, context, path, info, charts) {
    this.#context = context;
    this.#url = url;
    this.#path = path;
    this.#root = root;
    this.#info = info;
    const { definition = {} } = info.series;
    this.#step = num(definition.step);
    this.#sources = (definition.ds || []).map(source);
    // What a sender does not say, the recipe of its charts does: the unit, and the colours that other pages show.
    this.#recipe = unitFrom(charts, path, this.#sources.map((s) => s.name));
    this.#colours = new Map(charts.flatMap((c) => c.lines || []).filter((l) => l.path === path).map((l) => [l.ds, recipeColour(l.color, l.label)]));
    this.archives = (definition.rra || []).map((r) => archive(r, this.#step));
    this.#uses = functions(this.archives);
    this.#bar = new RangeBar(context, url, { onChange: (range) => this.#range(range), extra: [this.#tools()] });
    this.first = this.#ask(this.#bar.range); // the rows are on their way while the page is built
    this.first.catch(() => { /* #fetch says it */ });
    this.#build();
  }

  #attribute(name) {
    const all = [...(this.#info.metadata?.attributes || []), ...(this.#info.series.labels || [])];
    return all.find((a) => a.name.toLowerCase() === name)?.value || '';
  }

  get #unit() { return this.#attribute('units') || this.#attribute('unit') || this.#recipe?.unit || ''; }

  #build() {
    const crumbs = this.#path.split('/');
    this.#about = el('p', { class: 'soft series-about' });
    const box = this.#box = el('div', { class: 'series-chart' });
    this.#foot = el('p', { class: 'soft series-foot', role: 'status' });
    fill(this.#root,
      el('header', { class: 'series-head' },
        el('nav', { class: 'crumbs', 'aria-label': 'Where this series stands' }, crumbs.slice(0, -1).map((part, i) => [
          el('a', { href: hostURL(crumbs.slice(0, i + 1).join('/')) }, part), el('span', { 'aria-hidden': 'true' }, '/')])),
        el('h1', {}, this.#attribute('title') || crumbs.at(-1)), this.#about),
      this.#bar.element, this.#pickers(), box, this.#foot);
    this.#chart = new Chart(box, {
      title: this.#title(), unit: this.#unit, base: this.#recipe?.base, height: innerWidth < 720 ? 240 : 340, fold: 12, log: this.#flag('log'),
      onRange: this.#bar.drag, onBack: this.#bar.back, graph: () => [...this.#options(), ...this.arguments()],
    });
    this.#before = new Before(this.#chart);
    const button = box.querySelector('[aria-expanded]');
    if (this.#flag('table')) button.click();
    button.addEventListener('click', () => {
      const open = button.getAttribute('aria-expanded') === 'true';
      this.#context.go(withParams(this.#url, { table: open ? 1 : null }), { replace: true });
    });
    this.#context.keys([{ key: 'v', words: 'values as a table', run: () => button.click() }]);
  }

  #title() {
    const names = { AVERAGE: 'Average', MIN: 'Least', MAX: 'Greatest', LAST: 'Last value' };
    return (names[this.#uses.main] || 'Values') + (this.#uses.min && this.#uses.max ? ', min to max' : '');
  }

  #flag(name) { return this.#url.searchParams.get(name) === '1'; }

  #tools() {
    this.#log = el('button', {
      type: 'button', class: 'tool-text', 'aria-pressed': String(this.#flag('log')), title: 'A logarithmic axis',
      onclick: () => this.#context.go(withParams(this.#url, { log: this.#flag('log') ? null : 1 }), { replace: true }),
    }, 'Log');
    const file = this.#path.replaceAll('/', '_');
    const download = (kind, write, type) => el('button', {
      type: 'button', class: 'tool-text', title: `What is seen, as ${kind}`,
      onclick: () => save(`${file}.${kind.toLowerCase()}`, write(this.#chart.table()), type),
    }, kind);
    return el('div', { class: 'segments series-tools' }, this.#log, download('CSV', csv, 'text/csv'), download('JSON', json, 'application/json'),
      copyButton(() => this.command(), 'Copy as rrdtool graph', 'tool-text'));
  }

  // With several data sources, one may be seen alone.
  #pickers() {
    if (this.#sources.length < 2) return null;
    const pick = (ds, words) => {
      const button = el('button', { type: 'button', onclick: () => this.#context.go(withParams(this.#url, { ds })) }, words);
      this.#picks.set(ds, button);
      return button;
    };
    return el('div', { class: 'segments series-picks', role: 'group', 'aria-label': 'Data source' },
      pick('', 'All'), this.#sources.map((s) => pick(s.name, s.name)));
  }

  /** The names of the data sources that are shown. */
  get shown() {
    const ds = this.#url.searchParams.get('ds');
    const names = this.#sources.map((s) => s.name);
    return names.includes(ds) ? [ds] : names;
  }

  get info() { return this.#info; }
  get sources() { return this.#sources; }
  get step() { return this.#step; }
  get unit() { return this.#unit; }
  get path() { return this.#path; }
  get notes() { return this.#notes; }

  /** Arguments of rrdgraph that draw what is seen. @returns {string[]} */
  arguments() {
    const { main, min, max } = this.#uses;
    const palette = printed;
    const file = guard(this.#path);
    return this.shown.flatMap((ds, i) => {
      const colour = palette[i % palette.length];
      const band = min && max ? [`DEF:l${i}=${file}:${ds}:${min}`, `DEF:h${i}=${file}:${ds}:${max}`, `CDEF:b${i}=h${i},l${i},-`,
        `LINE1:l${i}#00000000`, `AREA:b${i}${colour}33::STACK`] : [];
      return [...band, `DEF:v${i}=${file}:${ds}:${main}`, `LINE1.5:v${i}${colour}:${guard(ds)}`,
        `GPRINT:v${i}:LAST:%8.2lf %s last`, `GPRINT:v${i}:AVERAGE:%8.2lf %s avg`, `GPRINT:v${i}:MAX:%8.2lf %s max\\l`];
    });
  }

  #options() {
    const out = ['--title', this.#path];
    if (this.#unit) out.push('--vertical-label', this.#unit);
    if (this.#flag('log')) out.push('--logarithmic');
    return out;
  }

  /** The command that draws what is seen. */
  command() {
    const { query, live, from, to } = this.#bar.range;
    const start = live ? query.from : String(Math.round(from)), end = live ? 'now' : String(Math.round(to));
    return command(['rondo', 'graph', 'graph.png', '--start', start, '--end', end, '--width', '800', '--height', '300', ...this.#options()], this.arguments());
  }

  /** The address of the same graph as a picture. */
  picture() {
    const { from, to } = this.#bar.range;
    return graphURL('svg', [...this.#options(), ...this.arguments()], { from: Math.round(from), to: Math.round(to), width: 800, height: 300 });
  }

  /** The address of the workbench with these lines. */
  workbench() {
    const palette = printed;
    const g = this.shown.flatMap((ds, i) => [`DEF:v${i}=${guard(this.#path)}:${ds}:${this.#uses.main}`, `LINE1.5:v${i}${palette[i % palette.length]}:${guard(ds)}`]);
    const range = this.#bar.range.query || {};
    return withParams(new URL('/workbench', location.origin), { g: g.join('\n'), from: range.from === '-1d' ? null : range.from, to: range.to === 'now' ? null : range.to });
  }

  // The chart comes first: what else there is to say stands below it, and waits until it is drawn.
  async start() {
    this.#write();
    this.#chart.setRange(this.#bar.range.from, this.#bar.range.to);
    await this.#fetch(this.#bar.range, false, this.first).catch((error) => this.#failed(error));
    await painted();
    if (this.#context.signal.aborted) return;
    rememberPoints();
    this.#details = details(this);
    this.#root.append(this.#details.element);
    this.#write();
    this.#readNotes();
    repeat(() => this.#look(), () => this.#bar.every(Math.min(60, Math.max(2, this.#step / 2, (this.#bar.range.to - this.#bar.range.from) / 1000))), this.#context.signal);
  }

  // What is known of the series now. That it was dropped, or that the server is away, stands below the chart, which stays.
  async #look() {
    try {
      this.#info = await call('Info', { path: this.#path }, this.#context.signal);
      if (this.#bar.follows || this.#lost) await this.#fetch(this.#bar.now(), true);
      this.#lost = false;
    } catch (error) {
      this.#lost = true;
      this.#failed(error);
      throw error;
    } finally {
      this.#write();
    }
  }

  update(url) {
    this.#url = url;
    this.#log.setAttribute('aria-pressed', String(this.#flag('log')));
    this.#chart.set({ log: this.#flag('log') });
    this.#bar.update(url);
    this.#write();
  }

  #range(range) {
    this.#chart.setRange(range.from, range.to);
    if (range.final) this.#fetch(range).catch((error) => this.#failed(error));
  }

  #failed(error) {
    if (error.name === 'AbortError') return;
    this.#chart.setBusy(false);
    setText(this.#foot, `The rows cannot be had: ${error.message}.`);
  }

  // Rows of all functions for a range, in one request.
  async #ask(range) {
    const names = ['main', 'min', 'max', 'predicted', 'deviation', 'failures'].filter((n) => this.#uses[n]);
    if (!this.#uses.main) return {};
    const answers = await this.#tail.fetch(names.map((n) => ({ path: this.#path, cf: this.#uses[n] })), range, points(), this.#context.signal);
    return Object.fromEntries(names.map((n, i) => [n, answers[i]]));
  }

  // Shows a range. An answer that was overtaken is left out.
  async #fetch(range, quiet = false, asked = null) {
    const mine = ++this.#turn;
    if (!this.#uses.main) {
      this.#chart.setMessage('This series keeps no rows that can be drawn.');
      return;
    }
    const busy = quiet ? 0 : setTimeout(() => this.#chart.setBusy(true), 300);
    try {
      const rows = await (asked || this.#ask(range));
      if (mine === this.#turn) this.#draw(range, rows);
      this.#compare(range);
    } finally {
      clearTimeout(busy);
      if (mine === this.#turn) this.#chart.setBusy(false);
    }
  }

  async #compare(range) {
    const before = this.#before.wants(range), { main } = this.#uses;
    if (!before) return;
    try {
      const [{ columns, ...rest }] = await fetchMany([{ path: this.#path, cf: main }], { ...before, points: points() }, this.#context.signal);
      this.#before.take([...columns].map(([label, values]) => ({ ...rest, label, values })));
    } catch {
      this.#before.fail();
    }
  }

  #draw(range, rows) {
    if (rows.main instanceof Error) throw rows.main;
    const take = (name, ds) => {
      const values = rows[name]?.columns?.get(ds);
      return values && { start: rows[name].start, step: rows[name].step, end: rows[name].end, values };
    };
    const lines = [], marks = [];
    this.shown.forEach((ds, i) => {
      const main = take('main', ds);
      if (!main) return;
      const min = aligned(main, take('min', ds), Math.min), max = aligned(main, take('max', ds), Math.max);
      const band = expected(take('predicted', ds), take('deviation', ds), this.#deltas());
      if (band) lines.push({ ...band, label: `${ds} expected`, style: 'band', color: 4 });
      lines.push({ ...main, label: ds, color: this.#colours.get(ds) ?? (this.shown.length > 1 ? undefined : this.#sources.findIndex((s) => s.name === ds)), min: min && max && min, max: min && max && max, place: i, path: this.#path, ds, scale: [1, 0] });
      for (const s of spans(take('failures', ds))) marks.push({ ...s, severity: 'failure', text: `${ds}: not as expected` });
    });
    this.#chart.setLines(lines);
    this.#chart.setRange(range.from, range.to);
    this.#marks = marks;
    this.#mark();
    const { known } = this.#chart, [why] = (this.#info.problems || []).map((p) => `${p.text} ${p.advice}`);
    if (known <= bare) this.#chart.setMessage(why || (known ? '' : 'Nothing is known in this range.'));
    this.#say(range, rows.main, lines, marks.length);
  }

  // How many deviations around the prediction are as expected: the archive FAILURES has it.
  #deltas() {
    const { deltaPos, deltaNeg } = this.#info.archives?.[this.archives.findIndex((a) => a.cf === 'FAILURES')] || {};
    return { above: deltaPos, below: deltaNeg };
  }

  #say(range, main, lines, failures) {
    const covers = this.archives.filter((a) => a.cf === this.#uses.main).sort((a, b) => a.seconds - b.seconds);
    const words = [`Each value is the ${{ AVERAGE: 'average', MIN: 'least', MAX: 'greatest', LAST: 'last' }[this.#uses.main]} of ${format.duration(main.step)}.`];
    const finest = covers[0];
    if (finest && main.step > finest.seconds && range.to > Date.now() / 1000 - finest.span) words.push(`Rows of ${format.duration(finest.seconds)} are kept for ${format.duration(finest.span)}: zoom in to see them.`);
    if (main.step > this.#step && lines.some((l) => l.min && l.style !== 'band')) words.push('The band is from the least to the greatest.');
    if (failures) words.push(`Hatched: ${failures === 1 ? 'a time' : `${failures} times`} when values were not as expected.`);
    setText(this.#foot, words.join(' '));
  }

  async #readNotes() {
    try {
      const answers = await Promise.all(noteKeys(this.#path).map((key) => call('Notes', { key }, this.#context.signal)));
      const own = (key) => key === this.#path || this.#path.startsWith(`${key}/`);
      const all = answers.flatMap((a) => a.notes || []).filter((n) => own(n.key));
      this.#notes = [...new Map(all.map((n) => [`${n.key} ${n.timeUs} ${n.text}`, n])).values()].sort((a, b) => num(b.timeUs) - num(a.timeUs));
    } catch { /* the series is shown without notes */ }
    this.#mark();
    this.#details?.update();
  }

  #mark() {
    this.#chart.setMarks([...this.#marks, ...noteMarks(this.#notes.map((n) => ({ time: num(n.timeUs) / 1e6, text: n.text, severity: n.severity })))]);
  }

  #write() {
    const at = num(this.#info.lastUpdateUs) / 1e6, now = Date.now() / 1000;
    const words = [this.#attribute('description') || this.#attribute('desc'), this.#unit, `last update ${format.ago(at, now)}`].filter(Boolean);
    setText(this.#about, words.join(' · '));
    const ds = this.#url.searchParams.get('ds') || '';
    for (const [name, button] of this.#picks) button.setAttribute('aria-pressed', String(name === ds || (name === '' && this.shown.length > 1)));
    this.#details?.update();
  }

  end() {
    this.#chart.destroy();
  }
}
