// Home: hosts as a table or as cards, those that need attention first; or what a search found.

import { onAlerts } from '../alerts.js';
import { Cards } from '../cards.js';
import { el, fill, setText } from '../dom.js';
import * as format from '../format.js';
import { repeat } from '../live.js';
import { problem, Problems } from '../problem.js';
import { call, num } from '../rpc.js';
import { hitLine, hitURL } from '../search.js';
import { withParams } from '../state.js';
import { styles } from '../styles.js';
import { waiting } from '../waiting.js';
import { HostTable, shortName } from './home-table.js';
import { welcome } from './welcome.js';

const own = 'rondo'; // the series in which a server measures itself: no reason to hide the first steps
const first = 60; // hosts at the beginning; the server has written so many into the page

/** Shows hosts, dashboards, or what a search found. @type {import('../pages.js').Show} */
export async function show(root, url, context) {
  const words = url.searchParams.get('q');
  if (words) return results(root, words, context);
  const home = new Home(root, url, context);
  try {
    await home.start();
  } catch (error) {
    if (error.name !== 'AbortError') root.append(problem('The server does not answer as it should', error.message));
    return undefined;
  }
  return { update: (next) => home.update(next), end: () => home.end() };
}

// worth reports whether there are many hosts, or one has a figure or an alert for the table. Else cards say more.
const worth = ({ hosts = [], total }) => num(total) > first || hosts.some((h) => h.node.path !== own && (h.alerts?.length || figures.some((name) => h[name] !== undefined)));
const figures = ['cpu', 'load', 'memory', 'disk', 'in', 'out'];

const others = ({ hosts = [] }) => hosts.some((h) => h.node.path !== own);

class Home {
  #root; #url; #context; #isNew = false; #bare = false; #cards = null; #table = null; #list; #facts; #more; #views; #fields = {}; #next = 0; #total = 0; #stats = null; #at = 0; #problems = new Problems(); #clock; #seen; #wait; #turn = 0; #view = new AbortController();

  constructor(root, url, context) {
    this.#root = root;
    this.#url = url;
    this.#context = context;
  }

