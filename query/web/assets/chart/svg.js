// What a canvas draws, as SVG: as much of its interface as charts need.

const measure = document.createElement('canvas').getContext('2d');
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const short = (v) => String(Math.round(v * 100) / 100);

export class SVG {
  #out = []; #path = ''; #width; #height; #states = []; #open = [0]; #dash = []; #clips = 0;
  font = '12px sans-serif'; fillStyle = '#000'; strokeStyle = '#000'; lineWidth = 1; globalAlpha = 1;
  textAlign = 'left'; textBaseline = 'alphabetic'; lineJoin = 'miter';

  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.#width = width;
    this.#height = height;
  }

  save() {
    const { font, fillStyle, strokeStyle, lineWidth, globalAlpha, textAlign, textBaseline, lineJoin } = this;
    this.#states.push({ font, fillStyle, strokeStyle, lineWidth, globalAlpha, textAlign, textBaseline, lineJoin });
    this.#open.push(0);
  }

  restore() {
    Object.assign(this, this.#states.pop());
    this.#out.push('</g>'.repeat(this.#open.pop()));
  }

  translate(x, y) { this.#group(`transform="translate(${short(x)} ${short(y)})"`); }
  beginPath() { this.#path = ''; }
  moveTo(x, y) { this.#path += `M${short(x)} ${short(y)}`; }
  lineTo(x, y) { this.#path += `L${short(x)} ${short(y)}`; }
  closePath() { this.#path += 'Z'; }
  rect(x, y, width, height) { this.#path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`; }
  setLineDash(dash) { this.#dash = dash; }

  clip() {
    const id = `c${++this.#clips}`;
    this.#out.push(`<clipPath id="${id}"><path d="${this.#path}"/></clipPath>`);
    this.#group(`clip-path="url(#${id})"`);
  }

  stroke() {
    const dash = this.#dash.length ? ` stroke-dasharray="${this.#dash.map(short).join(' ')}"` : '';
    this.#out.push(`<path d="${this.#path}" fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}" stroke-linejoin="${this.lineJoin}"${dash}${this.#alpha()}/>`);
  }

  fill() { this.#out.push(`<path d="${this.#path}" fill="${escaped(this.fillStyle)}"${this.#alpha()}/>`); }

  fillRect(x, y, width, height) {
    this.#out.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${escaped(this.fillStyle)}"${this.#alpha()}/>`);
  }

  fillText(text, x, y) {
    const anchor = { right: 'end', center: 'middle' }[this.textAlign] || 'start';
    const [, weight, size, family] = /^(\d+ )?(\d+px) (.*)$/.exec(this.font);
    const down = { middle: 0.35, top: 0.8 }[this.textBaseline] || 0; // not every reader knows dominant-baseline
    this.#out.push(`<text x="${short(x)}" y="${short(y + down * parseFloat(size))}" text-anchor="${anchor}" font-size="${size}"${weight ? ` font-weight="${weight.trim()}"` : ''} font-family="${escaped(family)}" fill="${escaped(this.fillStyle)}">${escaped(text)}</text>`);
  }

  strokeText() { /* a halo, which paper does not need */ }

  measureText(text) {
    measure.font = this.font;
    return measure.measureText(text);
  }

  #alpha() { return this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : ''; }

  #group(attributes) {
    this.#out.push(`<g ${attributes}>`);
    this.#open[this.#open.length - 1]++;
  }

  /** The whole picture. */
  text() {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.#width}" height="${this.#height}" viewBox="0 0 ${this.#width} ${this.#height}">${this.#out.join('')}${'</g>'.repeat(this.#open[0])}</svg>\n`;
  }
}
