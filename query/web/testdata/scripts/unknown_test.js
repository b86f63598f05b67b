import { nearby, unknown } from '../../assets/unknown.js';
import { equal, test } from './check.js';

test('texts that are near a path, the nearest first', () => {
  equal(nearby('collectd/web1/load-x/load'), ['collectd/web1/load-x/load', 'collectd web1 load load', 'load', 'coll we lo lo', 'collectd/web1/load-x', 'collectd/web1']);
  equal(nearby('x'), ['x']);
  equal(nearby('///'), ['///']);
});

const answers = (all) => {
  globalThis.fetch = async (_, { body }) => new Response(JSON.stringify({ hits: all[JSON.parse(body).text] }));
};

test('a folder leads to its page, a wrong name to names like it', async () => {
  answers({ 'a/b': [{ path: 'a/b', folder: true }, { path: 'a/b/c' }] });
  let root = document.createElement('main');
  await unknown(root, { title: 'No such series', text: 'text', path: 'a/b' }, new AbortController().signal);
  equal([...root.querySelectorAll('.results a')].map((a) => a.getAttribute('href')), ['/host/a/b']);

  answers({ 'a/zz': undefined, 'zz': [{ path: 'b/zz' }] });
  root = document.createElement('main');
  await unknown(root, { title: 'No such series', text: 'text', path: 'a/zz' }, new AbortController().signal);
  equal([...root.querySelectorAll('.results a')].map((a) => a.getAttribute('href')), ['/series/b/zz']);
});
