/** A small chart on a canvas: a frame, axes with round numbers, and where a value lies. CSS pixels. */

export class Plot {
  /**
   * @param canvas sized by CSS @param theme
   * @param x, y axes: {low, high, at: value -> 0..1, marks: [value], name: value -> text, title}
   */
  constructor(canvas, theme, x, y) {
    const { clientWidth: w, clientHeight: h } = canvas;
    const small = 0.72 * theme.em;
    sized(canvas, Math.round(w * theme.scale), Math.round(h * theme.scale));
    this.pen = canvas.getContext("2d");
    this.pen.setTransform(theme.scale, 0, 0, theme.scale, 0, 0);
    this.pen.clearRect(0, 0, w, h);
    this.pen.font = `${small}px ${theme.family}`;
    const wide = Math.max(0, ...y.marks.map((value) => this.pen.measureText(y.name(value)).width));
    this.box = { x: wide + 8, y: 1.5 * small, w: w - wide - 8 - 0.6 * theme.em, h: h - 4.4 * small };
    this.x = x;
    this.y = y;
    this.small = small;
    this.theme = theme;
    this.labels = [];
    this._frame();
  }

  px = (value) => this.box.x + this.x.at(value) * this.box.w;

  py = (value) => this.box.y + this.box.h - this.y.at(value) * this.box.h;

  _frame() {
    const { pen, box, x, y, theme, small } = this;
    const bottom = box.y + box.h;
    pen.fillStyle = theme.muted;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const value of y.marks) {
      const at = this.py(value);
      pen.fillText(y.name(value), box.x - 5, at);
      this._line(box.x, at, box.x + box.w, at, theme.faint);
    }
    pen.textAlign = "center";
    for (const value of x.marks) {
      pen.fillText(x.name(value), this.px(value), bottom + small);
      this._line(this.px(value), bottom, this.px(value), bottom + 3, theme.muted);
    }
    pen.textAlign = "right";
    pen.fillText(x.title, box.x + box.w, bottom + 2.3 * small);
    pen.textAlign = "left";
    pen.fillText(y.title, 0, small * 0.6);
    this._line(box.x, bottom, box.x + box.w, bottom, theme.muted);
  }

  _line(x1, y1, x2, y2, colour) {
    const { pen } = this;
    pen.strokeStyle = colour;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
    pen.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
    pen.stroke();
  }

  /** Text beside a point, where it fits and covers no other; nowhere, where there is no such place. */
  label(text, x, y) {
    const { pen, small } = this;
    const wide = pen.measureText(text).width;
    const sides = [x + 8, x - 8 - wide];
    const places = [0, -1, 1, -2, 2, -3, 3, -4, 4].flatMap((line) => sides.map((left) => ({ x: left, y: y + line * small * 1.1, w: wide })));
    const place = places.find((one) => this._free(one)) ?? (this.labels.length ? null : places[0]);
    if (!place) return;
    this.labels.push(place);
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.lineWidth = 3;
    pen.strokeStyle = this.theme.background;
    pen.strokeText(text, place.x, place.y);
    pen.fillStyle = this.theme.text;
    pen.fillText(text, place.x, place.y);
  }

  _free({ x, y, w }) {
    const { box, small } = this;
    if (x < box.x || x + w > box.x + box.w || y - small / 2 < box.y || y > box.y + box.h) return false;
    return this.labels.every((other) => Math.abs(other.y - y) >= small || other.x > x + w || other.x + other.w < x);
  }
}

/** Setting a canvas's size, even to what it is, makes it anew. */
function sized(canvas, width, height) {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}
