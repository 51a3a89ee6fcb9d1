/** KV memory of all modes over time, up to the playhead: used as a full line, reserved as a thin one. */

import { Plot } from "./plot.js";
import { countUpTo } from "./series.js";
import { laneName } from "./text.js";
import { ticks } from "./ticks.js";

/** @param {number} end seconds at the right edge @param {number} tokenBytes KV bytes of a token */
export function drawMemory(canvas, lanes, time, end, tokenBytes, theme, t) {
  if (!canvas.clientWidth) return;
  if (!tokenBytes) canvas.width = 0; // nothing is known of the model yet
  if (!tokenBytes) return;
  const most = Math.max(1, ...lanes.map((lane) => lane.kvReserved.peakAt(Infinity)));
  const high = most * 1.15;
  const x = { at: (v) => v / (end || 1), marks: ticks(0, end || 1, 4), name: (v) => `${v}`, title: t("stage.memory.time") };
  const marks = ticks(0, (high * tokenBytes) / 1e6, 4).map((mb) => (mb * 1e6) / tokenBytes);
  const name = (v) => `${Number(((v * tokenBytes) / 1e6).toPrecision(3))}`;
  const y = { at: (v) => v / high, marks, name, title: t("stage.memory.title") };
  const plot = new Plot(canvas, theme, x, y);
  for (const lane of lanes) drawLane(plot, lane, time, theme);
  for (const lane of lanes) plot.label(laneName(lane, t), ...peakOf(plot, lane, time));
  for (const lane of lanes) drawBudget(plot, lane, high, theme);
}

function drawLane(plot, lane, time, theme) {
  const { pen } = plot;
  pen.strokeStyle = theme.modeColour(lane.name);
  pen.lineWidth = 1;
  pen.globalAlpha = 0.6;
  pen.setLineDash([3, 3]);
  trace(plot, lane.kvReserved, time);
  pen.setLineDash([]);
  pen.globalAlpha = 1;
  pen.lineWidth = 2;
  trace(plot, lane.kvUsed, time);
}

function trace(plot, series, time) {
  const { pen } = plot;
  pen.beginPath();
  pen.moveTo(plot.px(0), plot.py(0));
  for (const [x, value] of corners(series, time, (seconds) => plot.px(seconds))) pen.lineTo(x, plot.py(value));
  pen.stroke();
}

/**
 * The corners [x, value] of a step function up to `time`; of the changes within a pixel, the highest and the last.
 * @param px from seconds to pixels
 */
export function corners(series, time, px) {
  const made = [];
  const count = countUpTo(series.times, time);
  let level = 0;
  let highest = 0;
  let x = null;
  for (let i = 0; i < count; i++) {
    const at = Math.round(px(series.times[i]));
    if (at !== x) {
      if (x !== null) made.push([x, highest], [x, level]);
      made.push([at, level]);
      highest = level;
      x = at;
    }
    level = series.values[i];
    highest = Math.max(highest, level);
  }
  if (x !== null) made.push([x, highest], [x, level]);
  return [...made, [px(time), level]];
}

/** Where the used memory was highest so far: a lane's name stands there. */
function peakOf(plot, lane, time) {
  const peak = lane.kvUsed.peakAt(time);
  const i = lane.kvUsed.values.indexOf(peak);
  return [plot.px(lane.kvUsed.times[i] ?? 0), plot.py(peak)];
}

function drawBudget(plot, lane, high, theme) {
  if (lane.kvBudget > high) return;
  const { pen, box } = plot;
  pen.strokeStyle = theme.muted;
  pen.lineWidth = 1;
  pen.setLineDash([1, 3]);
  pen.beginPath();
  pen.moveTo(box.x, plot.py(lane.kvBudget));
  pen.lineTo(box.x + box.w, plot.py(lane.kvBudget));
  pen.stroke();
  pen.setLineDash([]);
}
