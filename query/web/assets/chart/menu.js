// The menu of a chart: what can be made of what it shows.

import { csv } from '../definition.js';
import { el } from '../dom.js';
import { save } from '../transfer.js';
import { png, svg } from './picture.js';

/**
 * @typedef {object} Entry
 * @property {string} label
 * @property {(chart: import('../chart.js').Chart) => any} run
 * @property {(chart: import('../chart.js').Chart) => boolean} [fits] whether the chart's menu has it; left out: always
 */

/** What the menus offer, in this order. Other modules may add to it. @type {Entry[]} */
export const entries = [
  { label: 'PNG', run: async (chart) => save(`${chart.name}.png`, await png(chart), 'image/png') },
  { label: 'SVG', run: (chart) => save(`${chart.name}.svg`, svg(chart), 'image/svg+xml') },
  { label: 'CSV', run: (chart) => save(`${chart.name}.csv`, csv(chart.table()), 'text/csv') },
];

/** Opens the menu of a chart below a button. @param {HTMLElement} button @param {import('../chart.js').Chart} chart */
export function openMenu(button, chart) {
  const items = entries.filter((e) => e.fits?.(chart) ?? true).map((e) => el('button', {
    type: 'button', role: 'menuitem', onclick: () => { menu.hidePopover(); e.run(chart); },
  }, e.label));
  const menu = el('div', { class: 'menu', role: 'menu', popover: 'auto', 'aria-label': button.title }, items);
  menu.addEventListener('keydown', (event) => {
    const at = items.indexOf(document.activeElement), by = { ArrowDown: 1, ArrowUp: items.length - 1 }[event.key];
    if (by) items[(at + by) % items.length].focus();
    else if (event.key === 'Escape') menu.hidePopover();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  menu.addEventListener('toggle', (event) => {
    button.setAttribute('aria-expanded', String(event.newState === 'open'));
    if (event.newState === 'closed') menu.remove();
  });
  button.after(menu);
  menu.showPopover();
  const place = button.getBoundingClientRect();
  menu.style.top = `${place.bottom + scrollY + 4}px`;
  menu.style.left = `${Math.max(4, place.right + scrollX - menu.offsetWidth)}px`;
  items[0].focus();
}
