import { problem } from '../problem.js';
/** Comes next. */
export function show(root) { root.append(problem('rondo', 'Home is being built.')); }
