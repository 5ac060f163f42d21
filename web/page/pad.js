/** A canvas to draw on by mouse, finger or pen. */

/** Pixels of a side of what is drawn, whatever the size on the screen. */
const SIDE = 280;
/** The width of a stroke: a tenth of a digit that fills the canvas, as a pen has it. */
const STROKE = 22;

export class Pad {
  #context;
  #changed;
  /** The last point of each pointer that draws. */
  #last = new Map();
  /** Whether there is no ink. */
  #empty = true;
  /** Whether nobody may draw at present. */
  locked = false;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {() => void} changed is called after each stroke, clearing and sample
   */
  constructor(canvas, changed) {
    this.canvas = canvas;
    canvas.width = canvas.height = SIDE;
    this.#context = canvas.getContext("2d", { willReadFrequently: true });
    this.#changed = changed;
    this.#erase();
    canvas.addEventListener("pointerdown", (event) => this.#begin(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => this.#end(event));
    // A pen that is pressed long is not a wish for a menu.
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  #erase() {
    this.#context.fillStyle = "#000";
    this.#context.fillRect(0, 0, SIDE, SIDE);
    this.#empty = true;
  }

  #point(event) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    return [((event.clientX - left) * SIDE) / width, ((event.clientY - top) * SIDE) / height];
  }

  #line([fromX, fromY], [toX, toY]) {
    const context = this.#context;
    context.strokeStyle = "#fff";
    context.lineWidth = STROKE;
    context.lineCap = context.lineJoin = "round";
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
    context.stroke();
    this.#empty = false;
  }

  #begin(event) {
    if (this.locked || event.button !== 0) return;
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    const point = this.#point(event);
    this.#last.set(event.pointerId, point);
    // A dot.
    this.#line(point, point);
  }

  #move(event) {
    const last = this.#last.get(event.pointerId);
    if (!last) return;
    event.preventDefault();
    const through = event.getCoalescedEvents?.() ?? [];
    let from = last;
    for (const each of through.length > 0 ? through : [event]) {
      const to = this.#point(each);
      this.#line(from, to);
      from = to;
    }
    this.#last.set(event.pointerId, from);
  }

  #end(event) {
    if (this.#last.delete(event.pointerId)) this.#changed();
  }

  clear() {
    this.#erase();
    this.#changed();
  }

  /** Shows a square part of a picture in place of what was drawn. */
  picture(image, left, side) {
    this.#erase();
    this.#context.imageSmoothingEnabled = false;
    this.#context.drawImage(image, left, 0, side, side, 0, 0, SIDE, SIDE);
    this.#empty = false;
    this.#changed();
  }

  /** The ink, from 0 (paper) to 255, row by row from the top. */
  read() {
    const ink = new Uint8Array(SIDE * SIDE);
    if (!this.#empty) {
      const { data } = this.#context.getImageData(0, 0, SIDE, SIDE);
      for (let at = 0; at < ink.length; at += 1) ink[at] = data[4 * at];
    }
    return { ink, width: SIDE, height: SIDE };
  }
}
