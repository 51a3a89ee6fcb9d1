/** The canvas: four lanes on one time axis, the playhead, the cell cursor. Draws what it is told, remembers bitmaps. */

import { drawNow } from "./now.js";
import { Strip } from "./strip.js";
import { placesOf, ticks } from "./ticks.js";

const STRIPS = new WeakMap(); // LaneData -> Strip: bitmaps outlive a redraw of the page

export class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
  }

  resize(width, height, scale) {
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.height = `${height}px`;
    this.width = width;
    this.height = height;
  }

  /**
   * @param lanes LaneData, @param layout from layOut
   * @param view {from, perSecond, now}
   * @param look {theme, stamp, kvScale, tokenBytes, pieces, t, fading, pale}
   * @param cell the cell cursor {lane, seat, step} or null
   */
  draw(lanes, layout, view, look, cell) {
    const { pen } = this;
    pen.setTransform(look.theme.scale, 0, 0, look.theme.scale, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    this._axis(layout, view, look.theme);
    lanes.forEach((lane, i) => {
      const place = layout.lanes[i];
      if (!STRIPS.has(lane)) STRIPS.set(lane, new Strip(lane, i / lanes.length));
      STRIPS.get(lane).draw(pen, place, view, look);
      budgetLine(pen, lane, place, look);
      drawNow(pen, lane, place.now, view.now, look);
      if (look.fading[i] || look.pale) veil(pen, place, this.width, look);
    });
    this._playhead(layout, view, look.theme);
    if (cell) this._cursor(lanes[cell.lane], layout.lanes[cell.lane], cell, view, look.theme);
  }

  _axis({ axis, height }, view, theme) {
    const { pen } = this;
    const span = axis.w / view.perSecond;
    const marks = ticks(view.from, view.from + span, axis.w / (5 * theme.em));
    const places = placesOf(marks);
    pen.font = `${0.72 * theme.em}px ${theme.family}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const mark of marks) {
      const x = axis.x + (mark - view.from) * view.perSecond;
      pen.fillStyle = theme.faint;
      pen.fillRect(Math.round(x), axis.h - 4, 1, height - axis.h);
      pen.fillStyle = theme.muted;
      const text = `${mark.toFixed(places)} s`;
      const half = pen.measureText(text).width / 2;
      if (x - half >= axis.x - 1 && x + half <= axis.x + axis.w + 1) pen.fillText(text, x, axis.h * 0.4);
    }
  }

  _playhead({ axis, lanes }, view, theme) {
    const { pen } = this;
    const x = axis.x + (view.now - view.from) * view.perSecond;
    if (x < axis.x - 1 || x > axis.x + axis.w + 1 || !lanes.length) return;
    pen.fillStyle = theme.text;
    pen.beginPath();
    pen.moveTo(x - 5, axis.h - 8);
    pen.lineTo(x + 5, axis.h - 8);
    pen.lineTo(x, axis.h - 1);
    pen.fill();
    for (const { strip } of lanes) pen.fillRect(Math.round(x) - 1, strip.y - 1, 2, strip.h + 2);
  }

  _cursor(lane, { seats, seatHeight }, { seat, step }, view, theme) {
    const { pen } = this;
    const x = seats.x + (lane.stepStart[step] - view.from) * view.perSecond;
    const w = Math.max(3, (lane.stepEnd[step] - lane.stepStart[step]) * view.perSecond);
    const y = seats.y + seat * seatHeight;
    pen.save();
    pen.beginPath();
    pen.rect(seats.x - 3, seats.y - 3, seats.w + 6, seats.h + 6);
    pen.clip();
    for (const [colour, width] of [[theme.background, 5], [theme.primary, 2.5]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.strokeRect(x - 1, y - 1, w + 1, seatHeight + 1);
    }
    pen.restore();
  }
}

/** What will be replaced is seen through a veil, what is predicted through a thinner one. */
function veil(pen, { strip, now }, width, { theme, pale }) {
  const bottom = Math.max(strip.y + strip.h, now.y + now.h);
  pen.globalAlpha = pale ? 0.4 : 0.62;
  pen.fillStyle = theme.background;
  pen.fillRect(strip.x, strip.y, width - strip.x, bottom - strip.y);
  pen.globalAlpha = 1;
}

/** Where the budget lies within the band. */
function budgetLine(pen, lane, { kv }, { theme, kvScale }) {
  if (!kv.h || lane.kvBudget > kvScale) return;
  pen.fillStyle = theme.text;
  for (let x = kv.x; x < kv.x + kv.w; x += 6) {
    pen.fillRect(x, Math.round(kv.y + kv.h * (1 - lane.kvBudget / kvScale)), 3, 1);
  }
}
