import { waiting } from '../../assets/waiting.js';
import { equal, test } from './check.js';

const stats = (series) => {
  globalThis.fetch = async () => new Response(JSON.stringify({ series }));
};

test('a page that waits for the names says so until they are there', async () => {
  stats('1000000');
  const root = document.createElement('main');
  let give;
  const answer = waiting(root, new Promise((resolve) => { give = resolve; }), new AbortController().signal, 0);
  while (!root.textContent.includes('1,000,000 series')) await new Promise((next) => setTimeout(next, 5));
  equal(root.querySelectorAll('[role=status]').length, 1);
  give('names');
  equal(await answer, 'names');
  equal(root.children.length, 0);
});

test('a quick answer is shown without a note', async () => {
  const root = document.createElement('main');
  equal(await waiting(root, Promise.resolve(1), new AbortController().signal, 1e6), 1);
  equal(root.children.length, 0);
});

test('the note goes when the answer fails', async () => {
  stats('5');
  const root = document.createElement('main');
  let fail;
  const answer = waiting(root, new Promise((_, reject) => { fail = reject; }), new AbortController().signal, 0);
  while (!root.children.length) await new Promise((next) => setTimeout(next, 5));
  fail(new Error('gone'));
  const said = await answer.catch((error) => error.message);
  equal(said, 'gone');
  equal(root.children.length, 0);
});
