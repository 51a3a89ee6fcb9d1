/** What a lane holds at the playhead, drawn beside its seats: who waits and for how long, and the KV memory. */

import { waitingAt } from "./metrics.js";
import { duration, megabytes } from "./text.js";
import { INK } from "./theme.js";

/** @param pen in CSS pixels @param place {x, y, w, h} @param look {theme, t, kvScale, tokenBytes} */
export function drawNow(pen, lane, place, time, look) {
  const { theme } = look;
  const pad = place.x > 0 ? 0.9 * theme.em : 0;
  const x = place.x + pad;
  const w = place.w - pad;
  const small = 0.75 * theme.em;
  const waiting = waitingAt(lane, time);
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  write(pen, waitingText(lane, waiting, time, look.t), x, place.y + 0.5 * theme.em, w, small, theme.muted, theme);
  drawChips(pen, lane, waiting, time, { x, y: place.y + 1.15 * theme.em, w }, look);
  drawGauge(pen, lane, time, { x, y: place.y + 2.85 * theme.em, w }, look, place.h > 4 * theme.em);
}

/** "5 waiting · oldest 0.31 s of 50 ms" */
export function waitingText(lane, waiting, time, t) {
  if (!waiting.length) return t("stage.queue.nobody");
  const fields = { n: waiting.length, waited: duration(time - waiting[0].arrival), window: duration(lane.window) };
  if (lane.window === Infinity) return t("stage.queue.endless", fields);
  return t(lane.window > 0 ? "stage.queue.window" : "stage.queue.plain", fields);
}

/** A chip for each who waits, the first in line first; beneath it, how much of the window is over. */
function drawChips(pen, lane, waiting, time, { x, y, w }, { theme }) {
  const width = 1.75 * theme.em;
  const height = 1.15 * theme.em;
  const step = width + 0.2 * theme.em;
  const room = Math.max(1, Math.floor(w / step));
  const shown = waiting.length > room ? room - 1 : waiting.length;
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
  }
  if (shown < waiting.length) {
    pen.textAlign = "left";
    pen.fillStyle = theme.text;
    pen.font = `600 ${0.75 * theme.em}px ${theme.family}`;
    pen.fillText(`+${waiting.length - shown}`, x + shown * step + 2, y + height / 2);
  }
  pen.textAlign = "left";
}

/** Used in full colour, reserved pale, the end of the bar is the budget (or marked where that lies far off). */
function drawGauge(pen, lane, time, { x, y, w }, look, roomy) {
  const { theme, kvScale, tokenBytes, t } = look;
  const height = 0.6 * theme.em;
  const used = lane.kvUsed.at(time);
  const reserved = lane.kvReserved.at(time);
  pen.fillStyle = theme.secondary;
  pen.fillRect(x, y, w, height);
  pen.fillStyle = theme.modeColour(lane.name);
  pen.globalAlpha = 0.3;
  pen.fillRect(x, y, w * Math.min(1, reserved / kvScale), height);
  pen.globalAlpha = 1;
  pen.fillRect(x, y, w * Math.min(1, used / kvScale), height);
  if (lane.kvBudget <= kvScale) {
    pen.fillStyle = theme.text;
    pen.fillRect(x + w * (lane.kvBudget / kvScale) - 2, y - 2, 2, height + 4);
  }
  if (!roomy) return;
  const [usedMb, reservedMb, budgetMb] = [used, reserved, lane.kvBudget].map((n) => megabytes(n * tokenBytes));
  const fields = { used: usedMb, reserved: reservedMb, budget: budgetMb };
  write(pen, t("stage.kv.now", fields), x, y + 1.3 * theme.em, w, 0.7 * theme.em, theme.muted, theme);
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
