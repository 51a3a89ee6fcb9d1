/** What a lane holds at the playhead, drawn beside its seats: who waits and for how long, and the KV memory. */

import { seatsAt, waitingAt } from "./metrics.js";
import { bucketAt, classAt, lineAt } from "./queue.js";
import { duration, megabytes } from "./text.js";
import { INK } from "./theme.js";

/** @param pen in CSS pixels @param place {x, y, w, h} @param look {theme, t, kvScale, tokenBytes} */
export function drawNow(pen, lane, place, time, look) {
  const { theme } = look;
  const { x, w } = inner(place, theme.em);
  const small = 0.75 * theme.em;
  const waiting = waitingAt(lane, time);
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  write(pen, waitingText(lane, waiting, time, look.t), x, place.y + 0.5 * theme.em, w, small, theme.muted, theme);
  drawChips(pen, lane, lineAt(lane, time), time, place, look);
  if (look.t.knows("kv")) drawGauge(pen, lane, time, { x, y: place.y + 2.85 * theme.em, w }, look, place.h > 4 * theme.em);
}

/** "waits since 0.31 s, the window is 50 ms", for one request. */
export function waitsText(lane, request, time, t) {
  const fields = { waited: duration(time - request.arrival), window: duration(lane.window) };
  const kind = kindOfWait(lane, request, time);
  return t(`stage.waits.${kind}`, fields);
}

/** What there is to say of a wait; a window that is over while the device computes does not let anybody leave. */
function kindOfWait(lane, request, time) {
  if (lane.window === Infinity) return "endless";
  if (!(lane.window > 0)) return "plain";
  return time - request.arrival > lane.window && seatsAt(lane, time).some(Boolean) ? "over" : "window";
}

/** "5 waiting · oldest 0.31 s of 50 ms" */
function waitingText(lane, waiting, time, t) {
  if (!waiting.length) return t("stage.queue.nobody");
  const fields = { n: waiting.length, waited: duration(time - waiting[0].arrival), window: duration(lane.window) };
  const kind = kindOfWait(lane, waiting[0], time);
  return t(`stage.queue.${kind}`, fields);
}

/** Where the chips of those who wait stand, and how many of them there is room for. */
function chipsOf(waiting, place, em) {
  const { x, w } = inner(place, em);
  const width = 1.75 * em;
  const step = width + 0.2 * em;
  const room = Math.max(1, Math.floor(w / step));
  const shown = waiting.length > room ? room - 1 : waiting.length;
  return { x, y: place.y + 1.15 * em, width, height: 1.15 * em, step, shown };
}

/** Beside the seats with some room before it, beneath them at full width. */
function inner(place, em) {
  const pad = place.x > 0 ? 0.9 * em : 0;
  return { x: place.x + pad, w: place.w - pad };
}

/** The waiting request whose chip is under a point, or null. */
export function chipUnder(x, y, lane, place, time, em) {
  const waiting = lineAt(lane, time);
  const chips = chipsOf(waiting, place, em);
  const i = Math.floor((x - chips.x) / chips.step);
  const within = y >= chips.y && y < chips.y + chips.height && i >= 0 && i < chips.shown;
  return within ? waiting[i] : null;
}

/** A chip for each who waits, the first in line first; beneath it, how much of the window is over. */
function drawChips(pen, lane, waiting, time, place, { theme }) {
  const { x, y, width, height, step, shown } = chipsOf(waiting, place, theme.em);
  for (let i = 0; i < shown; i++) {
    const request = waiting[i];
    const left = x + i * step;
    pen.fillStyle = theme.tint(request.id);
    pen.fillRect(left, y, width, height);
    const part = lane.window > 0 ? Math.min(1, (time - request.arrival) / lane.window) : 0;
    pen.fillStyle = INK;
    pen.fillRect(left, y + height - 3, width * part, 3);
    pen.textAlign = "center";
    pen.font = `600 ${0.75 * theme.em}px ${theme.family}`;
    pen.fillText(String(request.id), left + width / 2, y + height / 2 - 0.5);
    drawMarks(pen, lane, request, time, { left, y, width, height });
  }
  if (shown < waiting.length) {
    pen.textAlign = "left";
    pen.fillStyle = theme.text;
    pen.font = `600 ${0.75 * theme.em}px ${theme.family}`;
    pen.fillText(`+${waiting.length - shown}`, x + shown * step + 2, y + height / 2);
  }
  pen.textAlign = "left";
}