  get #asCards() {
    const view = this.#url.searchParams.get('view');
    return this.#isNew || view === 'cards' || this.#bare && view !== 'table';
  }

  #ask(offset, limit) {
    const at = (name) => this.#url.searchParams.get(name) || undefined;
    const message = { filter: at('f'), sort: at('sort'), pin: at('pin'), offset: offset || undefined, limit, sparks: this.#asCards || Boolean(at('pin')) || undefined };
    return call('Hosts', message, this.#context.signal);
  }

  async start() {
    const { signal } = this.#context;
    const sheet = styles(new URL('home.css', import.meta.url));
    const asked = this.#asCards;
    let answer = await waiting(this.#root, this.#ask(0, first), signal);
    await sheet;
    this.#isNew = !this.#url.searchParams.get('f') && !others(answer);
    this.#bare = !this.#isNew && !worth(answer);
    if (this.#asCards && !asked) answer = await this.#ask(0, first); // with what cards show
    const holder = this.#isNew ? welcome(this.#context) : this.#root;
    if (this.#isNew) this.#root.append(holder);
    const boards = el('div', { class: 'boards', hidden: true });
    this.#facts = el('p', { class: 'soft facts', hidden: this.#isNew });
    this.#list = el('div');
    this.#more = el('button', { class: 'quiet more', type: 'button', hidden: true, onclick: () => this.#append() }, 'Show more');
    const title = this.#isNew ? el('h2', {}, 'Meanwhile, the server measures itself') : el('h1', {}, 'Hosts');
    holder.append(el('div', { class: 'page-head' }, el('div', {}, title, this.#facts), this.#isNew ? null : this.#bar()), this.#problems.element, boards, this.#list, this.#more);
    this.#seen = new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting) && !this.#more.disabled) this.#append().catch(() => {}); }, { rootMargin: '600px' });
    this.#seen.observe(this.#more);
    this.#show(answer);
    performance.mark('home');
    this.#counts().catch(() => {});
    dashboards(boards, signal).catch(() => {});
    onAlerts(() => this.#tick(), signal);
    repeat(() => this.#look(), () => (this.#isNew ? 2 : 10), signal);
    this.#clock = setInterval(() => this.#tick(), 1000);
  }

  #bar() {
    const field = (name, placeholder, label) => el('input', {
      type: 'search', placeholder, 'aria-label': label, title: label, value: this.#url.searchParams.get(name) || '', oninput: (event) => {
        clearTimeout(this.#wait);
        this.#wait = setTimeout(() => this.#context.go(withParams(this.#url, { [name]: event.target.value.trim() }), { replace: true }), 250);
      },
    });
    this.#fields = { f: field('f', 'Filter: words, label=value', 'Filter the hosts'), pin: field('pin', 'Column: load midterm', 'Words of a metric, which becomes a column') };
    this.#views = [['Table', null], ['Cards', 'cards']].map(([text, view]) => el('button', { type: 'button', value: view || '', onclick: () => this.#context.go(withParams(this.#url, { view: view || (this.#bare ? 'table' : null) })) }, text));
    this.#context.keys([{ key: 'f', words: 'filter the hosts', run: () => this.#fields.f.focus() }]);
    return el('div', { class: 'home-bar' }, this.#fields.f, this.#fields.pin, el('div', { class: 'segments', role: 'group', 'aria-label': 'View' }, this.#views));
  }

  // show shows the first hosts of an order, in the view that the address names.
  #show(answer) {
    const { signal } = this.#context;
    for (const button of this.#views || []) button.setAttribute('aria-pressed', String((button.value === 'cards') === this.#asCards));
    this.#total = num(answer.total);
    this.#more.hidden = true;
    if (this.#asCards) {
      this.#table = null;
      this.#view.abort();
      this.#view = new AbortController();
      this.#cards = new Cards(AbortSignal.any([signal, this.#view.signal]), { receiver: true });
      fill(this.#list, this.#cards.element);
      this.#next = 0;
      this.#arrived(answer).catch(() => {});
    } else {
      this.#cards = null;
      if (!this.#table) {
        this.#table = new HostTable((offset, limit) => this.#load(offset, limit).catch(() => {}), signal);
        fill(this.#list, this.#table.element);
      }
      this.#table.set(this.#url, 0, answer, true);
    }
    this.#list.querySelector(':scope > .note')?.remove();
    const words = !this.#total && !this.#isNew ? 'No host fits the filter.' : answer.named ? 'These are too many to be put in order: alerts come first, then hosts by name. A filter that leaves 20,000 has silent and busy ones first, too.' : '';
    if (words) this.#list.prepend(el('p', { class: 'note' }, words));
  }

  #arrived({ hosts = [], domain }) {
    this.#next += hosts.length;
    this.#cards.set(hosts.map((h) => ({ ...h.node, name: shortName(h.node.name, domain), senders: h.senders, silent: Boolean(h.silent), alerts: h.alerts })));
    this.#more.hidden = this.#next >= this.#total;
    return this.#cards.fetch();
  }

  async #append() {
    this.#more.disabled = true;
    const answer = await this.#ask(this.#next, first).finally(() => { this.#more.disabled = false; });
    await this.#arrived(answer);
  }

  async #load(offset, limit, anew = false) {
    const turn = ++this.#turn;
    const answer = await this.#ask(offset, limit);
    if (turn !== this.#turn || !this.#table) return;
    this.#total = num(answer.total);
    this.#table.set(this.#url, offset, answer, anew);
  }

  // look asks again for what is in sight.
  async #look() {
    if (this.#isNew) {
      if (others(await this.#ask(0, first))) await this.#context.go(this.#url.href, { replace: true, anew: true }); // home as it will be from now on
      return;
    }
    const counted = this.#counts().catch(unlessDenied);
    if (this.#table) await this.#load(...this.#table.sight, true);
    else {
      const answer = await this.#ask(0, Math.min(1000, Math.max(first, this.#cards.size)));
      const { hosts = [] } = answer;
      this.#total = num(answer.total);
      this.#next = 0;
      if (hosts.length === this.#total) this.#cards.keep(hosts.map((h) => h.node)); // the others are gone
      await this.#arrived(answer);
    }
    await counted;
  }

  /** The query of the address has changed. */
  async update(url) {
    if (url.searchParams.get('q') || this.#url.searchParams.get('q')) {
      this.#context.go(url.href, { replace: true, anew: true });
      return;
    }
    this.#url = url;
    for (const [name, input] of Object.entries(this.#fields)) if (document.activeElement !== input) input.value = url.searchParams.get(name) || '';
    const turn = ++this.#turn;
    const answer = await this.#ask(0, first).catch((error) => {
      if (error.name !== 'AbortError') fill(this.#list, problem('The hosts cannot be shown', error.message));
    });
    if (answer && turn === this.#turn) this.#show(answer);
  }

  // wrong says what is wrong with the server, but not which hosts are silent: they come first in the list.
  async #wrong() {
    const answer = await call('Status', { senders: 1 }, this.#context.signal);
    this.#problems.update({ ...answer, problems: (answer.problems || []).filter((p) => p.severity !== 'info' && p.id !== 'silent') });
  }

  // counts says how much there is, and from the second time on how much comes in.
  async #counts() {
    const stats = await call('Stats', {}, this.#context.signal);
    const at = performance.now() / 1000;
    const parts = [`${format.count(this.#total)} ${this.#total === 1 ? 'host' : 'hosts'}`, `${format.count(num(stats.series))} series`];
    if (this.#stats) {
      const rate = (num(stats.samplesAccepted) - num(this.#stats.samplesAccepted)) / (at - this.#at);
      parts.push(`${rate < 10 ? rate.toFixed(1) : format.count(rate)} samples a second`);
    }
    this.#stats = stats;
    this.#at = at;
    setText(this.#facts, parts.join(' · '));
    if (!this.#isNew) await this.#wrong();
  }

  #tick() {
    this.#cards?.tick();
    this.#table?.draw();
  }

  end() {
    clearInterval(this.#clock);
    this.#seen?.disconnect();
  }
}

// A user who is limited to some folders does not see how much there is in all.
function unlessDenied(error) {
  if (error.code !== 'permission_denied') throw error;
}

async function dashboards(element, signal) {
  const answer = await call('Dashboards', {}, signal);
  if (!answer.dashboards) return;
  element.hidden = false;
  fill(element, el('h2', {}, 'Dashboards'), el('ul', {}, answer.dashboards.map((d) => el('li', {},
    el('a', { class: 'board', href: `/dashboard/${encodeURIComponent(d.name)}` }, d.title || d.name)))));
}

// folded makes a list that shows its first items, and the others when asked to: folders do not push
// the series out of sight.
function folded(items, most) {
  const list = el('ul', { class: 'results' }, items);
  if (items.length <= most + 1) return [list];
  const rest = items.slice(most);
  for (const item of rest) item.hidden = true;
  const all = el('button', {
    class: 'quiet', type: 'button', onclick: () => {
      for (const item of rest) item.hidden = false;
      all.remove();
      rest[0].querySelector('a').focus();
    },
  }, `Show all ${items.length}`);
  return [list, el('p', { class: 'results-more' }, all)];
}

// results lists what a search found, for an address that can be shared.
async function results(root, words, context) {
  context.title(words);
  const box = document.getElementById('q');
  if (document.activeElement !== box) box.value = words;
  const limit = 200;
  let answer;
  try {
    answer = await waiting(root, call('Search', { text: words, limit }, context.signal), context.signal);
  } catch (error) {
    if (error.name !== 'AbortError') root.append(problem('The search failed', error.message));
    return undefined;
  }
  const hits = answer.hits || [];
  const items = (of) => of.map((hit) => el('li', {}, el('a', { href: hitURL(hit) }, hitLine(hit, words))));
  const list = (title, of, most = limit) => (of.length ? [el('h2', {}, title), ...folded(items(of), most)] : []);
  const found = `${hits.length}${answer.more ? ' or more' : ''} found`;
  root.append(el('div', { class: 'page-head' }, el('div', {}, el('h1', {}, `“${words}”`), el('p', { class: 'soft' }, hits.length ? found : 'Nothing is called so. A word may be a part of a path, of a label, of a unit or of a description.'))),
    ...list('Hosts and folders', hits.filter((h) => h.folder), 6), ...list('Series', hits.filter((h) => !h.folder)));
  if (answer.more) root.append(el('p', { class: 'soft' }, `These are the best ${limit}. Another word makes the list shorter.`));
  context.say(found);
  return () => { if (document.activeElement !== box) box.value = ''; };
}
