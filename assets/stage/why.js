/** Reasons as sentences: why a batch left just then, why nobody joined a step. Pure, but for the strings given. */

import { inLine } from "./order.js";
import { duration, list, thousands } from "./text.js";

/** The sentence for a dispatch (see LaneData.dispatches). @param t from makeText */
export function whyDispatched(lane, dispatch, t) {
  if (lane.policy.max_batch_size === 1) return t("stage.why.alone", facts(lane, dispatch));
  return t(`stage.why.${dispatch.reason}`, facts(lane, dispatch));
}

/** The sentence for a step in which nobody joined. */
export function whyNobodyJoined(lane, run, t) {
  return t(`stage.stays.${lane.columns.reason[run]}`, {
    seats: lane.policy.max_batch_size,
    budget: thousands(lane.groupBudget),
    reserved: thousands(lane.columns.kv_reserved[run]),
  });
}

function facts(lane, dispatch) {
  const left = dispatch.requests.map((id) => lane.requests[id]);
  const oldest = left.reduce((a, b) => (b.arrival < a.arrival ? b : a));
  const waited = dispatch.start - oldest.arrival;
  const next = nextInLine(lane, dispatch);
  const seats = lane.policy.max_batch_size;
  return {
    requests: list(dispatch.requests),
    n: dispatch.requests.length,
    seats,
    empty: seats - dispatch.aboard - dispatch.requests.length,
    aboard: dispatch.aboard,
    oldest: oldest.id,
    waited: duration(waited),
    limit: duration(lane.policy.bucket_wait_limit),
    window: Number.isFinite(lane.window) ? duration(lane.window) : "∞",
    few: lane.policy.run_at_once_below,
    next: next?.id ?? "–",
    needs: next ? thousands(next.facts.prompt_tokens + next.facts.max_new_tokens) : "–",
    prompt: next?.facts.prompt_tokens ?? "–",
    budget: thousands(lane.groupBudget),
    tokens: thousands(lane.policy.max_num_batched_tokens),
  };
}

/** Who would have been the next to leave with this dispatch, and was left behind. */
function nextInLine(lane, { start, requests }) {
  const waiting = lane.requests
    .filter((r) => r.refusal === null && r.arrival !== null && r.arrival <= start && !requests.includes(r.id))
    .filter((r) => r.scheduled === null || r.scheduled > start);
  return inLine(lane.policy.order, lane.requests[requests[0]], waiting, start)[0];
}

/** A moment (see moments.js) as a sentence. */
export function whatHappened(moment, t) {
  const { lane, kind } = moment;
  if (moment.dispatch) return whyDispatched(lane, moment.dispatch, t);
  if (kind === "finished") {
    const { id, times, arrival, finished } = moment.request;
    return t("stage.moment.finished", { request: id, tokens: times.length, after: duration(finished - arrival) });
  }
  if (moment.request) return t("stage.moment.refused", { request: moment.request.id, why: moment.request.refusal });
  return whyNobodyJoined(lane, moment.run, t);
}