/** A dot for each bucket up to its own, and a frame around those in the most urgent class. */
function drawMarks(pen, lane, request, time, { left, y, width, height }) {
  const bucket = bucketAt(lane, request);
  for (let dot = 0; bucket !== null && dot <= bucket; dot++) pen.fillRect(left + 3 + 4 * dot, y + 2, 2.5, 2.5);
  if (!lane.policy.order.by_priority || classAt(lane, request, time) > 0) return;
  pen.strokeStyle = INK;
  pen.lineWidth = 2;
  pen.strokeRect(left + 1, y + 1, width - 2, height - 2);
}

/** Used in full colour, reserved pale; a mark stands at the budget, or » behind the bar where it lies beyond. */
function drawGauge(pen, lane, time, { x, y, w: room }, look, roomy) {
  const { theme, kvScale, tokenBytes, t } = look;
  const height = 0.6 * theme.em;
  const beyond = lane.kvBudget > kvScale;
  const w = beyond ? room - 0.9 * theme.em : room;
  const used = lane.kvUsed.at(time);
  const reserved = lane.kvReserved.at(time);
  pen.fillStyle = theme.secondary;
  pen.fillRect(x, y, w, height);
  pen.fillStyle = theme.modeColour(lane.name);
  pen.globalAlpha = 0.3;
  pen.fillRect(x, y, w * Math.min(1, reserved / kvScale), height);
  pen.globalAlpha = 1;
  pen.fillRect(x, y, w * Math.min(1, used / kvScale), height);
  pen.fillStyle = theme.text;
  if (beyond) write(pen, "»", x + w + 0.3 * theme.em, y + height / 2, theme.em, theme.em, theme.text, theme);
  else pen.fillRect(x + w * (lane.kvBudget / kvScale) - 2, y - 2, 2, height + 4);
  if (!roomy || !tokenBytes) return;
  const [usedMb, reservedMb, budgetMb] = [used, reserved, lane.kvBudget].map((n) => megabytes(n * tokenBytes));
  const fields = { used: usedMb, reserved: reservedMb, budget: budgetMb };
  write(pen, t("stage.kv.now", fields), x, y + 1.3 * theme.em, room, 0.7 * theme.em, theme.muted, theme);
}

/** Text that is made smaller where it would not fit. */
function write(pen, text, x, y, w, size, colour, theme) {
  pen.fillStyle = colour;
  pen.font = `${size}px ${theme.family}`;
  const wide = pen.measureText(text).width;
  if (wide > w) pen.font = `${(size * w) / wide}px ${theme.family}`;
  pen.fillText(text, x, y);
}

/**
 * KV tokens at full height, the same for all lanes: what they could come to hold, or the budget where that is
 * not far above. Depends on the heads alone, so that nothing is scaled anew while a run goes on.
 */
export function kvScaleOf(lanes) {
  const most = Math.max(
    1,
    ...lanes.map((lane) => {
      const facts = lane.requests.map((r) => r.facts);
      const longest = (key) => Math.max(...facts.map((f) => f[key]));
      return Math.min(lane.kvBudget, lane.rows * (longest("prompt_tokens") + longest("max_new_tokens")));
    }),
  );
  const budget = Math.max(...lanes.map((lane) => lane.kvBudget));
  return budget <= 2.5 * most ? budget : most;
}
