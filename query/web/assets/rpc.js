// The one way to the server: the public RPC, as JSON. The server writes the answers that a page begins
// with into the page: they are taken from there.

/** An error that the server gave, or `unavailable` if it could not be reached. */
export class RPCError extends Error {
  /** @param {string} code one of Connect's codes, `not_found` say @param {string} message */
  constructor(code, message) {
    super(message);
    this.name = 'RPCError';
    this.code = code;
  }
}

/**
 * Calls a method of rondo.v1.Rondo.
 *
 * Answers are proto3's JSON: names as `lastUpdateUs`, 64-bit integers as strings, fields that are
 * zero left out, unknown values as "NaN". Use `num` and `floats` of this module to read them.
 *
 * @param {string} method `Fetch`
 * @param {object} message
 * @param {AbortSignal} [signal] ends the call; the promise is rejected with an AbortError
 * @returns {Promise<any>} rejected with an RPCError if the server refuses or is away
 */
export async function call(method, message, signal) {
  const given = take(method, message);
  if (given) {
    if (given.error) throw new RPCError(given.error.code, given.error.message);
    return given.answer;
  }
  const response = await reach(method, JSON.stringify(message), signal);
  if (response.ok) return response.json();
  let said = {};
  try {
    said = await response.json();
  } catch { /* not rondo's own answer */ }
  throw new RPCError(said.code || 'internal', said.message || `the server answers ${response.status}`);
}

async function reach(method, body, signal) {
  try {
    return await fetch(`/rondo.v1.Rondo/${method}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body, signal,
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new RPCError('unavailable', 'the server does not answer');
  }
}

/** Calls a method and waits for the answer, as a page must that is being printed. @returns {any} undefined if there is none */
export function callNow(method, message) {
  const request = new XMLHttpRequest();
  request.open('POST', `/rondo.v1.Rondo/${method}`, false);
  request.setRequestHeader('Content-Type', 'application/json');
  try {
    request.send(JSON.stringify(message));
    return request.status === 200 ? JSON.parse(request.responseText) : undefined;
  } catch {
    return undefined;
  }
}

let written = null; // the answers in the page, by question; each is taken once

function take(method, message) {
  written ??= read();
  const key = question(method, message);
  const found = written.get(key);
  written.delete(key);
  return found && ['start', 'end'].every((name) => Math.abs(num(found.message[name]) - num(message[name])) <= moment) ? found : undefined;
}

// Rows in the page end when the server wrote them. As many seconds later they are still what is asked for.
const moment = 60;

// Back may bring a page that the browser has kept since yesterday: its answers are old.
function read() {
  const element = globalThis.document?.getElementById('answers');
  if (!element || performance.getEntriesByType('navigation')[0]?.type === 'back_forward') return new Map();
  return new Map(JSON.parse(element.textContent).map((a) => [question(a.method, a.message), a]));
}

// The server leaves out what is zero. Times are compared apart.
const question = (method, { start, end, ...rest }) => method + JSON.stringify(Object.entries(rest).filter(([, v]) => v).sort());

/** A number of an answer: 64-bit integers are strings there, and zero is left out. */
export function num(value) {
  return value === undefined || value === '' ? 0 : Number(value);
}

/**
 * Values of an answer as numbers; "NaN" becomes NaN.
 * @param {(number|string)[]} [values]
 * @returns {Float64Array}
 */
export function floats(values = []) {
  return Float64Array.from(values, Number);
}
