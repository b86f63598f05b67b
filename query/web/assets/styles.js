// Style sheets of single pages.

const asked = new Map();

/**
 * Loads a style sheet, once. The server's page may have named it already. A page waits for it before it shows anything, so that nothing moves.
 * @param {string|URL} url such as new URL('status.css', import.meta.url)
 * @returns {Promise<void>} also settles if the sheet cannot be had
 */
export function styles(url) {
  const href = String(url);
  if ([...document.querySelectorAll('link[rel=stylesheet]')].some((l) => l.href === href && l.sheet)) return Promise.resolve();
  if (!asked.has(href)) {
    asked.set(href, new Promise((done) => {
      const link = document.createElement('link');
      link.rel = 'stylesheet';
      link.href = href;
      link.addEventListener('load', () => done());
      link.addEventListener('error', () => done());
      document.head.append(link);
    }));
  }
  return asked.get(href);
}
