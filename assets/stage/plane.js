/** Latency against throughput: a point per mode at the playhead, and a trail of its earlier settings. */

import { Plot } from "./plot.js";
import { duration, laneName, number } from "./text.js";
import { logTicks, ticks } from "./ticks.js";

const LATENCIES = { ttft_p50: "ttft", tpot_p50: "tpot", e2e_p99: "p99" }; // and the word that each needs

export const latenciesOf = (t) => Object.keys(LATENCIES).filter((key) => t.knows(LATENCIES[key]));

/** @param numbers of each lane, from metricsAt @param trailOf mode -> points of earlier settings @param {string} latency one of latenciesOf */
export function drawPlane(canvas, lanes, numbers, latency, trailOf, theme, t) {
  if (!canvas.clientWidth) return;
  const series = lanes.map((lane, i) => {
    const now = numbers[i];
    const trail = trailOf(lane.name).filter((p) => p[latency] > 0 && p.throughput > 0);
    return { lane, trail, now: now[latency] > 0 && now.throughput > 0 ? now : null };
  });
  const all = series.flatMap(({ trail, now }) => (now ? [...trail, now] : trail));
  const plot = new Plot(canvas, theme, linear(all, t), logarithmic(all, latency, t));
  for (const one of series) drawMode(plot, one, latency, theme, t);
}

function drawMode(plot, { lane, trail, now }, latency, theme, t) {
  const { pen } = plot;
  const colour = theme.modeColour(lane.name);
  const points = trail.map((p) => [plot.px(p.throughput), plot.py(p[latency])]);
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (const [x, y] of points) pen.lineTo(x, y);
  pen.stroke();
  for (const [x, y] of points) circle(pen, x, y, 2.5);
  if (!now) return;
  const x = plot.px(now.throughput);
  const y = plot.py(now[latency]);
  circle(pen, x, y, 5.5);
  plot.label(laneName(lane, t), x, y);
}

function circle(pen, x, y, r) {
  pen.beginPath();
  pen.arc(x, y, r, 0, 2 * Math.PI);
  pen.fill();
}

function linear(points, t) {
  const high = Math.max(1, ...points.map((p) => p.throughput)) * 1.12;
  const title = t("stage.plane.throughput");
  return { at: (v) => v / high, marks: ticks(0, high, 4), name: (v) => number(v, 2), title };
}

/** Latencies of the modes lie far apart, so that axis is logarithmic. */
function logarithmic(points, latency, t) {
  const values = points.map((p) => p[latency]);
  const low = values.length ? Math.min(...values) / 1.6 : 0.01;
  const high = values.length ? Math.max(...values) * 1.6 : 10;
  const at = (v) => Math.log(v / low) / Math.log(high / low);
  const marks = logTicks(low, high);
  const sparse = marks.length > 7 ? marks.filter((v) => /^1/.test(v.toExponential())) : marks;
  return { at, marks: sparse, name: duration, title: t("stage.plane.latency", { name: t(`stage.board.${latency}.name`) }) };
}
