// The one way to the server: the public RPC, as JSON.

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
  const body = JSON.stringify(message);
  const response = await reach(method, body, signal);
  if (response.ok) return response.json();
  let said = {};
  try {
    said = await response.json();
  } catch { /* not rondo's own answer */ }
  throw new RPCError(said.code || 'internal', said.message || `the server answers ${response.status}`);
}

async function reach(method, body, signal) {
  const early = globalThis.rondoEarly;
  const key = `${method} ${body}`;
  const asked = early && early[key];
  if (asked) delete early[key];
  try {
    return await (asked || fetch(`/rondo.v1.Rondo/${method}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body, signal,
    }));
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new RPCError('unavailable', 'the server does not answer');
  }
}

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
