// Dark and light, and the colours of charts.

// Twelve colours that are distinct in both themes, at 3:1 or more against the page. The names of
// a chart's lines choose among them where the names are usual ones; see colourOf.
const palettes = {
  light: ['#2264d1', '#b8580c', '#1a7f4b', '#c7353b', '#7a4bc9', '#0b7f88', '#8f6a00', '#bb3587', '#557a0c', '#5c6b7a', '#2f4fae', '#8a4b2a'],
  dark: ['#6aa5ff', '#f0975a', '#4dc48b', '#f27a7e', '#b697f5', '#45c2cb', '#dfba4a', '#ee80c3', '#a5cc57', '#93a3b5', '#8c9cf0', '#cf9a79'],
};

/** The palette for what is drawn on white: pictures, and commands that draw them. */
export const printed = palettes.light;

const usual = {
  user: 0, system: 1, wait: 3, iowait: 3, nice: 5, interrupt: 7, irq: 7, softirq: 4, steal: 6, guest: 10,
  used: 0, cached: 5, buffered: 6, buffers: 6, slab_recl: 10, slab_unrecl: 4, slab: 4, reserved: 6,
  read: 0, write: 1, reads: 0, writes: 1, rx: 2, tx: 0, in: 2, out: 0, received: 2, sent: 0, receive: 2, transmit: 0,
  shortterm: 0, midterm: 1, longterm: 4, errors: 3, dropped: 6,
};
const faint = new Set(['idle', 'free']);

// The colours that recipes of charts name, which are those of `rondo graph`, in the palette above.
const named = {
  '#3b78d8': 0, '#f0a13a': 1, '#3fa66b': 2, '#d9534f': 3, '#8e63ce': 4, '#2aa5a0': 5, '#e8c547': 6, '#d65fb8': 7, '#9aa83a': 8, '#6b7280': 9,
  '#6fb7e8': 10, '#9c6b43': 11, '#c9d1d9': 'faint',
};

// Large areas have calm colours: what is used is blue, and what is free or idle is hardly seen.
const calm = { used: 0, cached: 5, free: 'faint', idle: 'faint' };

/**
 * What `Line.color` is for a colour of a recipe: the same one in both themes.
 * @param {string} [colour] "#rrggbb" @param {string} [label] of the line
 */
export function recipeColour(colour, label = '') {
  return calm[label.toLowerCase()] ?? named[(colour || '').toLowerCase()];
}

let cached = null;
const listeners = new Set();

/**
 * The colour of a line in the present theme.
 * @param {number|string|undefined} wish a place in the palette, a CSS colour, 'faint', or undefined
 * @param {string} label @param {number} index its place in the chart
 */
export function colourOf(wish, label, index) {
  const ink = inks();
  if (wish === 'faint') return ink.rest;
  if (typeof wish === 'string' && wish) return wish;
  if (typeof wish === 'number') return ink.palette[wish % ink.palette.length];
  const name = label.toLowerCase();
  if (faint.has(name)) return ink.rest;
  if (name in usual) return ink.palette[usual[name]];
  return ink.palette[index % ink.palette.length];
}

/** True if lines of a chart have usual names, which give the colours; else their order gives them. */
export function usualNames(labels) {
  const known = labels.filter((l) => faint.has(l.toLowerCase()) || l.toLowerCase() in usual);
  const places = new Set(known.map((l) => usual[l.toLowerCase()] ?? l));
  return known.length === labels.length && places.size === labels.length;
}

/** The colours of the present theme, as canvas needs them. */
export function inks() {
  if (cached) return cached;
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  cached = {
    dark: isDark(), text: of('--text'), soft: of('--soft'), grid: of('--grid'), axis: of('--axis'), surface: of('--surface'),
    accent: of('--accent'), rest: of('--rest'), bad: of('--bad'), warn: of('--warn'), good: of('--good'), font: of('--font'),
    palette: palettes[isDark() ? 'dark' : 'light'],
  };
  return cached;
}

/** True if the page is dark now. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

/** What the reader chose: 'dark', 'light', or 'auto', the system's. */
export function theme() {
  return document.documentElement.dataset.theme || 'auto';
}

/**
 * Chooses a theme, and keeps the choice in this browser: in a cookie, by which the server's page has
 * the theme from its first byte. Where cookies are forbidden the choice lasts for this page.
 */
export function setTheme(name) {
  if (name === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  document.cookie = `theme=${name}; path=/; max-age=${name === 'auto' ? 0 : 366 * 86400}; samesite=strict`;
  changed();
}

/** Light colours for paper, whatever the theme is; and back. @param {boolean} on */
export function onPaper(on) {
  const { dataset } = document.documentElement;
  if (on) dataset.screen = theme();
  if (!on && dataset.screen === 'auto') delete dataset.theme;
  else dataset.theme = on ? 'light' : dataset.screen;
  cached = null;
}

/** Calls listener after each change of the theme; returns a function that ends that. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function changed() {
  cached = null;
  for (const listener of listeners) listener();
}

if (globalThis.matchMedia) matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
