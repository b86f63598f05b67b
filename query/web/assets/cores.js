// The processors of a host: one chart for all of them, and those of each core behind it.

const isCore = (chart) => chart.stack && /(^|\/)cpu-\d+$/.test(chart.id || '');
const most = 64; // cores that are added up

/**
 * Takes the charts of cores out of a list, and puts one of all before the other charts of their host.
 * @param {object[]} charts messages Chart @returns {{charts: object[], cores: object[]}} cores: those taken out
 */
export function foldCores(charts) {
  const hosts = Map.groupBy(charts.filter(isCore), (c) => c.id.slice(0, c.id.lastIndexOf('cpu-')));
  const folded = new Set(), totals = new Map();
  for (const [base, cores] of hosts) {
    if (cores.length < 2) continue;
    for (const core of cores) folded.add(core);
    const whole = charts.some((c) => c.id === `${base}cpu` || c.id.startsWith(`${base}aggregation-cpu-`));
    if (!whole && cores.length <= most) totals.set(charts.find((c) => c.id.startsWith(base) && (c.group === 'CPU' || isCore(c))), total(base, cores));
  }
  const list = charts.flatMap((c) => [totals.get(c), folded.has(c) ? null : c]).filter(Boolean);
  return { charts: list, cores: charts.filter((c) => folded.has(c)) };
}

// Each line adds up the lines of the same name.
function total(base, cores) {
  const labels = new Map();
  for (const line of cores.flatMap((c) => c.lines || [])) labels.set(line.label, [...(labels.get(line.label) || []), line]);
  const lines = [...labels.values()].map(([first, ...sum]) => ({ ...first, minCf: undefined, maxCf: undefined, sum }));
  return { ...cores[0], id: `${base}cpu-all`, title: `All ${cores.length} cores`, group: 'CPU', arg: undefined, percent: true, lines };
}
