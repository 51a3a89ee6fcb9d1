/** A run as the page has it: its head, its lanes as they grow, the bytes of its tokens. Knows no network. */

import { LaneData } from "./lane.js";

export class RunData {
  constructor(id) {
    this.id = id;
    this.head = null; // {provenance, workload, lanes}: the record without its columns
    this.lanes = [];
    this.pieces = new Map(); // token id -> Uint8Array
    this.state = ""; // waiting, running, finished, failed, cancelled; "unknown" to the server
    this.over = false;
    this.position = 0; // place in line
    this.progress = null; // {phase, done, total}
    this.error = null; // {why, detail}
    this.faults = 0; // answers that did not fit
  }

  /** measured, predicted, recorded, or expected: lanes in which nothing has happened */
  get kind() {
    return this.head?.provenance.kind ?? "";
  }

  lane(name) {
    return this.lanes.find((lane) => lane.name === name) ?? null;
  }

  /** What to ask for: "runs.steps.rows.tokens" of each lane; "" before the lanes are known. */
  get since() {
    return this.lanes.map((lane) => lane.mark.join(".")).join(",");
  }

  /** Take in an answer of the route (see lab/ui/routes.py). @returns whether something is new to see */
  take(answer) {
    const before = JSON.stringify([this.state, this.position, this.progress]);
    Object.assign(this, {
      state: answer.state,
      position: answer.position ?? 0,
      progress: answer.progress ?? null,
      error: answer.error ?? null,
    });
    const grown = this._grow(answer.head ?? null, answer.lanes ?? [], answer.tokens ?? []);
    this.over = answer.over && (answer.state !== "finished" || this._whole(answer.lanes ?? []));
    return grown || before !== JSON.stringify([this.state, this.position, this.progress]) || this.over;
  }

  /** Take in a whole record, or a longer one of the same run. */
  takeRecord(record, over = true) {
    this.state = over ? "finished" : "running";
    this._grow(record, record.lanes.map((lane) => ({ from: [0, 0, 0, 0], columns: lane.columns })), record.tokens);
    this.over = over;
  }

  _grow(head, lanes, tokens) {
    if (head && !this.head) {
      this.head = head;
      this.lanes = head.lanes.map((lane) => new LaneData(lane, head.workload.requests));
    }
    for (const [id, hex] of tokens) if (!this.pieces.has(id)) this.pieces.set(id, fromHex(hex));
    let grown = false;
    lanes.forEach(({ from, columns }, i) => {
      if (!this.lanes[i]) return;
      const result = this.lanes[i].append(from, columns);
      if (result === "gap") this.faults += 1;
      grown ||= result === "grown";
    });
    return grown;
  }

  /** The last answer began where we stood, so nothing is missing. */
  _whole(lanes) {
    return this.head !== null && lanes.length === this.lanes.length;
  }
}

function fromHex(hex) {
  const found = hex.match(/../g) ?? [];
  return Uint8Array.from(found, (byte) => parseInt(byte, 16));
}
