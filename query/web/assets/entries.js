// What pages add to the menu of a chart.

import { entries } from './chart/menu.js';
import { readGraph } from './graphmodel.js';
import { showAllHosts } from './hosts.js';
import { saveDialog } from './savegraph.js';

/** Adds the entries. @param {() => {signal: AbortSignal, go: (address: string) => any}} context of the page that is shown */
export function addEntries(context) {
  const fits = (chart) => Boolean(chart.options.graph?.().length);
  entries.push(
    { label: 'Add to dashboard', fits, run: (chart) => saveDialog(context(), chart.options.title || '', chart.options.graph()) },
    {
      label: 'All hosts on one chart', fits: (chart) => fits(chart) && readGraph(chart.options.graph()).series.length > 0,
      run: (chart) => showAllHosts(context(), chart).catch((error) => { if (error.name !== 'AbortError') chart.setMessage(`Not of all hosts: ${error.message}`); }),
    },
  );
}
