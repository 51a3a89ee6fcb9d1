/**
 * One lane as it grows: its columns, and what follows from them for each request, slot and moment.
 * The definitions are those of lab/analysis; times are seconds on the lane's clock. Knows no page.
 */

import { emptyColumns, markOf, merge } from "./columns.js";
import { Series } from "./series.js";

export const PREFILL = 0;
export const USEFUL = 1;
export const DEAD = 2;

/** One request in one lane; null is what has not happened (yet). */
class Served {
  constructor(facts, id, refusal) {
    this.id = id;
    this.facts = facts;
    this.refusal = refusal; // the sentence, or null
    this.longest = facts.output_tokens ?? facts.max_new_tokens;
    this.arrival = facts.follows === null ? facts.arrival : null;
    this.scheduled = null; // start of the step that computed the prompt
    this.finished = null; // when the last token was there
    this.times = []; // of each token
    this.tokens = []; // ids; empty in a predicted lane
    this.batch = null;
  }
}

export class LaneData {
  /**
   * @param head {policy, groups, scattered, kv_budget, refused, stop_ids} as in the record
   * @param requests the workload's, by id
   */
  constructor(head, requests) {
    this.policy = head.policy;
    this.name = head.policy.name;
    this.window = head.policy.max_queue_delay ?? Infinity; // seconds
    this.groups = head.groups;
    this.kvBudget = head.kv_budget * head.groups; // tokens, of all groups
    this.groupBudget = head.kv_budget;
    const parts = head.scattered ? head.groups : 1; // of a batch
    this.seats = Math.ceil(Math.min(head.policy.max_batch_size, requests.length) / parts); // of one group
    this.rows = this.seats * head.groups;
    const refusals = new Map(head.refused);
    this.requests = requests.map((facts, id) => new Served(facts, id, refusals.get(id) ?? null));
    this.columns = emptyColumns();
    this.version = 0;
    this.end = 0; // when the last step so far ended
    this.frontier = 0; // nothing that is still to come begins before
    this.stopIds = new Set(head.stop_ids); // tokens that end an answer of unforced length
    this.firstSlots = Array.from({ length: head.groups }, () => null); // each group's first slot on its device
    this.runRow = []; // where a run's rows begin in the columns
    this.runToken = [];
    this.runStep = []; // its first step
    this.stepRun = [];
    this.stepStart = [];
    this.stepEnd = [];
    this.groupSteps = Array.from({ length: head.groups }, () => []);
    this.spans = Array.from({ length: this.rows }, () => []); // by seat: the same work for the same request
    this.dispatches = []; // steps that computed prompts
    this.moments = []; // {time, kind, ...}: see moments.js
    this.tokensGiven = new Series();
    this.kvUsed = new Series();
    this.kvReserved = new Series();
    this.rowSteps = new Series();
    this.deadRowSteps = new Series();
    this.promptPositions = new Series();
    this.padding = new Series();
    this._reasons = Array.from({ length: head.groups }, () => "");
    for (const request of this.requests) {
      if (request.refusal !== null && request.arrival !== null) this._refuse(request);
    }
  }

  get mark() {
    return markOf(this.columns);
  }

  /** Append columns that begin at the mark `from`. @returns {"grown" | "same" | "gap"} */
  append(from, more) {
    const known = this.columns.start.length;
    const result = merge(this.columns, from, more);
    for (let run = known; run < this.columns.start.length; run++) this._book(run);
    if (result === "grown") this.version += 1;
    return result;
  }

  /** The request's row in a step: an index into the row columns, or null for an empty seat. */
  rowAt(step, seat) {
    const run = this.stepRun[step];
    for (let row = this.runRow[run]; row < this.runRow[run] + this.columns.rows[run]; row++) {
      if (this._seat(run, row) === seat) return row;
    }
    return null;
  }

  /** Seats are counted group by group, whatever the slots' numbers on the groups' devices. */
  _seat(run, row) {
    const { group, slot } = this.columns;
    return group[run] * this.seats + slot[row] - this.firstSlots[group[run]];
  }

  /** The token id that a row emitted in a step; null where only times are known. */
  tokenOf(step, row) {
    const run = this.stepRun[step];
    const nth = step - this.runStep[run];
    return this.columns.token[this.runToken[run] + nth * this.columns.rows[run] + row - this.runRow[run]] ?? null;
  }

  _book(run) {
    const c = this.columns;
    const steps = c.repeat[run];
    const first = this.stepRun.length;
    const row = run ? this.runRow[run - 1] + c.rows[run - 1] : 0;
    const token = run ? this.runToken[run - 1] + c.repeat[run - 1] * c.rows[run - 1] : 0;
    this.runRow.push(row);
    this.runToken.push(token);
    this.runStep.push(first);
    let end = c.start[run];
    for (let k = 0; k < steps; k++) {
      this.groupSteps[c.group[run]].push(first + k);
      this.stepRun.push(run);
      this.stepStart.push(end);
      end += c.seconds[first + k];
      this.stepEnd.push(end);
    }
    this.end = Math.max(this.end, end);
    this.frontier = c.start[run];
    this._dispatch(run, row, row + c.rows[run], end);
    this._bookRows(run, row, row + c.rows[run]);
    this._noteRefusal(run);
  }

