/** Who waits, as the order of the queue sees them: the line, and what there is to say of one. Pure, but for strings. */

import { waitingAt } from "./metrics.js";
import { bucketName, bucketOf, effectivePriority, inLine } from "./order.js";

/** Those who wait, first in line first. */
export function lineAt(lane, time) {
  const { order } = lane.policy;
  const waiting = waitingAt(lane, time);
  if (!hasOrder(lane)) return waiting;
  const risen = (r) => classAt(lane, r, time);
  const lead = waiting.reduce((first, r) => (risen(r) < risen(first) ? r : first), waiting[0]);
  return inLine(order, lead, waiting, time);
}

/** Do buckets or priorities change who goes first? */
export const hasOrder = ({ policy }) => policy.order.boundaries.length > 0 || policy.order.by_priority;

/** The class that a request has risen to. */
export const classAt = (lane, request, time) =>
  effectivePriority(lane.policy.order, request.facts.priority, request.arrival, time);

/** The bucket of a request, counted from 0; null where there are none, or its prompt is not tokenized yet. */
export function bucketAt(lane, request) {
  const { boundaries } = lane.policy.order;
  return boundaries.length && request.facts.prompt_tokens ? bucketOf(request.facts.prompt_tokens, boundaries) : null;
}

/** Its bucket, its class, and how many have gone before it that came later: sentences. */
export function placeText(lane, request, time, t) {
  if (!hasOrder(lane)) return [];
  const { boundaries, by_priority: ranked } = lane.policy.order;
  const bucket = bucketAt(lane, request);
  const own = request.facts.priority;
  const risen = classAt(lane, request, time);
  const passed = lane.requests.filter((r) => r.scheduled !== null && r.scheduled <= time && came(r, request) > 0).length;
  const tokens = request.facts.prompt_tokens;
  return [
    bucket === null ? "" : t("stage.waits.bucket", { range: bucketName(bucket, boundaries), tokens }),
    ranked ? t(risen < own ? "stage.waits.risen" : "stage.waits.priority", { own, risen }) : "",
    passed ? t("stage.waits.passed", { n: passed }) : "",
  ].filter(Boolean);
}

const came = (a, b) => a.arrival - b.arrival || a.id - b.id;
