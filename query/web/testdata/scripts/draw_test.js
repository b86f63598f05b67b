import { hair, prepare } from '../../assets/chart/draw.js';
import { equal, test } from './check.js';

// rows gives how dark each row of pixels of a canvas is.
function rows(canvas) {
  const { data } = canvas.getContext('2d').getImageData(3, 0, 1, canvas.height);
  return Array.from({ length: canvas.height }, (_, y) => data[4 * y + 3]);
}

test('thin lines are sharp at every zoom of the browser', () => {
  const before = globalThis.devicePixelRatio;
  try {
    for (const ratio of [1, 1.1, 1.25, 1.5, 1.75, 2, 3]) {
      globalThis.devicePixelRatio = ratio;
      const canvas = document.createElement('canvas');
      const g = prepare(canvas, 20, 400);
      const { width, at } = hair();
      g.lineWidth = width;
      const wanted = [5, 33.3, 70.7, 111.49, 250.5, 399];
      for (const y of wanted) {
        g.beginPath();
        g.moveTo(0, at(y));
        g.lineTo(20, at(y));
        g.stroke();
        if (Math.abs(at(y) - y) > 1) throw new Error(`${y} is drawn at ${at(y)}`);
      }
      const dark = rows(canvas).filter((v) => v > 8); // of 255: a canvas counts in single precision
      equal([dark.length, Math.min(...dark) > 240], [wanted.length * Math.floor(ratio), true], `at ${ratio}`);
    }
  } finally {
    globalThis.devicePixelRatio = before;
  }
});
