/**
 * A lane's seats and memory along the time axis. The past is kept as bitmaps (tiles), so that a frame costs a few
 * copies, however many steps the run has; a tile is painted anew only while steps may still come into it.
 */

import { tokenName } from "./answers.js";
import { PREFILL, USEFUL } from "./lane.js";
import { paintTile, spansIn } from "./tile.js";
import { INK } from "./theme.js";

const TILE = 512; // CSS pixels
const MOST_TILES = 24; // of a lane, about 25,000 pixels of past
const LABELLED = 7.5; // CSS pixels: in lower seats a number cannot be read
const WRITTEN = 34; // CSS pixels: cells wider than this show their token's text

export class Strip {
  /** @param {number} phase 0 to 1: lanes begin new tiles at different moments, so that no frame paints several */
  constructor(lane, phase) {
    this.lane = lane;
    this.shift = Math.round(phase * TILE);
    this.tiles = new Map(); // number -> {canvas, version, whole}
    this.shape = "";
  }

  /**
   * Draw what had happened by `view.now`.
   * @param pen the stage's context, in CSS pixels
   * @param place this lane's place in the layout
   * @param view {from (seconds at the left edge), perSecond (CSS pixels), now (seconds)}
   * @param look {theme, kvScale, pieces}
   */
  draw(pen, place, view, look) {
    const shape = [view.perSecond, place.strip.h, place.seatHeight, look.stamp, look.kvScale].join();
    if (shape !== this.shape) this.tiles.clear();
    this.shape = shape;
    const { x, y, w, h } = place.strip;
    this._drawGround(pen, place, look.theme);
    const left = view.from * view.perSecond;
    const past = Math.max(0, Math.min(w, view.now * view.perSecond - left));
    pen.save();
    pen.beginPath();
    pen.rect(x, y, past, h);
    pen.clip();
    for (let k = Math.floor((left + this.shift) / TILE); k * TILE - this.shift < left + past; k++) {
      const at = x + Math.round((k * TILE - this.shift - left) * look.theme.scale) / look.theme.scale;
      pen.drawImage(this._tile(k, place, view.perSecond, look), at, y, TILE, h);
    }
    this._drawTail(pen, place, view, look);
    this._drawLabels(pen, place, view, look);
    pen.restore();
  }

  /** Seats as faint rows, so that an empty seat is seen to be one. */
  _drawGround(pen, { seats, kv, seatHeight }, theme) {
    pen.fillStyle = theme.secondary;
    pen.fillRect(seats.x, seats.y, seats.w, seats.h);
    pen.fillRect(kv.x, kv.y, kv.w, kv.h);
    if (seatHeight < 5) return;
    pen.fillStyle = theme.background;
    for (let seat = 1; seat < this.lane.rows; seat++) {
      pen.fillRect(seats.x, Math.round(seats.y + seat * seatHeight) - 1, seats.w, 1);
    }
  }

  /** After the last step known, what is reserved and used stays so until the next. */
  _drawTail(pen, { strip, kv }, view, { theme, kvScale }) {
    const { lane } = this;
    if (view.now <= lane.end) return;
    const x = Math.max(strip.x, strip.x + (lane.end - view.from) * view.perSecond);
    pen.fillStyle = theme.modeColour(lane.name);
    for (const [series, alpha] of [[lane.kvReserved, 0.3], [lane.kvUsed, 1]]) {
      const tall = Math.min(1, series.at(lane.end) / kvScale) * kv.h;
      pen.globalAlpha = alpha;
      pen.fillRect(x, kv.y + kv.h - tall, strip.x + strip.w - x, tall);
    }
    pen.globalAlpha = 1;
  }

  _tile(k, place, perSecond, look) {
    const known = this.tiles.get(k);
    const { lane } = this;
    if (known && (known.whole || known.version === lane.version)) return known.canvas;
    const { scale } = look.theme;
    const canvas = known?.canvas ?? new OffscreenCanvas(Math.round(TILE * scale), Math.ceil(place.strip.h * scale));
    const pen = canvas.getContext("2d");
    const begin = k * TILE - this.shift;
    const stretch = { from: begin / perSecond, to: (begin + TILE) / perSecond, perSecond: perSecond * scale };
    const shape = {
      seatHeight: place.seatHeight * scale,
      kvTop: Math.round((place.kv.y - place.strip.y) * scale),
      kvHeight: Math.floor(place.kv.h * scale),
    };
    paintTile(pen, lane, stretch, shape, look);
    this.tiles.delete(k);
    this.tiles.set(k, { canvas, version: lane.version, whole: stretch.to <= lane.frontier });
    if (this.tiles.size > MOST_TILES) this.tiles.delete(this.tiles.keys().next().value);
    return canvas;
  }

