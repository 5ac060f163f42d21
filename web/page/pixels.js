/** Pictures: from files to samples, from samples to canvases, and bytes as noise. */

/** An error of what was chosen, with a hint. */
function refused(message, hint) {
  return Object.assign(new Error(message), { hint });
}

/**
 * Reads a picture file.
 *
 * The samples are those of the file, without colour management. A picture that is larger than
 * `most` in either direction is scaled down. Channels that say nothing (opaque, gray) are left out.
 *
 * @param {Blob} file
 * @param {number} most pixels of the longer side
 * @returns {Promise<{width: number, height: number, channels: 1|3|4, data: Uint8Array}>}
 */
export async function readPicture(file, most) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  } catch {
    throw refused("this file is not a picture that the browser can read", "choose a PNG, JPEG or WebP file");
  }
  const factor = Math.min(1, most / Math.max(bitmap.width, bitmap.height));
  const width = Math.max(1, Math.round(bitmap.width * factor));
  const height = Math.max(1, Math.round(bitmap.height * factor));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) throw refused("the browser has no memory for a picture of this size", "choose a smaller size");
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, width, height);
  bitmap.close();
  return fromRgba(width, height, context.getImageData(0, 0, width, height).data);
}

function fromRgba(width, height, rgba) {
  let gray = true;
  let opaque = true;
  for (let i = 0; i < rgba.length; i += 4) {
    if (rgba[i] !== rgba[i + 1] || rgba[i] !== rgba[i + 2]) gray = false;
    if (rgba[i + 3] !== 255) opaque = false;
  }
  const channels = opaque ? (gray ? 1 : 3) : 4;
  const data = new Uint8Array(width * height * channels);
  for (let from = 0, to = 0; from < rgba.length; from += 4, to += channels) {
    for (let channel = 0; channel < channels; channel += 1) data[to + channel] = rgba[from + channel];
  }
  return { width, height, channels, data };
}

/** Draws samples on a canvas, which takes their size. */
export function draw(canvas, { width, height, channels, data }) {
  const image = new ImageData(width, height);
  const rgba = image.data;
  for (let from = 0, to = 0; to < rgba.length; from += channels, to += 4) {
    const colour = channels >= 3;
    rgba[to] = data[from];
    rgba[to + 1] = data[colour ? from + 1 : from];
    rgba[to + 2] = data[colour ? from + 2 : from];
    rgba[to + 3] = channels === 4 ? data[from + 3] : channels === 2 ? data[from + 1] : 255;
  }
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** Draws bytes as shades of gray, one for each pixel, row by row; what is missing stays clear. */
export function drawBytes(canvas, bytes, width, height) {
  const image = new ImageData(width, height);
  const count = Math.min(bytes.length, width * height);
  for (let i = 0; i < count; i += 1) {
    image.data.fill(bytes[i], 4 * i, 4 * i + 3);
    image.data[4 * i + 3] = 255;
  }
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** The canvas as a PNG file. */
export function png(canvas) {
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
