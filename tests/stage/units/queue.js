import { lineAt, placeText } from "/stage/queue.js";
import { makeText } from "/stage/text.js";
import { equal } from "./check.js";

const ORDER = { boundaries: [48, 96], by_priority: true, ageing: 4 };
const text = makeText({
  "stage.waits.bucket": "{range} ({tokens})",
  "stage.waits.priority": "{own}",
  "stage.waits.risen": "{own}>{risen}",
  "stage.waits.passed": "passed by {n}",
});

/** Requests as [prompt tokens, priority, arrival, scheduled]. */
const laneOf = (order, requests) => ({
  policy: { order },
  requests: requests.map(([prompt_tokens, priority, arrival, scheduled], id) => ({
    id, arrival, scheduled, refusal: null, facts: { prompt_tokens, priority },
  })),
});

const lane = (order = ORDER) => laneOf(order, [[60, 1, 0, null], [20, 0, 1, null], [200, 1, 1, null], [20, 1, 1, 2], [30, 1, 2, null]]);

export const tests = {
  "the most urgent stands first, then its bucket, then the nearest ones": () => {
    equal(lineAt(lane(), 2).map((r) => r.id), [1, 4, 0, 2]);
  },
  "without an order the first come stands first": () => {
    equal(lineAt(lane({ boundaries: [], by_priority: false, ageing: 4 }), 2).map((r) => r.id), [0, 1, 2, 4]);
    equal(placeText(lane({ boundaries: [], by_priority: false, ageing: 4 }), lane().requests[0], 2, text), []);
  },
  "a card says bucket, class, and who has passed": () => {
    const { requests } = lane();
    equal(placeText(lane(), requests[0], 3, text), ["48–96 (60)", "1", "passed by 1"]);
    equal(placeText(lane(), requests[0], 4, text), ["48–96 (60)", "1>0", "passed by 1"]);
    equal(placeText(lane(), requests[2], 1, text), ["> 96 (200)", "1"]);
  },
  "a prompt that is not tokenized has no bucket yet": () => {
    const empty = laneOf(ORDER, [[0, 1, 0, null]]);
    equal(placeText(empty, empty.requests[0], 0, text), ["1"]);
  },
};
