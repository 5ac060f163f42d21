/** Drawn digits as the digits of MNIST are: what a network that learned from those expects. */

/** Pixels of a side. */
export const SIDE = 28;
/** The longer side of the digit in it. */
const BOX = 20;
/** Where its mass is, along both sides: in the middle of the fifteenth pixel, as in MNIST. */
const MIDDLE = 14.5;

/** Sums over all pixels above and to the left: (width + 1) x (height + 1) numbers. */
function sums(ink, width, height) {
  const all = new Float64Array((width + 1) * (height + 1));
  for (let y = 0; y < height; y += 1) {
    let row = 0;
    for (let x = 0; x < width; x += 1) {
      row += ink[y * width + x];
      all[(y + 1) * (width + 1) + x + 1] = all[y * (width + 1) + x + 1] + row;
    }
  }
  /** The sum up to a point between pixels, whose parts count. */
  return (x, y) => {
    const [u, v] = [Math.min(Math.max(x, 0), width), Math.min(Math.max(y, 0), height)];
    const [i, j] = [Math.min(Math.floor(u), width - 1), Math.min(Math.floor(v), height - 1)];
    const [a, b] = [u - i, v - j];
    const at = (di, dj) => all[(j + dj) * (width + 1) + i + di];
    return (1 - b) * ((1 - a) * at(0, 0) + a * at(1, 0)) + b * ((1 - a) * at(0, 1) + a * at(1, 1));
  };
}

/** What surrounds the ink, and where its mass is; null if there is none. */
function extent(ink, width, height) {
  let [left, right, top, bottom, mass, x, y] = [width, -1, height, -1, 0, 0, 0];
  for (let at = 0; at < ink.length; at += 1) {
    if (ink[at] === 0) continue;
    const [column, row] = [at % width, Math.floor(at / width)];
    [left, right] = [Math.min(left, column), Math.max(right, column)];
    [top, bottom] = [Math.min(top, row), Math.max(bottom, row)];
    mass += ink[at];
    x += ink[at] * (column + 0.5);
    y += ink[at] * (row + 0.5);
  }
  if (mass === 0) return null;
  return { longer: Math.max(right - left, bottom - top) + 1, left, top, x: x / mass, y: y / mass };
}

/**
 * Scales ink so that the longer side of its box has 20 pixels, and moves it by whole pixels so that
 * the centre of its mass is next to that of 28 x 28 pixels. A pixel is the average of what it
 * covers, from 0 (paper) to 255. A digit of MNIST, however large, stays what it is.
 *
 * @param {Uint8Array} ink from 0 (paper) to 255, row by row from the top
 * @returns {Uint8Array|null} null if there is no ink
 */
export function normalise(ink, width, height) {
  const found = extent(ink, width, height);
  if (!found) return null;
  const upTo = sums(ink, width, height);
  const step = found.longer / BOX;
  const offset = (start, centre) => Math.round(MIDDLE - (centre - start) / step);
  const [across, down] = [offset(found.left, found.x), offset(found.top, found.y)];
  const pixels = new Uint8Array(SIDE * SIDE);
  for (let row = 0; row < SIDE; row += 1) {
    const top = found.top + (row - down) * step;
    for (let column = 0; column < SIDE; column += 1) {
      const left = found.left + (column - across) * step;
      const [right, bottom] = [left + step, top + step];
      const sum = upTo(right, bottom) - upTo(left, bottom) - upTo(right, top) + upTo(left, top);
      pixels[row * SIDE + column] = Math.round(Math.min(Math.max(sum / (step * step), 0), 255));
    }
  }
  return pixels;
}

/** Scores as parts of 1: exp(score) over their sum, unless the model made them already. */
export function shares(scores, decision) {
  if (decision === "softmax") return scores;
  const greatest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - greatest));
  const sum = powers.reduce((all, one) => all + one, 0);
  return powers.map((power) => power / sum);
}
