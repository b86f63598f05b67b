// Which module of pages/ shows which address.

/**
 * What a page's module exports as `show`. It fills an empty element, and returns how it ends, or how it
 * follows the address and ends.
 *
 * end() is called when the page is left. update(url) is called when only the query of the address has
 * changed; a page without it is shown anew.
 *
 * @typedef {(root: HTMLElement, url: URL, context: Context) => Promise<void|(() => void)|{update: (url: URL) => void, end: () => void}>} Show
 */

/**
 * What a page is given.
 * @typedef {object} Context
 * @property {AbortSignal} signal the page is left; give it to `call`
 * @property {(address: string, how?: {replace?: boolean, anew?: boolean}) => Promise<void>} go goes to another address;
 *   the same path with another query only calls update, unless anew is true
 * @property {(text: string) => void} title sets the title of the window
 * @property {(text: string) => void} say speaks to a screen reader
 * @property {(list: import('./keys.js').Key[]) => void} keys of this page; gone with it
 */

/** @type {{pattern: RegExp, load: () => Promise<{show: Show}>}[]} */
export const routes = [
  { pattern: /^\/$/, load: () => import('./pages/home.js') },
  { pattern: /^\/host\/.+/, load: () => import('./pages/host.js') },
  { pattern: /^\/series\/.+/, load: () => import('./pages/series.js') },
  { pattern: /^\/workbench$/, load: () => import('./pages/workbench.js') },
  { pattern: /^\/dashboards?(\/.*)?$/, load: () => import('./pages/dashboard.js') },
  { pattern: /^\/alerts$/, load: () => import('./pages/alerts.js') },
  { pattern: /^\/status$/, load: () => import('./pages/status.js') },
];
