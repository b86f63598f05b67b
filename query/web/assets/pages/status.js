// The status of the server: what is wrong, what comes in and from whom, and how the engine does.

import { Chart } from '../chart.js';
import { Crosshair } from '../crosshair.js';
import { fetchMany } from '../data.js';
import { el, fill, setText } from '../dom.js';
import * as format from '../format.js';
import { repeat } from '../live.js';
import { problem, Problems } from '../problem.js';
import { call, num, RPCError } from '../rpc.js';
import { Sheet } from '../sheet.js';
import { hostURL, seriesURL } from '../state.js';
import { styles } from '../styles.js';

const every = 5; // seconds between two looks
const history = 3600; // seconds that the charts show
const senders = 500;

/** Shows the server itself. @type {import('../pages.js').Show} */
export async function show(root, url, context) {
  context.title('Status');
  await styles(new URL('status.css', import.meta.url));
  let answer;
  try {
    answer = await call('Status', { senders }, context.signal);
  } catch (error) {
    if (error.name !== 'AbortError') root.append(problem('The status cannot be had', error.message));
    return undefined;
  }
  const parts = [new Head(), new Problems(), new Engine(), new Cluster(), new History(context), new Receivers(), new Senders(), new Ways()];
  root.append(...parts.map((p) => p.element));
  const update = (a) => parts.forEach((p) => p.update(a));
  update(answer);
  let away = false;
  repeat(async () => {
    try {
      update(await call('Status', { senders }, context.signal));
      away = false;
    } catch (error) {
      if (error instanceof RPCError && !away) {
        away = true;
        parts[0].away(error.message);
      }
      throw error;
    }
  }, () => every, context.signal);
  return () => parts.forEach((p) => p.end?.());
}

/** What the page says first. @param {object[]} problems @returns {{words: string, look: string}} */
export function verdict(problems = []) {
  const of = (severity) => problems.filter((p) => p.severity === severity).length;
  const errors = of('error'), warnings = of('warning');
  const several = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;
  if (errors) return { words: several(errors, 'error') + (warnings ? `, ${several(warnings, 'warning')}` : ''), look: 'bad' };
  if (warnings) return { words: several(warnings, 'warning'), look: 'warn' };
  return { words: 'All is well', look: 'good' };
}

