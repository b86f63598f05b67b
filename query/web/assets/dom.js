// Elements without innerHTML: text from the server can never become markup.

/**
 * Makes an element.
 *
 *     el('button', { class: 'quiet', type: 'button', onclick: back }, 'Back')
 *
 * A property that begins with `on` is a listener; true sets an attribute without a value, and false,
 * null and undefined leave it out. Children are nodes, texts, arrays of them, or nothing.
 *
 * @param {string} name
 * @param {Object<string, any>} [properties]
 * @param {...any} children
 * @returns {HTMLElement}
 */
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  append(element, children);
  return element;
}

/** Replaces all that is in an element. */
export function fill(element, ...children) {
  element.textContent = '';
  append(element, children);
  return element;
}

/** Sets the text of an element, and leaves the document alone if it is there already. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Settles when the browser has painted what was changed. @returns {Promise<void>} */
export function painted() {
  return new Promise((done) => {
    if (document.hidden) setTimeout(done); // nothing is painted now
    else requestAnimationFrame(() => setTimeout(done));
  });
}

/**
 * An icon: the path of a 16 × 16 drawing, stroked in the colour of the text.
 * @param {keyof typeof paths} name
 */
export function icon(name) {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', paths[name]);
  svg.append(path);
  return svg;
}

const paths = {
  left: 'M10 3L5 8l5 5',
  right: 'M6 3l5 5-5 5',
  down: 'M3 6l5 5 5-5',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  back: 'M6 3L2.5 6.5 6 10M3 6.5h6.5a3.5 3.5 0 010 7H7',
  sun: 'M8 5.2a2.8 2.8 0 100 5.6 2.8 2.8 0 000-5.6zM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8L13 13M3 13l1.2-1.2M11.8 4.2L13 3',
  moon: 'M13.4 9.6A5.8 5.8 0 016.4 2.6a5.8 5.8 0 107 7z',
  auto: 'M8 2a6 6 0 100 12A6 6 0 008 2zM8 2v12M10 4v8M12 6v4',
  cross: 'M4 4l8 8M12 4l-8 8',
  help: 'M5.6 6a2.4 2.4 0 114 1.8C8.7 8.5 8 9 8 10M8 12.5v.1',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  link: 'M6.5 9.5l3-3M7 4.5l1.5-1.5a2.8 2.8 0 014 4L11 8.5M9 11.5L7.5 13a2.8 2.8 0 01-4-4L5 7.5',
  table: 'M2 3h12v10H2zM2 6.5h12M2 10h12M6.5 6.5V13',
  bench: 'M2 2.5V13.5H14M4.5 10.5L7.5 6.5 10 9 14 3.5',
  folder: 'M2 4.5V13h12V5.5H8L6.5 3.5H2z',
  series: 'M2 11l3.5-4 3 2.5L14 4',
};

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child);
  }
}
