// What home shows while the store is empty: how to get the first data in.

import { el, fill, setText } from '../dom.js';
import { call } from '../rpc.js';

/** The first steps, with the addresses of this server. @param {object} context of the page */
export function welcome(context) {
  const state = el('p', { class: 'waiting', role: 'status' }, el('i', { class: 'dot' }), 'Waiting for the first sample. It appears here by itself.');
  const steps = el('div', { class: 'steps' });
  fill(steps, stepsFor(new Map()));
  call('Status', {}, context.signal).then((status) => {
    const ways = new Map((status.receivers || []).map((r) => [r.name, r.addr]));
    fill(steps, stepsFor(ways, status.database));
  }).catch(() => {});
  return el('div', { class: 'welcome' }, el('h1', {}, 'Nothing has come in yet'), state, steps);
}

function stepsFor(ways, database) {
  const collectd = split(ways.get('collectd') || '127.0.0.1:25826');
  const all = [
    ['One value, to try it', 'Each call sends one more.', `curl -d 'room,place=cellar celsius=21.5' ${location.origin}/write`],
    ['From this machine, with collectd', 'Add this to collectd.conf, in /etc or /etc/collectd, and restart collectd.',
      `LoadPlugin network\n<Plugin network>\n  Server "${collectd.host}" "${collectd.port}"\n</Plugin>`],
    ['From rrdtool’s world', 'create, update and all other verbs take rrdtool’s arguments. Send a value every ten seconds or so.',
      `${database ? `export RONDO_DB=${quoted(database)}\n` : ''}rondo create web1/load --step 10 DS:load:GAUGE:60:0:U RRA:AVERAGE:0.5:1:8640\nrondo update web1/load N:0.42`],
  ];
  if (ways.size && !ways.has('collectd')) all.splice(1, 1);
  if (ways.size && !ways.has('influx-http')) all.shift();
  return all.map(([title, text, code]) => el('section', {}, el('h2', {}, title), el('p', { class: 'soft' }, text), codeBox(code)));
}

// quoted makes a path one word of a shell.
const quoted = (path) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

function split(address) {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[|\]$/g, '');
  return { host: host === '' || host === '::' || host === '0.0.0.0' ? location.hostname : host, port: address.slice(at + 1) };
}

/** Text to copy, with a button for it. */
export function codeBox(code) {
  const button = el('button', { type: 'button', class: 'copy' }, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(code);
      setText(button, 'Copied');
    } catch {
      setText(button, 'Select it, please'); // the clipboard is for https and localhost only
    }
    setTimeout(() => setText(button, 'Copy'), 1500);
  });
  return el('div', { class: 'code' }, el('pre', { tabindex: '0' }, code), button);
}
