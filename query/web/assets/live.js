// Repeats something while the page is seen.

/**
 * Calls run() every so many seconds, never twice at once, and not while the page is hidden; when it
 * is seen again, at once. After errors it waits longer, a minute at most.
 * @param {() => Promise<any>} run @param {() => number} every seconds until the next call
 * @param {AbortSignal} signal ends it
 */
export function repeat(run, every, signal) {
  let timer = 0, failures = 0, running = false;
  const plan = () => {
    clearTimeout(timer);
    if (signal.aborted || document.hidden) return;
    timer = setTimeout(turn, 1000 * Math.min(60, Math.max(1, every()) * 2 ** failures));
  };
  async function turn() {
    if (running || signal.aborted) return;
    running = true;
    try {
      await run();
      failures = 0;
    } catch (error) {
      if (error.name !== 'AbortError') failures = Math.min(5, failures + 1);
    }
    running = false;
    plan();
  }
  const seen = () => {
    if (document.hidden) clearTimeout(timer);
    else turn();
  };
  document.addEventListener('visibilitychange', seen);
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', seen);
  });
  plan();
}
