// The least that a test needs. Each test file calls test(); run.js runs them all and leaves what
// failed in globalThis.failures.

const tests = [];

/** Adds a test. @param {string} name @param {() => any} body fails by throwing */
export function test(name, body) {
  tests.push({ name, body });
}

/** Fails unless both have the same JSON; NaN is equal to NaN. */
export function equal(got, want, what = '') {
  const a = text(got), b = text(want);
  if (a !== b) throw new Error(`${what ? what + ': ' : ''}got ${a}, want ${b}`);
}

const text = (value) => JSON.stringify(value, (_, v) => {
  if (typeof v === 'number' && !Number.isFinite(v)) return String(v);
  if (ArrayBuffer.isView(v)) return [...v].map((x) => (Number.isFinite(x) ? x : String(x)));
  return v;
});

/** Runs all tests. @returns {Promise<string[]>} what failed */
export async function run() {
  const failed = [];
  for (const { name, body } of tests) {
    try {
      await body();
    } catch (error) {
      failed.push(`${name}: ${error.message}`);
    }
  }
  return { failed, count: tests.length };
}
