/**
 * Paints a stretch of a lane's past: its cells and the band of KV memory beneath. Units are device pixels.
 * Texture carries the meaning: solid = useful token, thick edge = prompt, dots = padding, hatch = finished but
 * still computed, nothing = empty seat. Colour repeats who it is. Knows no playhead.
 */

import { DEAD, PREFILL } from "./lane.js";
import { countUpToStart } from "./metrics.js";
import { countUpTo } from "./series.js";

const SEPARATED = 4; // CSS pixels: narrower steps run into one bar

/**
 * @param pen a 2d context of the tile's canvas
 * @param stretch {from, to} seconds, {perSecond} device pixels
 * @param shape {seatHeight, kvTop, kvHeight} device pixels
 * @param look {theme, kvScale (tokens at full height)}
 */
export function paintTile(pen, lane, stretch, shape, look) {
  pen.clearRect(0, 0, pen.canvas.width, pen.canvas.height);
  const prompts = [];
  lane.spans.forEach((spans, seat) => {
    for (const span of spansIn(spans, stretch)) {
      const box = boxOf(span, seat, stretch, shape, look.theme.scale);
      if (span.kind === PREFILL) prompts.push([span, box]);
      else paintRow(pen, span, box, look.theme);
    }
  });
  separate(pen, lane, stretch, shape, look.theme.scale);
  for (const [span, box] of prompts) paintPrompt(pen, span, box, look.theme);
  paintMemory(pen, lane, stretch, shape, look);
}

/** The spans that overlap a stretch of time. */
export function spansIn(spans, { from, to }) {
  let first = countUpToStart(spans, from) - 1;
  if (first < 0 || spans[first].end <= from) first += 1;
  return spans.slice(first, countUpToStart(spans, to));
}

function boxOf(span, seat, { from, perSecond }, { seatHeight }, scale) {
  const x = Math.round((span.start - from) * perSecond);
  const y = Math.round(seat * seatHeight);
  const gap = seatHeight >= 5 * scale ? Math.round(scale) : 0;
  return {
    x,
    y,
    w: Math.max(1, Math.round((span.end - from) * perSecond) - x),
    h: Math.max(1, Math.round((seat + 1) * seatHeight) - y - gap),
  };
}

export function paintRow(pen, span, box, theme) {
  const dead = span.kind === DEAD;
  fill(pen, box, dead ? theme.pale(span.request) : theme.tint(span.request));
  if (dead) fill(pen, box, theme.textures.hatch);
}

/** The prompt's part of the rectangle solid, the padding dotted, a thick edge around both. */
export function paintPrompt(pen, span, box, theme) {
  const useful = Math.round(box.w * span.useful);
  const padding = { ...box, x: box.x + useful, w: box.w - useful };
  pen.clearRect(box.x, box.y, box.w, box.h);
  fill(pen, { ...box, w: useful }, theme.prompt(span.request));
  fill(pen, padding, theme.pale(span.request));
  fill(pen, padding, theme.textures.dots);
  const upright = Math.min(box.w, Math.round(2 * theme.scale));
  const level = Math.max(1, Math.round(Math.min(2 * theme.scale, box.h / 7)));
  fill(pen, { ...box, w: upright }, theme.mark);
  if (box.w < 3 * upright) return;
  fill(pen, { ...box, x: box.x + box.w - upright, w: upright }, theme.mark);
  if (box.h < 5 * theme.scale) return; // so low that its edges would be all of it
  fill(pen, { ...box, h: level }, theme.mark);
  fill(pen, { ...box, y: box.y + box.h - level, h: level }, theme.mark);
}

function fill(pen, { x, y, w, h }, style) {
  pen.fillStyle = style;
  pen.fillRect(x, y, w, h);
}

/** A thin gap after each step that is wide enough to be a cell of its own. */
function separate(pen, lane, { from, to, perSecond }, { seatHeight }, scale) {
  lane.groupSteps.forEach((steps, group) => {
    const top = Math.round(group * lane.seats * seatHeight);
    const height = Math.round(lane.seats * seatHeight);
    const width = Math.round(scale);
    for (let i = firstStepEnding(lane, steps, from); i < steps.length; i++) {
      const end = lane.stepEnd[steps[i]];
      if (end > to) break;
      if ((end - lane.stepStart[steps[i]]) * perSecond < SEPARATED * scale) continue;
      pen.clearRect(Math.round((end - from) * perSecond) - width, top, width, height);
    }
  });
}

function firstStepEnding(lane, steps, time) {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.stepEnd[steps[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function paintMemory(pen, lane, stretch, { kvTop, kvHeight }, { theme, kvScale }) {
  const colour = theme.modeColour(lane.name);
  const place = { top: kvTop, height: kvHeight, full: kvScale };
  paintSteps(pen, lane.kvReserved, lane.end, stretch, place, colour, 0.3);
  paintSteps(pen, lane.kvUsed, lane.end, stretch, place, colour, 1);
}

/** The area under a step function; changes that fall into one pixel show as their highest. */
function paintSteps(pen, series, end, { from, to, perSecond }, { top, height, full }, colour, alpha) {
  pen.globalAlpha = alpha;
  pen.fillStyle = colour;
  const last = Math.min(to, end);
  let i = Math.max(0, countUpTo(series.times, from) - 1);
  let x = 0;
  let highest = 0;
  for (; i < series.times.length && series.times[i] < last; i++) {
    const start = Math.max(0, Math.round((series.times[i] - from) * perSecond));
    if (start > x) {
      bar(pen, x, start, highest);
      x = start;
      highest = 0;
    }
    highest = Math.max(highest, series.values[i]);
    const next = Math.min(last, series.times[i + 1] ?? last);
    const stop = Math.round((next - from) * perSecond);
    if (stop <= x) continue;
    bar(pen, x, x + 1, highest);
    bar(pen, x + 1, stop, series.values[i]);
    x = stop;
    highest = 0;
  }
  pen.globalAlpha = 1;

  function bar(context, left, right, value) {
    const tall = Math.round(Math.min(1, value / full) * height);
    if (tall) context.fillRect(left, top + height - tall, right - left, tall);
  }
}
