// One crosshair for all charts of a page.

/**
 * A time that charts share. Give one Crosshair to all charts whose lines shall move together.
 */
export class Crosshair {
  #listeners = new Set();

  /** The time in seconds, or null while the pointer is on no chart. */
  at = null;

  /** Moves it. @param {number|null} time seconds @param {any} [source] who moves it */
  set(time, source) {
    if (time === this.at) return;
    this.at = time;
    for (const listener of this.#listeners) listener(time, source);
  }

  /** Calls listener(time, source) at each move; returns a function that ends that. */
  on(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
