// Style sheets of single pages.

const asked = new Map();
let inForce = new Set(); // the addresses of the sheets of the page that is shown

const linked = () => [...document.querySelectorAll('link[rel=stylesheet]')].filter((l) => l.sheet);

/**
 * Puts a style sheet in force, and loads it if need be. The server's page may have named it already. A page waits for it before it shows anything, so that nothing moves.
 * @param {string|URL} url such as new URL('status.css', import.meta.url)
 * @returns {Promise<void>} also settles if the sheet cannot be had
 */
export function styles(url) {
  const href = String(url);
  inForce.add(href);
  const there = linked().find((l) => l.href === href);
  if (there) {
    there.sheet.disabled = false;
    return Promise.resolve();
  }
  if (!asked.has(href)) {
    asked.set(href, new Promise((done) => {
      const link = document.createElement('link');
      link.rel = 'stylesheet';
      link.href = href;
      link.addEventListener('load', () => {
        link.sheet.disabled = !inForce.has(href); // the reader may have gone on
        done();
      });
      link.addEventListener('error', () => done());
      document.head.append(link);
    }));
  }
  return asked.get(href);
}

/** Puts the sheets of the page that is left out of force: the next one may have elements of the same names. */
export function unstyle() {
  for (const l of linked()) if (l.href.includes('/pages/')) l.sheet.disabled = true;
  inForce = new Set();
}
