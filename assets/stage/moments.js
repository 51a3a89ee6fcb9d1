/** What happened when, over all lanes, and the way from one moment to the next. Pure. */

/**
 * "left"      a batch left (or a request, alone)
 * "refilled"  a free seat of a running batch was taken
 * "finished"  a request got its last token
 * "memory"    somebody could not be taken in, because the KV budget was full, or can never be
 */
export const KINDS = ["left", "refilled", "finished", "memory"];

/** All moments of these kinds in order of time. */
export function momentsOf(lanes, kinds = KINDS) {
  return lanes
    .flatMap((lane) => lane.moments)
    .filter((m) => kinds.includes(m.kind))
    .sort(byTime);
}

const byTime = (a, b) => a.time - b.time;

/** The first moment after `time` (seconds), or undefined; `moments` in order of time. */
export const nextMoment = (moments, time) => moments.find((m) => m.time > time);

/** The last moment at or before `time` in any of the lanes, or undefined. */
export function lastMoment(lanes, time) {
  let last;
  for (const lane of lanes) {
    for (const moment of lane.moments) {
      if (moment.time <= time && (!last || moment.time >= last.time)) last = moment;
    }
  }
  return last;
}

/** The end of the first step that ends after `time`, in any of the lanes; null where there is none. */
export function stepAfter(lanes, time) {
  let best = Infinity;
  for (const lane of lanes) for (const end of around(lane, time)) if (end > time) best = Math.min(best, end);
  return best === Infinity ? null : best;
}

/** The end of the last step that ended before `time`; 0 where there is none. */
export function stepBefore(lanes, time) {
  let best = 0;
  for (const lane of lanes) for (const end of around(lane, time)) if (end < time) best = Math.max(best, end);
  return best;
}

/** Ends of the steps next to `time` in each group; the steps of a group do not overlap. */
function around(lane, time) {
  const ends = [];
  for (const steps of lane.groupSteps) {
    let low = 0;
    let high = steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lane.stepEnd[steps[middle]] <= time) low = middle + 1;
      else high = middle;
    }
    for (let i = Math.max(0, low - 2); i <= low + 1 && i < steps.length; i++) ends.push(lane.stepEnd[steps[i]]);
  }
  return ends;
}

/** The step of a group that runs at `time`: its index, or null while the group stands still. */
export function stepAt(lane, group, time) {
  const steps = lane.groupSteps[group] ?? [];
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.stepStart[steps[middle]] <= time) low = middle + 1;
    else high = middle;
  }
  const step = steps[low - 1];
  return step !== undefined && time < lane.stepEnd[step] ? step : null;
}
