import { bucketName, bucketOf, effectivePriority, inLine } from "/stage/order.js";
import { equal } from "./check.js";

const EDGES = [128, 512];

export const tests = {
  "127 is short, 128 and 512 are medium, 513 is long": () => {
    equal([1, 127, 128, 512, 513].map((n) => bucketOf(n, EDGES)), [0, 0, 1, 1, 2]);
    equal([63, 64, 128, 129, 512, 513].map((n) => bucketOf(n, [64, ...EDGES])), [0, 1, 1, 2, 2, 3]);
    equal([63, 64, 900].map((n) => bucketOf(n, [64])), [0, 1, 1]);
    equal(bucketOf(900, []), 0);
  },
  "a bucket is named by its range": () => {
    const named = (edges) => Array.from({ length: edges.length + 1 }, (_, i) => bucketName(i, edges));
    equal(named(EDGES), ["< 128", "128–512", "> 512"]);
    equal(named([64, 128, 512]), ["< 64", "64–128", "129–512", "> 512"]);
    equal(named([64]), ["< 64", "≥ 64"]);
  },
  "a waiting request rises class by class and is most urgent at the limit": () => {
    const order = { by_priority: true, ageing: 3 };
    equal([0, 0.9, 1, 2.9, 3, 50].map((t) => effectivePriority(order, 3, 10, 10 + t)), [3, 3, 2, 1, 0, 0]);
    equal(effectivePriority({ by_priority: true, ageing: null }, 3, 0, 1e9), 3);
    equal(effectivePriority({ by_priority: false, ageing: 3 }, 3, 0, 0), 0);
  },
  "the line is the leader's bucket, then the nearest by priority and arrival": () => {
    const waiting = [[10, 0, 0], [300, 1, 0], [300, 0, 0.1], [900, 1, 0.2]].map(([prompt_tokens, priority, arrival], id) => ({
      id, arrival, facts: { prompt_tokens, priority },
    }));
    const lead = { id: 9, arrival: 0, facts: { prompt_tokens: 700, priority: 0 } };
    const line = (order) => inLine(order, lead, waiting, 0.2).map((r) => r.id);
    equal(line({ boundaries: EDGES, by_priority: true, ageing: null }), [3, 2, 1, 0]);
    equal(line({ boundaries: EDGES, by_priority: false, ageing: null }), [3, 1, 2, 0]);
    equal(line({ boundaries: [], by_priority: false, ageing: null }), [0, 1, 2, 3]);
  },
};
