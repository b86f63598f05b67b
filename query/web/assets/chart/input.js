// Pointer and touch on a chart: crosshair, zoom, pan.

/**
 * Listens on a plot.
 *
 * Dragging selects a range to zoom into. Dragging on the axis of time, or with Shift, pans. Ctrl and
 * the wheel zoom, a sideways wheel pans. Two fingers zoom and pan; one finger moves the crosshair and
 * leaves up and down to the page. Escape while dragging changes nothing.
 *
 * @param {HTMLElement} plot @param {import('../chart.js').Chart} chart
 * @returns {() => void} ends it
 */
export function listen(plot, chart) {
  const { crosshair } = chart.options;
  const fingers = new Map();
  let drag = null, pinch = null, wheelEnd = 0;
  const x = (event) => event.clientX - plot.getBoundingClientRect().left;
  const y = (event) => event.clientY - plot.getBoundingClientRect().top;
  const say = (from, to, final) => chart.options.onRange?.(from, to, final);

  const handlers = {
    pointerdown(event) {
      if (event.pointerType === 'touch') {
        fingers.set(event.pointerId, x(event));
        pinch = fingers.size === 2 ? { ...chart.range, at: [...fingers.values()].map((px) => chart.timeAt(px)) } : null;
        crosshair.set(chart.timeAt(x(event)), chart);
        return;
      }
      if (event.button !== 0) return;
      plot.setPointerCapture(event.pointerId);
      const pan = event.shiftKey || chart.onAxis(y(event));
      drag = { x: x(event), time: chart.timeAt(x(event)), pan, ...chart.range, moved: false };
      plot.classList.toggle('panning', pan);
    },
    pointermove(event) {
      plot.classList.toggle('on-axis', chart.onAxis(y(event)));
      if (fingers.has(event.pointerId)) {
        fingers.set(event.pointerId, x(event));
        if (pinch) stretch(false);
        else crosshair.set(chart.timeAt(x(event)), chart);
        return;
      }
      if (drag && Math.abs(x(event) - drag.x) > 4) drag.moved = true;
      if (drag?.pan && drag.moved) {
        const shift = (drag.x - x(event)) / chart.plotWidth * (drag.to - drag.from);
        say(drag.from + shift, drag.to + shift, false);
        return;
      }
      if (drag?.moved) chart.select([drag.time, chart.timeAt(x(event))]);
      const time = chart.timeAt(x(event));
      const { from, to } = chart.range;
      crosshair.set(time >= from && time <= to ? time : null, chart);
    },
    pointerup(event) {
      if (fingers.delete(event.pointerId)) {
        if (pinch) stretch(true);
        pinch = null;
        return;
      }
      const was = drag;
      end();
      if (!was?.moved) return;
      if (was.pan) {
        const { from, to } = chart.range;
        say(from, to, true);
        return;
      }
      const ends = [was.time, chart.timeAt(x(event))].sort((a, b) => a - b);
      const from = Math.max(was.from, ends[0]), to = Math.min(was.to, ends[1]);
      if (to > from) say(from, to, true);
    },
    pointercancel(event) {
      fingers.delete(event.pointerId);
      pinch = null;
      end();
    },
    pointerleave(event) {
      if (!drag && event.pointerType !== 'touch') crosshair.set(null, chart);
    },
    dblclick(event) {
      event.preventDefault();
      chart.options.onBack?.();
    },
    wheel(event) {
      const { from, to } = chart.range;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const around = chart.timeAt(x(event));
        const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300)));
        later(around - (around - from) * factor, around + (to - around) * factor);
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) * 2) {
        event.preventDefault();
        const shift = event.deltaX / chart.plotWidth * (to - from);
        later(from + shift, to + shift);
      }
    },
    keydown(event) {
      if (event.key === 'Escape' && drag) {
        if (drag.pan) say(drag.from, drag.to, true);
        end();
        event.stopPropagation();
      } else if (event.shiftKey && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) {
        chart.step(event.key === 'ArrowLeft' ? -1 : 1);
        event.preventDefault();
        event.stopPropagation();
      }
    },
    blur() {
      if (!drag) crosshair.set(null, chart);
    },
  };

  function end() {
    drag = null;
    plot.classList.remove('panning');
    chart.select(null);
  }

  // The times under two fingers stay under them.
  function stretch(final) {
    const [p, q] = [...fingers.values()];
    if (q === undefined) {
      const { from, to } = chart.range;
      return say(from, to, true);
    }
    if (Math.abs(q - p) < 10) return undefined;
    const scale = (pinch.at[1] - pinch.at[0]) / (q - p);
    const origin = chart.timeAt(0);
    const edge = (chart.range.from - origin) / (chart.timeAt(1) - origin); // pixels left of the plot
    const from = pinch.at[0] - (p - edge) * scale;
    const to = from + chart.plotWidth * scale;
    return to > from ? say(from, to, final) : undefined;
  }

  // The wheel has no end: the range is final when it has been still for a moment.
  function later(from, to) {
    say(from, to, false);
    clearTimeout(wheelEnd);
    wheelEnd = setTimeout(() => {
      const range = chart.range;
      say(range.from, range.to, true);
    }, 250);
  }

  for (const [name, handler] of Object.entries(handlers)) {
    plot.addEventListener(name, handler, name === 'wheel' ? { passive: false } : undefined);
  }
  return () => {
    clearTimeout(wheelEnd);
    for (const [name, handler] of Object.entries(handlers)) plot.removeEventListener(name, handler);
  };
}