  /** A step that computes prompts: who, with how many others, and what it reserves. */
  _dispatch(run, row, rowsEnd, end) {
    const c = this.columns;
    const start = c.start[run];
    const requests = [];
    let positions = 0;
    let padding = 0;
    for (let i = row; i < rowsEnd; i++) {
      if (c.past[i] !== 0) continue;
      requests.push(c.request[i]);
      positions += c.padded_to[i];
      padding += c.padded_to[i] - c.fed[i];
    }
    if (!requests.length) return;
    this.promptPositions.add(end, positions);
    this.padding.add(end, padding);
    const aboard = rowsEnd - row - requests.length;
    const dispatch = { run, start, end, requests, aboard, reason: c.reason[run], group: c.group[run] };
    this.dispatches.push(dispatch);
    const kind = dispatch.reason === "seat_free" ? "refilled" : "left";
    this.moments.push({ time: start, kind, lane: this, dispatch });
    this._reserve(requests, start);
  }

  _reserve(ids, start) {
    const facts = ids.map((id) => this.requests[id].facts);
    const longest = (key) => Math.max(...facts.map((f) => f[key]));
    const rectangle = ids.length * (longest("prompt_tokens") + longest("max_new_tokens"));
    const whole = { tokens: rectangle, open: ids.length };
    if (this.policy.padded) this.kvReserved.add(start, rectangle);
    for (const id of ids) {
      const request = this.requests[id];
      request.scheduled ??= start;
      const own = request.facts.prompt_tokens + request.facts.max_new_tokens;
      request.batch = this.policy.padded ? whole : { tokens: own, open: 1 };
      if (!this.policy.padded) this.kvReserved.add(start, own);
    }
  }

  _bookRows(run, row, rowsEnd) {
    const c = this.columns;
    const steps = c.repeat[run];
    const first = this.runStep[run];
    let live = 0;
    const group = c.group[run];
    this.firstSlots[group] ??= Math.min(...c.slot.slice(row, rowsEnd)); // the lowest free slot is taken first
    for (let i = row; i < rowsEnd; i++) {
      this._span(run, i, c.start[run], this.stepEnd[first + steps - 1]);
      if (c.live[i]) live += 1;
    }
    for (let k = 0; k < steps; k++) {
      this.tokensGiven.add(this.stepEnd[first + k], live);
      this.rowSteps.add(this.stepEnd[first + k], rowsEnd - row);
      this.deadRowSteps.add(this.stepEnd[first + k], rowsEnd - row - live);
    }
    for (let i = row; i < rowsEnd; i++) if (c.live[i]) this._give(run, i, i - row);
  }

  _span(run, row, start, end) {
    const c = this.columns;
    const kind = !c.live[row] ? DEAD : c.past[row] === 0 ? PREFILL : USEFUL;
    const spans = this.spans[this._seat(run, row)];
    const last = spans[spans.length - 1];
    const goesOn = last && last.request === c.request[row] && last.kind === kind && start - last.end < 1e-9;
    if (goesOn && kind !== PREFILL) last.end = end;
    else spans.push({ start, end, request: c.request[row], kind, useful: c.fed[row] / c.padded_to[row] });
  }

  /** The tokens of a live row go to its request. */
  _give(run, row, place) {
    const c = this.columns;
    const request = this.requests[c.request[row]];
    for (let k = 0; k < c.repeat[run]; k++) {
      const time = this.stepEnd[this.runStep[run] + k];
      request.times.push(time);
      const token = c.token[this.runToken[run] + k * c.rows[run] + place];
      if (token !== undefined) request.tokens.push(token);
      const stopped = request.facts.output_tokens === null && this.stopIds.has(token);
      if (stopped || request.times.length >= request.longest) this._finish(request);
      else this.kvUsed.add(time, request.times.length === 1 ? request.facts.prompt_tokens : 1);
    }
  }

  _finish(request) {
    const count = request.times.length;
    const time = request.times[count - 1];
    request.finished = time;
    if (count > 1) this.kvUsed.add(time, -(request.facts.prompt_tokens + count - 2));
    this.moments.push({ time, kind: "finished", lane: this, request });
    request.batch.open -= 1;
    if (request.batch.open === 0) this.kvReserved.add(time, -request.batch.tokens);
    this._follow(request.id, time);
  }

  _refuse(request) {
    this.moments.push({ time: request.arrival, kind: "memory", lane: this, request });
    this._follow(request.id, request.arrival);
  }

  /** In a closed loop the next request comes think time after the one before. */
  _follow(id, ended) {
    for (const next of this.requests) {
      if (next.facts.follows !== id) continue;
      next.arrival = ended + next.facts.arrival;
      if (next.refusal !== null) this._refuse(next);
    }
  }

  /** The first of a row of steps for which somebody waited because the KV budget was full. */
  _noteRefusal(run) {
    const { group, reason, start } = this.columns;
    if (reason[run] === "memory_full" && this._reasons[group[run]] !== "memory_full") {
      this.moments.push({ time: start[run], kind: "memory", lane: this, run });
    }
    this._reasons[group[run]] = reason[run];
  }
}
