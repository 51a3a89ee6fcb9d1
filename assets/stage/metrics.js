/**
 * What a lane has achieved up to a moment, in numbers: the definitions of lab/analysis/metrics.py, on the steps
 * that had ended by then. Pure. Seconds, tokens; a share is between 0 and 1; what is undefined is null.
 */

import { countUpTo } from "./series.js";

/** The nearest-rank percentile; null for no samples. @param {number} p a whole number, 1 to 100 */
export function percentile(samples, p) {
  if (!samples.length) return null;
  const rising = [...samples].sort((a, b) => a - b);
  return rising[Math.ceil((p * rising.length) / 100) - 1];
}

const ratio = (part, whole) => (whole ? part / whole : null);

/** How many tokens the request had by then. */
export const tokensBy = (request, time) => countUpTo(request.times, time);

/** Had it all its tokens by then? */
export const finishedBy = (request, time) => request.finished !== null && request.finished <= time;

/** @param {LaneData} lane @param {number} time seconds on its clock */
export function metricsAt(lane, time) {
  const latencies = latenciesAt(lane, time);
  const tokens = lane.tokensGiven.at(time);
  const makespan = makespanAt(lane, time);
  const rowSteps = lane.rowSteps.at(time);
  return {
    requests: lane.requests.length,
    finished: latencies.e2e.length,
    refused: lane.requests.filter((r) => r.refusal !== null).length,
    tokens,
    throughput: makespan === null ? null : ratio(tokens, makespan),
    ttft_p50: percentile(latencies.ttft, 50),
    tpot_p50: percentile(latencies.tpot, 50),
    e2e_p99: percentile(latencies.e2e, 99),
    e2e_n: latencies.e2e.length,
    padding_waste: ratio(lane.padding.at(time), lane.promptPositions.at(time)),
    straggler_waste: ratio(lane.deadRowSteps.at(time), rowSteps),
    kv_peak_used: lane.kvUsed.peakAt(time),
    kv_peak_reserved: lane.kvReserved.peakAt(time),
  };
}

function latenciesAt(lane, time) {
  const ttft = [];
  const tpot = [];
  const e2e = [];
  for (const request of lane.requests) {
    const count = tokensBy(request, time);
    if (count) ttft.push(request.times[0] - request.arrival);
    if (!finishedBy(request, time)) continue;
    const last = request.times[count - 1];
    e2e.push(last - request.arrival);
    if (count > 1) tpot.push((last - request.times[0]) / (count - 1));
  }
  return { ttft, tpot, e2e };
}

/** Last token − first arrival. */
function makespanAt(lane, time) {
  const last = lane.tokensGiven.times[countUpTo(lane.tokensGiven.times, time) - 1];
  if (last === undefined) return null;
  let first = Infinity;
  for (const request of lane.requests) if (request.arrival !== null) first = Math.min(first, request.arrival);
  return last - first;
}

/** Requests that have arrived and whose prompt is not yet being computed, the longest waiting first. */
export function waitingAt(lane, time) {
  return lane.requests
    .filter((r) => r.refusal === null && r.arrival !== null && r.arrival <= time)
    .filter((r) => r.scheduled === null || r.scheduled > time)
    .sort((a, b) => a.arrival - b.arrival || a.id - b.id);
}

/** The rows that each seat computes at a moment: {request, kind}, or null for an empty seat. */
export function seatsAt(lane, time) {
  return lane.spans.map((spans) => {
    const i = countUpToStart(spans, time) - 1;
    return i >= 0 && spans[i].end > time ? spans[i] : null;
  });
}

/** How many of the spans begin at most at `time`. */
export function countUpToStart(spans, time) {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].start <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