  /** Each request's number at the left end of its bar, or of what is seen of it; with room, the tokens' text. */
  _drawLabels(pen, place, view, look) {
    const { seats, seatHeight } = place;
    if (seatHeight < LABELLED) return;
    const size = Math.min(0.8 * look.theme.em, (seatHeight - 1) * 1.25); // digits are lower than their font
    pen.font = `600 ${size}px ${look.theme.family}`;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    const to = Math.min(view.now, view.from + seats.w / view.perSecond);
    this.lane.spans.forEach((spans, seat) => {
      const y = seats.y + seat * seatHeight;
      const middle = y + (seatHeight - 1) / 2 + 0.5;
      for (const bar of bars(spansIn(spans, { from: view.from, to }))) {
        const at = (time) => Math.max(seats.x, seats.x + (Math.min(time, to) - view.from) * view.perSecond);
        const ends = [at(bar.start), at(bar.answer), at(bar.end)];
        label(pen, bar.request, ends, { middle, height: Math.min(size, seatHeight - 5) }, look.theme);
      }
      this._writeTokens(pen, spans, seat, { from: view.from, to }, { x: seats.x, middle, size }, view, look);
    });
  }

  _writeTokens(pen, spans, seat, stretch, { x, middle, size }, view, look) {
    const { lane } = this;
    const usual = lane.end / Math.max(1, lane.stepEnd.length); // at least a mean step
    if (!look.pieces.size || usual * view.perSecond < WRITTEN / 2) return;
    for (const span of spansIn(spans, stretch)) {
      if (span.kind !== USEFUL) continue;
      const steps = lane.groupSteps[Math.floor(seat / lane.seats)];
      for (let i = firstAfter(lane, steps, Math.max(span.start, stretch.from)); i < steps.length; i++) {
        const start = lane.stepStart[steps[i]];
        if (start >= Math.min(span.end, stretch.to)) break;
        const width = (lane.stepEnd[steps[i]] - start) * view.perSecond;
        const left = x + (start - view.from) * view.perSecond;
        if (width < WRITTEN || left < x + 1.5 * size) continue; // the request's number stands there
        const row = lane.rowAt(steps[i], seat);
        const text = row === null ? "" : tokenName(lane.tokenOf(steps[i], row), look.pieces).replace(/^“·?|”$/g, "");
        pen.fillStyle = INK;
        pen.fillText(text.slice(0, Math.floor((width - 6) / (size * 0.55))), left + 3, middle);
      }
    }
  }
}

/** Spans of the same request that follow each other, as one. */
function bars(spans) {
  const made = [];
  for (const span of spans) {
    const last = made[made.length - 1];
    if (last && last.request === span.request && span.kind !== PREFILL) last.end = span.end;
    else {
      const answer = span.kind === PREFILL ? span.end : span.start; // where the prompt's cell ends
      made.push({ request: span.request, start: span.start, answer, end: span.end });
    }
  }
  return made;
}

/** In the prompt's cell where it fits, else after it. */
function label(pen, request, [start, answer, end], { middle, height }, theme) {
  const text = String(request);
  const width = pen.measureText(text).width;
  const within = answer - start > width + 7;
  const x = within ? start + 4 : answer + 3;
  if (x + width + 2 > end) return;
  pen.fillStyle = within ? theme.prompt(request) : theme.tint(request); // over a texture, a number would not be read
  pen.fillRect(x - 1.5, middle - height / 2 - 0.5, width + 3, height);
  pen.fillStyle = within ? theme.mark : INK;
  pen.fillText(text, x, middle);
}

/** Where the first step that starts at or after `time` is in `steps`. */
function firstAfter(lane, steps, time) {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.stepStart[steps[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
