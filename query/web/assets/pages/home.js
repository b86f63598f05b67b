// Home: hosts and other tops of the tree as cards; or what a search found.

import { Cards } from '../cards.js';
import { el, fill, setText } from '../dom.js';
import * as format from '../format.js';
import { repeat } from '../live.js';
import { problem } from '../problem.js';
import { call, num } from '../rpc.js';
import { hitLine, hitURL } from '../search.js';
import { withParams } from '../state.js';
import { waiting } from '../waiting.js';
import { welcome } from './welcome.js';

const own = 'rondo'; // the series in which a server measures itself: no reason to hide the first steps
const first = 60; // cards at the beginning; the server has written so many into the page

/** Shows hosts, dashboards, or what a search found. @type {import('../pages.js').Show} */
export async function show(root, url, context) {
  const words = url.searchParams.get('q');
  if (words) return results(root, words, context);
  const sort = url.searchParams.get('sort') === 'name' ? 'name' : 'activity';
  const request = { prefix: '', sort, limit: first };
  let answer;
  try {
    answer = await waiting(root, call('Tree', request, context.signal), context.signal);
  } catch (error) {
    if (error.name !== 'AbortError') root.append(problem('The server does not answer as it should', error.message));
    return undefined;
  }
  const others = (nodes = []) => nodes.some((n) => n.path !== own);
  let isNew = !others(answer.nodes);
  const holder = isNew ? welcome(context) : root;
  if (isNew) root.append(holder);

  const cards = new Cards(context.signal, { receiver: true });
  const facts = el('p', { class: 'soft facts' });
  const orders = [['activity', 'Active first'], ['name', 'By name']].map(([name, text]) => el('button', {
    type: 'button', 'aria-pressed': String(name === sort), onclick: () => context.go(withParams(url, { sort: name === 'activity' ? null : name })),
  }, text));
  const more = el('button', { class: 'quiet more', type: 'button', hidden: true, onclick: () => next() }, 'Show more');
  const boards = el('div', { class: 'boards', hidden: true });
  const title = isNew ? el('h2', {}, 'Meanwhile, the server measures itself') : el('h1', {}, 'Hosts');
  facts.hidden = isNew;
  if (!isNew || answer.nodes) holder.append(el('div', { class: 'page-head' }, el('div', {}, title, facts), isNew ? null : el('div', { class: 'segments', role: 'group', 'aria-label': 'Order' }, orders)),
    boards, cards.element, more);

  let { nextPage } = answer;
  const state = { hosts: num(answer.total), stats: null, at: 0 };
  const arrived = (nodes) => {
    cards.set(nodes);
    more.hidden = !nextPage;
    return cards.fetch();
  };
  async function next() {
    more.disabled = true;
    const page = await call('Tree', { ...request, page: nextPage }, context.signal);
    nextPage = page.nextPage;
    more.disabled = false;
    await arrived(page.nodes || []);
  }
  const seen = new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting) && !more.disabled) next(); }, { rootMargin: '600px' });
  seen.observe(more);
  arrived(answer.nodes || []).catch(() => {});
  performance.mark('home');
  counts(state, facts, context.signal).catch(() => {});
  dashboards(boards, context.signal).catch(() => {});

  repeat(async () => {
    const limit = Math.min(1000, Math.max(first, cards.size));
    const now = await call('Tree', { ...request, limit }, context.signal);
    if (isNew && others(now.nodes)) { // the first data: home as it will be from now on
      isNew = false;
      context.go(url.href, { replace: true, anew: true });
      return;
    }
    state.hosts = num(now.total);
    cards.set(now.nodes || []);
    await Promise.all([cards.fetch(), counts(state, facts, context.signal).catch(unlessDenied)]);
  }, () => (isNew ? 2 : 10), context.signal);
  const clock = setInterval(() => cards.tick(), 1000);
  return () => {
    clearInterval(clock);
    seen.disconnect();
  };
}

// A user who is limited to some folders is not told how much there is in all.
function unlessDenied(error) {
  if (error.code !== 'permission_denied') throw error;
}

// counts says how much there is, and from the second time on how much comes in.
async function counts(state, element, signal) {
  const stats = await call('Stats', {}, signal);
  const at = performance.now() / 1000;
  const parts = [`${format.count(state.hosts)} ${state.hosts === 1 ? 'host' : 'hosts'}`, `${format.count(num(stats.series))} series`];
  if (state.stats) {
    const rate = (num(stats.samplesAccepted) - num(state.stats.samplesAccepted)) / (at - state.at);
    parts.push(`${rate < 10 ? rate.toFixed(1) : format.count(rate)} samples a second`);
  }
  Object.assign(state, { stats, at });
  setText(element, parts.join(' · '));
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