class Head {
  #verdict = el('span', { class: 'verdict' });
  #facts = el('p', { class: 'soft status-facts' });
  element = el('header', { class: 'status-head' }, el('h1', {}, 'Status'), this.#verdict, this.#facts);

  update(a) {
    const { words, look } = verdict(a.problems);
    setText(this.#verdict, words);
    this.#verdict.className = `verdict ${look}`;
    const up = (num(a.nowUs) - num(a.startedUs)) / 1e6;
    setText(this.#facts, `rondo ${a.version || ''} · up ${format.duration(up)}, since ${format.time(num(a.startedUs) / 1e6)} · ${a.database}`);
  }

  away(message) {
    this.#verdict.className = 'verdict bad';
    setText(this.#verdict, 'No answer');
    setText(this.#facts, `${message}. What you see is from before; the page tries again.`);
  }
}

// The figures of the engine, as tiles: a name, a value, and what it is measured by.
class Engine {
  #tiles = new Map();
  #list = el('dl', { class: 'tiles' });
  element = el('section', {}, el('h2', { class: 'unseen' }, 'Engine'), this.#list);

  update(a) {
    const e = a.engine || {};
    const bytes = (v) => format.value(num(v), { unit: 'B', base: 1024 });
    this.#tile('Samples stored', `${format.value(e.sampleRate || 0, { unit: '/s' })}`, `${format.count(num(e.samples))} since the start`);
    const lost = num(e.samplesLate) + num(e.samplesRefused);
    this.#tile('Series', format.count(num(e.series)), `of ${format.count(num(e.seriesLimit))} at most`, num(e.series) / num(e.seriesLimit));
    this.#tile('Late or refused', format.count(lost), `${format.count(num(e.samplesLate))} late, ${format.count(num(e.samplesRefused))} refused`);
    this.#tile('Until durable', e.appendSeconds ? format.value(e.appendSeconds, { unit: 's' }) : '–', 'mean of a batch in the last minute');
    this.#tile('Memory of the store', bytes(e.memoryBytes), `of ${bytes(e.memoryBudgetBytes)}; the process has ${bytes(e.residentBytes)}`, num(e.memoryBytes) / num(e.memoryBudgetBytes));
    this.#tile('Processor', format.value(100 * (e.processors || 0), { unit: '%' }), 'of one processor, in the last minute');
    const written = format.value(e.logRate || 0, { unit: 'B/s', base: 1024 });
    if (a.cluster) this.#tile('Log', '–', 'the servers of NATS keep it');
    else this.#tile('Log', bytes(e.logBytes), `${written} written`);
    this.#tile('Checkpoints', format.count(num(e.checkpoints)), e.checkpointSeconds ? `last took ${format.value(e.checkpointSeconds, { unit: 's' })}` : 'none so far');
    this.#tile('Database file', bytes(e.databaseBytes), `${bytes(e.databaseFreeBytes)} of it free`);
    const size = num(e.diskBytes), left = num(e.diskFreeBytes);
    this.#tile('Disk', size ? `${bytes(left)} free` : '–', size ? `of ${bytes(size)}` : 'its space is not known', size ? 1 - left / size : undefined);
  }

  #tile(name, value, words, part) {
    let tile = this.#tiles.get(name);
    if (!tile) {
      tile = { value: el('b'), words: el('span', { class: 'soft' }), bar: null };
      this.#tiles.set(name, tile);
      tile.element = el('div', { class: 'tile' }, el('dt', { class: 'soft' }, name), el('dd', {}, tile.value, tile.words));
      this.#list.append(tile.element);
    }
    setText(tile.value, value);
    setText(tile.words, words);
    if (!(part >= 0)) return;
    if (!tile.bar) {
      tile.bar = el('i', { class: 'meter', 'aria-hidden': 'true' }, el('i'));
      tile.element.append(tile.bar);
    }
    tile.bar.firstChild.style.width = `${Math.min(100, Math.max(part > 0 ? 1 : 0, part * 100))}%`;
    tile.bar.className = part > 0.9 ? 'meter warn' : 'meter';
  }
}

// The cluster that the server is a node of: its nodes, and who has which partition.
class Cluster {
  #title = el('h2', {}, 'Cluster');
  #totals = el('p', { class: 'soft' });
  #nodes = new Sheet([
    { name: 'Node', value: (n) => n.name },
    { name: 'State', value: (n) => n.state + (n.silentSeconds ? ` ${format.duration(n.silentSeconds)}` : ''), nodes: (n) => stateOf(n.state, n.silentSeconds ? ` ${format.duration(n.silentSeconds)}` : '') },
    { name: 'Leads', number: true, value: (n) => n.leads || 0 },
    { name: 'Replicas', number: true, value: (n) => n.replicas || 0 },
    { name: 'Current', number: true, value: (n) => n.current || 0 },
    { name: 'Behind', number: true, value: (n) => num(n.lag), text: (n) => format.count(num(n.lag)), title: 'Records of the logs that its replicas have not applied, together' },
    { name: 'Address', wide: true, value: (n) => n.address || '' },
    { name: 'Zone', wide: true, value: (n) => n.zone || '' },
    { name: 'Version', wide: true, value: (n) => n.version || '' },
  ], { caption: 'Nodes of the cluster', key: (n) => n.name, empty: 'No node is known.' });

  #partitions = new Sheet([
    { name: 'Partition', number: true, value: (p) => p.number || 0 },
    { name: 'Leader', value: (p) => p.leader || '', nodes: (p) => (p.leader ? el('span', {}, p.leader) : el('span', { class: 'chip warn' }, 'nobody')) },
    { name: 'Replicas', value: (p) => (p.replicas || []).map((r) => `${r.node} ${r.state}`).join(', '), nodes: (p) => (p.replicas || []).map(replica) },
    { name: 'Record', number: true, value: furthest, text: (p) => format.count(furthest(p)), title: 'The newest record of its log that a replica has applied' },
    { name: 'Behind', number: true, value: (p) => Math.max(0, ...(p.replicas || []).map((r) => num(r.lag))), text: (p) => format.count(Math.max(0, ...(p.replicas || []).map((r) => num(r.lag)))), title: 'Records that the slowest replica has not applied' },
    { name: 'Remark', value: remark },
  ], { caption: 'Partitions of the cluster', key: (p) => String(p.number || 0), empty: 'There is no partition yet.' });

  element = el('section', { hidden: true, class: 'status-cluster' }, this.#title, this.#totals, this.#nodes.element, this.#partitions.element);

  update(a) {
    const c = a.cluster;
    this.element.hidden = !c;
    if (!c) return;
    const partitions = c.partitions || [], nodes = c.nodes || [];
    setText(this.#title, `Cluster ${c.name || ''}`);
    const led = partitions.filter((p) => p.leader).length;
    const current = nodes.reduce((n, x) => n + (x.current || 0), 0);
    setText(this.#totals, `${led} of ${partitions.length} partitions have a leader, ${current} of ${partitions.length * (c.replicas || 0)} replicas are current, `
      + `${nodes.filter((n) => !n.silentSeconds).length} of ${nodes.length} nodes live. This node is ${c.node || 'none of them'}.`);
    this.#nodes.update(nodes);
    this.#partitions.update(partitions);
  }
}

const furthest = (p) => Math.max(0, ...(p.replicas || []).map((r) => num(r.position)));

function stateOf(state, more = '') {
  const good = ['live', 'leads', 'current'].includes(state);
  return el('span', { class: good ? '' : 'chip warn' }, state + more);
}

function replica(r) {
  const good = r.state === 'leads' || r.state === 'current';
  return el('span', { class: good ? 'chip' : 'chip warn', title: r.reason || `record ${num(r.position)}, checkpoint ${num(r.checkpoint)}` },
    good ? r.node : `${r.node} ${r.state}`);
}

function remark(p) {
  const words = [];
  if (p.problem) words.push(p.problem);
  if (p.moveTo) words.push(p.moveFrom ? `moves from ${p.moveFrom} to ${p.moveTo}` : `gets a replica on ${p.moveTo}`);
  if (p.held) words.push('held');
  return words.join('; ');
}

// The last hour, from the series that the server keeps about itself.
class History {
  #charts = [];
  #prefix = '';
  #context; #timer = 0;
  element = el('section', {}, el('h2', {}, 'The last hour'), el('div', { class: 'status-charts' }));

  constructor(context) {
    this.#context = context;
    const crosshair = new Crosshair();
    const wanted = [
      { title: 'Samples stored', unit: '/s', lines: [['samples', 'stored'], ['samples_late', 'late'], ['samples_refused', 'refused']] },
      { title: 'Memory', unit: 'B', base: 1024, lines: [['memory_bytes', 'store'], ['heap_bytes', 'heap'], ['resident_bytes', 'process']] },
      { title: 'Log', unit: 'B', base: 1024, lines: [['log_bytes', 'length']] },
      { title: 'Processor', unit: '%', factor: 100, lines: [['cpu_seconds', 'of one processor']] },
    ];
    for (const w of wanted) {
      const box = el('div');
      this.element.lastElementChild.append(box);
      this.#charts.push({ ...w, chart: new Chart(box, { title: w.title, unit: w.unit, base: w.base, height: 120, lower: 0, crosshair }) });
    }
  }

  update(a) {
    this.#prefix = a.ownPrefix || 'rondo';
    const now = Date.now() / 1000;
    for (const c of this.#charts) c.chart.setRange(now - history, now);
    if (now < this.#timer) return;
    this.#timer = now + 2 * every; // a row is 10 seconds
    this.#load(now).catch(() => {}); // the next look tries again
  }

  async #load(now) {
    const select = this.#charts.flatMap((c) => c.lines.map(([name]) => ({ path: `${this.#prefix}/${name}`, cf: 'AVERAGE' })));
    const rows = await fetchMany(select, { from: now - history, to: now, points: 360 }, this.#context.signal);
    let i = 0;
    for (const c of this.#charts) {
      const lines = [];
      for (const [name, label] of c.lines) {
        const r = rows[i++];
        const values = r.columns?.values().next().value;
        if (values) lines.push({ label, start: r.start, step: r.step, end: r.end, values: c.factor ? values.map((v) => v * c.factor) : values, href: seriesURL(`${this.#prefix}/${name}`) });
      }
      c.chart.setLines(lines);
      if (!lines.length) c.chart.setMessage('No figures yet: the first come after 20 seconds.');
    }
  }

  end() {
    for (const c of this.#charts) c.chart.destroy();
  }
}

class Receivers {
  #sheet = new Sheet([
    { name: 'Receiver', value: (r) => r.name },
    { name: 'Listens at', value: (r) => r.addr, nodes: (r) => el('code', {}, r.addr) },
    { name: 'Samples/s', number: true, value: (r) => r.sampleRate || 0, text: (r) => format.value(r.sampleRate || 0) },
    { name: 'Packets/s', number: true, wide: true, value: (r) => r.packetRate || 0, text: (r) => format.value(r.packetRate || 0) },
    { name: 'Samples', number: true, value: (r) => num(r.samples), text: (r) => format.count(num(r.samples)) },
    { name: 'Series', number: true, value: (r) => num(r.series), text: (r) => format.count(num(r.series)) },
    { name: 'Senders', number: true, value: (r) => num(r.senders), text: (r) => format.count(num(r.senders)) },
    { name: 'Connections', number: true, wide: true, value: (r) => num(r.connections), text: (r) => format.count(num(r.connections)) },
    { name: 'Not stored', value: (r) => JSON.stringify(r.dropped || []), nodes: (r) => dropped(r.dropped) },
  ], { caption: 'Receivers', key: (r) => r.name, empty: 'No receiver is on.' });

  element = el('section', {}, el('h2', {}, 'Receivers'), this.#sheet.element);

  update(a) { this.#sheet.update(a.receivers || []); }
}

const reasons = {
  truncated: 'packets that end too early', malformed: 'not as the protocol wants', unsupported: 'a kind or version not known',
  auth: 'password or signature wrong or missing', checksum: 'damaged on the way', limit: 'over a limit', state: 'time or series do not fit',
  late: 'not after the last sample', overload: 'the store did not keep up', failed: 'the store returned an error',
  foreign: 'HTTP or TLS at this port', kernel: 'lost because the socket’s buffer was full',
};

function dropped(list = []) {
  if (!list.length) return [el('span', { class: 'soft' }, 'nothing')];
  return list.map((d) => el('span', { class: d.rate > 0 ? 'chip warn' : 'chip', title: reasons[d.reason] || '' },
    `${d.reason} ${format.count(num(d.count))}`));
}

class Senders {
  #last = new Map(); // key → {samples, now}
  #more = el('p', { class: 'soft' });
  #now = 0;
  #sheet = new Sheet([
    { name: 'Sender', value: (s) => s.name, nodes: (s) => (s.folder ? el('a', { href: hostURL(s.folder), title: s.folder }, s.name || '(no name)') : el('span', {}, s.name || '(no name)')) },
    { name: 'Receiver', value: (s) => s.receiver || s.prefix || '' },
    { name: 'Last heard', number: true, value: (s) => num(s.lastUs), text: (s) => format.ago(num(s.lastUs) / 1e6, this.#now) },
    { name: 'First heard', number: true, wide: true, value: (s) => num(s.firstUs), text: (s) => format.ago(num(s.firstUs) / 1e6, this.#now) },
    { name: 'Samples/s', number: true, value: (s) => s.rate ?? 0, text: (s) => (s.rate === undefined ? '–' : format.value(s.rate)), title: 'In the last minute; when the page was just opened, since the first was heard' },
    { name: 'Samples', number: true, value: (s) => num(s.samples), text: (s) => format.count(num(s.samples)) },
    { name: 'Series', number: true, value: (s) => num(s.series), text: (s) => format.count(num(s.series)) },
  ], { caption: 'Senders', key: keyOf, empty: 'Nobody has sent anything since the server began.' });

  element = el('section', {}, el('h2', {}, 'Senders'), this.#sheet.element, this.#more);

  update(a) {
    this.#now = num(a.nowUs) / 1e6;
    const list = a.senders || [];
    for (const s of list) s.rate = rateOf(this.#last, keyOf(s), num(s.samples), this.#now, num(s.firstUs) / 1e6);
    this.#sheet.update(list);
    const total = num(a.sendersTotal);
    this.#more.hidden = total <= list.length;
    setText(this.#more, `The ${format.count(list.length)} heard last, of ${format.count(total)}.`);
  }
}

const keyOf = (s) => `${s.prefix} ${s.name}`;

/**
 * The rate of a counter over the last minute, as far as it was looked at; before, since it was 0.
 * @param {Map<string, {count: number, at: number}[]>} seen @param {string} key @param {number} began when it was 0
 */
export function rateOf(seen, key, count, at, began) {
  const looks = seen.get(key) || [];
  seen.set(key, looks);
  if (looks.length && count < looks[looks.length - 1].count) looks.length = 0; // the server began anew
  looks.push({ count, at });
  while (looks.length > 2 && at - looks[1].at >= 60) looks.shift();
  const first = at - looks[0].at >= 60 ? looks[0] : { count: 0, at: began };
  return at > first.at ? (count - first.count) / (at - first.at) : undefined;
}

// Every address, and what else the port serves.
class Ways {
  #sheet = new Sheet([
    { name: 'Listener', value: (l) => l.name },
    { name: 'Address', value: (l) => l.addr || '', nodes: (l) => el('code', {}, l.addr || 'files') },
    { name: 'Network', value: (l) => l.network },
    { name: 'Reached by', value: (l) => (l.reachable ? 'other machines, too' : 'this machine only') },
  ], { caption: 'Listeners', key: (l) => `${l.name} ${l.addr}` });

  #link(href, words) { return el('li', {}, el('a', { href, target: '_blank', rel: 'noopener' }, href), ' ', words); }

  element = el('section', {}, el('h2', {}, 'Ways in and out'), this.#sheet.element, el('ul', { class: 'ways' },
    this.#link('/metrics', 'counters for Prometheus'), this.#link('/-/healthy', 'for load balancers, as /-/ready'),
    this.#link('/rondo.proto', 'the methods below /rondo.v1.Rondo/, by Connect, gRPC, gRPC-Web or JSON')),
  el('pre', { class: 'example', tabindex: '0' }, `curl -H 'Content-Type: application/json' -d '{"path":"rondo/samples","start":"-10min"}' \\\n     ${location.origin}/rondo.v1.Rondo/Fetch`));

  update(a) { this.#sheet.update(a.listeners || []); }
}
