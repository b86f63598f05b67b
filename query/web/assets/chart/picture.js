// A chart as a file: its title, what it draws, and its legend with the values.

import { zone } from '../clock.js';
import { span } from '../format.js';
import { inks } from '../theme.js';
import { SVG } from './svg.js';

const side = 16, row = 18, top = 50;

/** A chart as PNG, of twice the pixels that it has in the page. @param {import('../chart.js').Chart} chart @returns {Promise<Blob>} */
export function png(chart) {
  const { width, height } = sizeOf(chart), canvas = document.createElement('canvas');
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  const g = canvas.getContext('2d');
  g.scale(2, 2);
  draw(chart, g, width, height);
  return new Promise((done) => { canvas.toBlob(done, 'image/png'); });
}

/** A chart as SVG. @param {import('../chart.js').Chart} chart @returns {string} */
export function svg(chart) {
  const { width, height } = sizeOf(chart), g = new SVG(width, height);
  draw(chart, g, width, height);
  return g.text();
}

function sizeOf(chart) {
  const width = Math.max(640, chart.width) + 2 * side;
  return { width, height: top + chart.options.height + (chart.legend().length + 1) * row + side };
}

function draw(chart, g, width, height) {
  const ink = inks(), o = chart.options, { from, to } = chart.range;
  g.fillStyle = ink.surface;
  g.fillRect(0, 0, width, height);
  const text = (words, x, y, align = 'left', colour = ink.text, font = '12px') => {
    g.font = `${font} ${ink.font}`;
    g.textAlign = align;
    g.textBaseline = 'alphabetic';
    g.fillStyle = colour;
    g.fillText(words, x, y);
  };
  const subject = document.title.replace(/ · rondo$/, '');
  text([subject, o.title].filter(Boolean).join(': '), side, 22, 'left', ink.text, '600 14px');
  text([o.unit, `${span(from, to)}, ${zone()}`].filter(Boolean).join(' · '), side, 40, 'left', ink.soft, '11px');
  g.save();
  g.translate(side, top);
  chart.paint(g, width - 2 * side);
  g.restore();
  const columns = [0, 1, 2, 3].map((i) => width - side - (3 - i) * 104);
  let y = top + o.height + row - 4;
  ['last', 'min', 'avg', 'max'].forEach((name, i) => text(name, columns[i], y, 'right', ink.soft, '11px'));
  for (const { colour, label, values } of chart.legend()) {
    y += row;
    g.fillStyle = colour;
    g.fillRect(side, y - 6, 12, 4);
    text(label.length > 60 ? `${label.slice(0, 59)}…` : label, side + 19, y);
    values.forEach((value, i) => text(value, columns[i], y, 'right', i ? ink.soft : ink.text));
  }
}
