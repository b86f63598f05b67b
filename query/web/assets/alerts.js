// What rules say: the count in the navigation, and which alerts name a host.

import { setText } from './dom.js';
import { repeat } from './live.js';
import { call, num } from './rpc.js';

const every = 30; // seconds between two looks
const names = ['instance', 'host', 'hostname', 'node', 'nodename']; // labels that name a host
let firing = [];
const listeners = new Set();

/** Asks for the alerts, and shows everywhere how many fire. @param {AbortSignal} [signal] @returns {Promise<any>} the answer of Alerts */
export async function lookAtAlerts(signal) {
  const answer = await call('Alerts', {}, signal);
  firing = (answer.alerts || []).filter((a) => a.state === 'firing');
  const count = num(answer.firing);
  const badge = document.getElementById('firing');
  badge.hidden = !count;
  setText(badge, count ? String(count) : '');
  badge.title = count === 1 ? '1 alert fires' : `${count} alerts fire`;
  for (const tell of listeners) tell();
  return answer;
}

/** Looks at the alerts as long as the page is open; not for a user who may not see them. */
export function watchAlerts() {
  const end = new AbortController();
  const look = () => lookAtAlerts().catch((error) => {
    if (['permission_denied', 'unimplemented'].includes(error.code)) end.abort();
    throw error;
  });
  look().catch(() => {}); // the next look tries again
  repeat(look, () => every, end.signal);
}

/** Calls tell() when other alerts may fire. @param {() => void} tell @param {AbortSignal} signal ends it */
export function onAlerts(tell, signal) {
  listeners.add(tell);
  signal.addEventListener('abort', () => listeners.delete(tell));
}

/** The alerts that fire and whose labels name a part of a path. @param {string} path @returns {object[]} */
export function alertsOf(path) {
  const parts = path.split('/');
  return firing.filter((a) => (a.labels || []).some((l) => names.includes(l.name) && parts.includes(hostOf(l.value))));
}

const hostOf = (value = '') => value.replace(/:\d+$/, '');

/** The text of an annotation, or ''. @param {object} alert @param {string} name */
export function noteOf(alert, name) {
  return (alert.annotations || []).find((n) => n.name === name)?.value || '';
}
