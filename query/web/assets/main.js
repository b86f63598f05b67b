// The page starts here: routes, header, keyboard.
// What a page is stands in pages.js.

import { watchAlerts } from './alerts.js';
import { useUTC } from './clock.js';
import { el, fill, icon } from './dom.js';
import { addEntries } from './entries.js';
import { bindKeys, pageKeys, showHelp } from './keys.js';
import { routes } from './pages.js';
import { problem } from './problem.js';
import { startSearch } from './search.js';
import { unstyle } from './styles.js';
import { setTheme, theme } from './theme.js';

const root = document.getElementById('page');
let shown = null; // the page that is shown: { path, route, controller, update, end }
let visit = 0;

/** Goes to an address of this site. @param {string} address @param {{replace?: boolean, anew?: boolean}} [how] */
export function go(address, { replace = false, anew = false } = {}) {
  const url = new URL(address, location.href);
  if (url.href === location.href) replace = true;
  history[replace ? 'replaceState' : 'pushState']({ y: 0 }, '', url);
  return render({ anew });
}

async function render({ anew = false } = {}) {
  const url = new URL(location.href);
  useUTC(url.searchParams.get('tz') === 'UTC');
  const route = routes.find((r) => r.pattern.test(url.pathname));
  if (!anew && shown && shown.path === url.pathname && shown.update) {
    shown.update(url);
    return;
  }
  const mine = ++visit;
  let show = null;
  try {
    if (route) ({ show } = await route.load());
  } catch {
    show = (at) => fill(at, problem('This page could not be loaded', 'The server may have been restarted. Load the page again.'));
  }
  if (mine !== visit) return; // the reader went on meanwhile
  leave();
  const controller = new AbortController();
  const holder = el('div', { class: 'page' });
  shown = { path: url.pathname, controller };
  fill(root, holder);
  const wanted = history.state?.y || 0;
  const context = {
    signal: controller.signal, go, say,
    title: (text) => { document.title = text ? `${text} · rondo` : 'rondo'; },
    keys: (list) => pageKeys(list, controller.signal),
  };
  context.title('');
  mark(url);
  const made = show ? await show(holder, url, context) : fill(holder, problem('No such page', `There is nothing at ${url.pathname}.`));
  if (mine !== visit) {
    (made?.end || made)?.call?.(made);
    return;
  }
  if (made?.update) shown.update = (next) => made.update(next);
  shown.end = typeof made === 'function' ? made : made?.end && (() => made.end());
  scrollTo(0, wanted);
}

function leave() {
  if (!shown) return;
  shown.controller.abort();
  shown.end?.();
  shown = null;
  unstyle();
}

function say(text) {
  document.getElementById('said').textContent = text;
}

// mark shows in the header where the reader is.
function mark(url) {
  for (const link of document.querySelectorAll('#nav a')) {
    const here = link.pathname === url.pathname || (link.pathname !== '/' && url.pathname.startsWith(link.pathname));
    if (here) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

// A click on a link of this site changes the page without loading it anew.
function follow(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest?.('a[href]');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (!routes.some((r) => r.pattern.test(link.pathname))) return;
  if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
  event.preventDefault();
  history.replaceState({ ...history.state, y: scrollY }, '');
  go(link.href).then(() => {
    if (document.activeElement === document.body) root.focus({ preventScroll: true });
  });
}

function themeButton() {
  const names = { auto: ['auto', 'Theme: as the system'], light: ['sun', 'Theme: light'], dark: ['moon', 'Theme: dark'] };
  const button = el('button', { class: 'tool', type: 'button' });
  const show = () => {
    const [picture, words] = names[theme()];
    fill(button, icon(picture));
    button.title = words;
    button.setAttribute('aria-label', words);
  };
  const turn = () => {
    setTheme({ auto: 'light', light: 'dark', dark: 'auto' }[theme()]);
    show();
    say(names[theme()][1]);
  };
  button.addEventListener('click', turn);
  show();
  return { button, turn };
}

function start() {
  const { button, turn } = themeButton();
  const help = el('button', { class: 'tool', type: 'button', title: 'Keyboard (?)', 'aria-label': 'Help for the keyboard', onclick: showHelp }, icon('help'));
  document.getElementById('tools').append(button, help);
  const search = startSearch(document.getElementById('search'), go);
  bindKeys([
    { key: '/', words: 'search', run: () => search.focus() },
    { key: 'g h', words: 'home', run: () => go('/') },
    { key: 'g w', words: 'workbench', run: () => go('/workbench') },
    { key: 'g d', words: 'dashboards', run: () => go('/dashboards') },
    { key: 'g a', words: 'alerts', run: () => go('/alerts') },
    { key: 'g s', words: 'status', run: () => go('/status') },
    { key: 't', words: 'dark, light, or as the system', run: turn },
    { key: '?', words: 'this help', run: showHelp },
  ]);
  addEntries(() => ({ signal: shown.controller.signal, go }));
  history.scrollRestoration = 'manual';
  document.addEventListener('click', follow);
  addEventListener('popstate', () => render());
  let waits = 0;
  addEventListener('scroll', () => {
    clearTimeout(waits);
    waits = setTimeout(() => history.replaceState({ ...history.state, y: scrollY }, ''), 200);
  }, { passive: true });
  render().then(watchAlerts);
}

start();
