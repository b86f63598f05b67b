import { Chart } from '../chart.js';
import { problem } from '../problem.js';
/** Comes next. */
export function show(root) { void Chart; root.append(problem('rondo', 'Host is being built.')); }
