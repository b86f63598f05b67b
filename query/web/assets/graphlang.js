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

/** Names of variables: a, b … z, a1, b1 … that are not taken. @param {Set<string>} taken */
export function freeName(taken) {
  for (let i = 0; ; i++) {
    const name = String.fromCharCode(97 + i % 26) + (i >= 26 ? Math.floor(i / 26) : '');
    if (!taken.has(name)) return name;
  }
}
