// The graph language of rrdtool, as far as the pages write and read it: arguments with colons.

/** Protects colons and backslashes in a part of an argument. */
export function guard(text) {
  return text.replace(/[\\:]/g, '\\$&');
}

/** The parts of an argument, split at colons that are not protected. @param {string} argument */
export function parts(argument) {
  const out = [''];
  for (let i = 0; i < argument.length; i++) {
    const c = argument[i];
    if (c === '\\' && i + 1 < argument.length && /[\\:]/.test(argument[i + 1])) out[out.length - 1] += argument[++i];
    else if (c === ':') out.push('');
    else out[out.length - 1] += c;
  }
  return out;
}

/** A word for the shell, in quotes where it needs them. */
export function shellWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * A command with one argument a line.
 * @param {string[]} words the first of them stay on one line: those that begin with the command
 * @param {string[]} args
 */
export function command(words, args) {
  return [words.map(shellWord).join(' '), ...args.map((a) => `  ${shellWord(a)}`)].join(' \\\n');
}

/** The address of a graph as a picture or as numbers. @param {string} format 'svg' @param {string[]} args */
export function graphURL(format, args, { from, to, width, height } = {}) {
  const q = new URLSearchParams();
  for (const [name, v] of Object.entries({ from, to, width, height })) if (v !== undefined) q.set(name, String(v));
  for (const a of args) q.append('arg', a);
  return `/graph.${format}?${q}`;
}

/**
 * The arguments of lines: an option and its value may share a line, with a blank between them. Empty
 * lines and those that begin with # are left out, blanks before a line too.
 * @param {string} text @returns {string[]}
 */
export function argsOf(text) {
  const out = [];
  for (const whole of text.split(/\r?\n/)) {
    const line = whole.trimStart();
    if (line === '' || line.startsWith('#')) continue;
    const option = /^(-\S*)\s+(.*\S)\s*$/.exec(line);
    if (option) out.push(option[1], option[2]);
    else out.push(line);
  }
  return out;
}

/** The lines of arguments: the reverse of argsOf. @param {string[]} args */
export function linesOfArgs(args) {
  const out = [];
  for (let i = 0; i < args.length; i++) {
    const next = args[i + 1];
    const inline = /^(-[^\s=]+)=(.*)$/.exec(args[i]);
    if (inline) out.push(`${inline[1]} ${inline[2]}`.trimEnd());
    else if (isOption(args[i]) && next !== undefined && !isOption(next, true) && !isElement(next)) out.push(`${args[i]} ${args[++i]}`);
    else out.push(args[i]);
  }
  return out;
}

/** True for an option. @param {string} arg @param {boolean} [strict] a negative number is no option */
export function isOption(arg, strict = false) {
  return strict ? /^-(-|[A-Za-z])/.test(arg) : arg.startsWith('-');
}

/** True for a DEF, a LINE or any other element of a graph. */
export function isElement(arg) {
  return /^(DEF|CDEF|VDEF|PROMQL|LINE[\d.]*|AREA|G?PRINT|COMMENT|[VH]RULE|TICK|SHIFT|STACK|TEXTALIGN|XPORT):/.test(arg);
}

/**
 * A page of graphs, as docs/dashboards.md has it.
 * @param {string} text @returns {{title: string, variables: string[], graphs: {title: string, args: string[]}[]}}
 */
export function pageOf(text) {
  const page = { title: '', variables: [], graphs: [] };
  let lines = null;
  for (const line of text.split(/\r?\n/)) {
    const head = /^\s*(title|variable|graph):\s*(.*?)\s*$/.exec(line);
    if (head?.[1] === 'graph') page.graphs.push({ title: head[2], lines: lines = [] });
    else if (head?.[1] === 'variable' && !lines) page.variables.push(head[2]);
    else if (head && !lines) page.title = head[2];
    else lines?.push(line);
  }
  page.graphs = page.graphs.map((g) => ({ title: g.title, args: argsOf(g.lines.join('\n')) }));
  return page;
}

/** A text with values in place of $NAME and ${NAME}. @param {string} text @param {Map<string, string>} values @param {(value: string) => string} [as] */
export function filled(text, values, as = (v) => v) {
  return text.replaceAll(/\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g, (found, a, b) => (values.has(a ?? b) ? as(values.get(a ?? b)) : found));
}

/** Arguments of a graph with values of variables: in a path as a part of it, in PromQL as a part of a string. */
export function filledArgs(args, values) {
  return args.map((a) => filled(a, values, a.startsWith('PROMQL:') ? (v) => v.replace(/[\\"]/g, '\\$&') : isElement(a) ? guard : undefined));
}

/** Names of variables: a, b … z, a1, b1 … that are not taken. @param {Set<string>} taken */
export function freeName(taken) {
  for (let i = 0; ; i++) {
    const name = String.fromCharCode(97 + i % 26) + (i >= 26 ? Math.floor(i / 26) : '');
    if (!taken.has(name)) return name;
  }
}
