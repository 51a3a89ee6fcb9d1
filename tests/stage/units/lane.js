import { cellUnder, firstCell, moveCell } from "/stage/cursor.js";
import { DEAD, LaneData, PREFILL, USEFUL } from "/stage/lane.js";
import { layOut } from "/stage/layout.js";
import { seatsAt } from "/stage/metrics.js";
import { momentsOf, nextMoment, stepAfter, stepAt, stepBefore } from "/stage/moments.js";
import { equal } from "./check.js";

const POLICY = { name: "static", max_batch_size: 2, max_queue_delay: null, refill: false, padded: true };

/** Two requests in one padded batch: prompts of 2 and 4 tokens, answers of 2 and 3; then one alone, later. */
function lane() {
  const requests = [[2, 2, 0], [4, 3, 0], [3, 1, 0]].map(([prompt, answer, arrival]) => ({
    arrival, follows: null, prompt: "", prompt_tokens: prompt, max_new_tokens: 5, output_tokens: answer, priority: 0,
  }));
  const made = new LaneData({ policy: POLICY, groups: 1, kv_budget: 100, refused: [] }, requests);
  made.append([0, 0, 0, 0], {
    start: [1, 2, 3, 6], repeat: [1, 1, 1, 1], group: [0, 0, 0, 0],
    reason: ["batch_full", "batch_runs", "batch_runs", "nothing_more_arrives"], cold: [false, false, false, false],
    kernel_padding: [0, 0, 0, 0], kv_reserved: [18, 18, 18, 8], rows: [2, 2, 2, 1], seconds: [1, 1, 1, 1],
    slot: [7, 8, 7, 8, 7, 8, 7], request: [0, 1, 0, 1, 0, 1, 2], fed: [2, 4, 1, 1, 1, 1, 3],
    past: [0, 0, 2, 4, 3, 5, 0], padded_to: [4, 4, 1, 1, 1, 1, 3],
    live: [true, true, true, true, false, true, true], token: [10, 20, 11, 21, 12, 22, 30],
  });
  return made;
}

const kinds = (seats) => seats.map((seat) => seat && [seat.request, seat.kind]);

export const tests = {
  "seats show prompt, useful, finished but computed, and empty": () => {
    const l = lane();
    equal(kinds(seatsAt(l, 0.5)), [null, null]);
    equal(kinds(seatsAt(l, 1.5)), [[0, PREFILL], [1, PREFILL]]);
    equal(kinds(seatsAt(l, 2.5)), [[0, USEFUL], [1, USEFUL]]);
    equal(kinds(seatsAt(l, 3.5)), [[0, DEAD], [1, USEFUL]]);
    equal(kinds(seatsAt(l, 4.5)), [null, null]);
    equal(kinds(seatsAt(l, 6.5)), [[2, PREFILL], null]);
  },
  "a padded prompt knows how much of it is useful": () => {
    equal(lane().spans.map((spans) => spans[0].useful), [0.5, 1]);
  },
  "the rectangle is reserved until the last of the batch has ended": () => {
    const { kvReserved } = lane();
    equal([0.9, 1, 3.9, 4, 6].map((t) => kvReserved.at(t)), [0, 18, 18, 0, 8]);
  },
  "moments come in order, and the next one is after now": () => {
    const l = lane();
    const all = momentsOf([l]);
    equal(all.map((m) => [m.time, m.kind]), [[1, "left"], [3, "finished"], [4, "finished"], [6, "left"], [7, "finished"]]);
    equal(nextMoment(all, 3).time, 4);
    equal(momentsOf([l], ["left"]).length, 2);
    equal(nextMoment(all, 7), undefined);
  },
  "steps forward and back go from end to end, over pauses": () => {
    const l = lane();
    equal([0, 2, 2.5, 4, 7].map((t) => stepAfter([l], t)), [2, 3, 3, 7, null]);
    equal([7, 2.5, 2, 0].map((t) => stepBefore([l], t)), [4, 2, 0, 0]);
    equal([0.5, 1, 3.9, 5, 6.5].map((t) => stepAt(l, 0, t)), [null, 0, 2, null, 3]);
  },
  "a point on the picture finds its cell, never one that has not happened yet": () => {
    const l = lane();
    const { lanes } = layOut(1200, 300, 16, [l]);
    const view = { from: 0, perSecond: 50, now: 3.2 };
    const { seats, seatHeight } = lanes[0];
    const at = (time, seat) => cellUnder(seats.x + time * 50, seats.y + (seat + 0.5) * seatHeight, [l], lanes, view);
    equal(at(2.5, 1), { lane: 0, seat: 1, step: 1 });
    equal(at(3.1, 0), { lane: 0, seat: 0, step: 2 });
    equal(at(3.5, 0), null);
    equal(at(0.5, 0), null);
  },
  "the cell cursor moves by steps and seats, over the lanes' borders, and not beyond the playhead": () => {
    const lanes = [lane(), lane()];
    const first = firstCell(lanes, 3.5);
    equal(first, { lane: 0, seat: 0, step: 2 });
    equal(moveCell(first, 1, 0, lanes, 3.5), first);
    equal(moveCell(first, -1, 0, lanes, 3.5), { lane: 0, seat: 0, step: 1 });
    const below = moveCell({ lane: 0, seat: 1, step: 1 }, 0, 1, lanes, 3.5);
    equal(below, { lane: 1, seat: 0, step: 1 });
    equal(moveCell(below, 0, -1, lanes, 3.5), { lane: 0, seat: 1, step: 1 });
    equal(moveCell(first, 0, -1, lanes, 3.5), first);
  },
  "lanes share the height by their seats, and the layout is narrow on a phone": () => {
    const seats = [{ rows: 1 }, { rows: 8 }, { rows: 8 }, { rows: 8 }];
    const wide = layOut(1200, 380, 16, seats);
    equal([wide.narrow, wide.lanes[0].strip.h < wide.lanes[1].strip.h], [false, true]);
    equal(Math.abs(wide.height - 380) < 40, true);
    const phone = layOut(368, 380, 16, seats);
    equal([phone.narrow, phone.lanes.every(({ strip, now }) => strip.x + strip.w <= 368 && now.w <= 368)], [true, true]);
    const tops = phone.lanes.map(({ head, strip, now }) => [head.y, strip.y, now.y]).flat();
    equal(tops, [...tops].sort((a, b) => a - b));
  },
};
