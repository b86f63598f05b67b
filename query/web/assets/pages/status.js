import { problem } from '../problem.js';

/** Not there yet. */
export function show(root, url, context) {
  context.title('status');
  root.append(problem('Not there yet', 'This page comes with a later version.'));
}
