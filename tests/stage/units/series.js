import { Series, countUpTo } from "/stage/series.js";
import { logTicks, placesOf, ticks } from "/stage/ticks.js";
import { percentile } from "/stage/metrics.js";
import { equal } from "./check.js";

export const tests = {
  "a series holds its value until the next change": () => {
    const s = new Series();
    s.add(1, 5);
    s.add(2, -3);
    equal([0.9, 1, 1.5, 2, 9].map((t) => s.at(t)), [0, 5, 5, 2, 2]);
    equal([0, 1, 9].map((t) => s.peakAt(t)), [0, 5, 5]);
  },
  "changes at the same time count together, so a swap is no peak": () => {
    const s = new Series();
    s.add(1, 5);
    s.add(2, 4);
    s.add(2, -5);
    equal([s.at(2), s.peakAt(3)], [4, 5]);
  },
  "a late change is sorted in": () => {
    const s = new Series();
    s.add(1, 1);
    s.add(3, 1);
    s.add(2, 10);
    equal([s.times, s.values, s.peaks], [[1, 2, 3], [1, 11, 12], [1, 11, 12]]);
  },
  "percentiles are nearest rank": () => {
    equal([percentile([], 50), percentile([3, 1, 2, 4], 50), percentile([3, 1, 2, 4], 99)], [null, 2, 4]);
    equal(percentile(Array.from({ length: 100 }, (_, i) => i + 1), 99), 99);
  },
  "count up to a limit": () => equal([0, 1, 2, 5].map((x) => countUpTo([1, 1, 2, 4], x)), [0, 2, 3, 4]),
  "ticks are round": () => {
    equal(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
    equal(ticks(0.13, 0.41, 4), [0.2, 0.3, 0.4]);
    equal(ticks(5, 5, 4), []);
    equal([[0.2, 0.3, 0.4], [0.05, 0.1], [1, 2], [0, 20], [3]].map(placesOf), [1, 2, 0, 0, 2]);
    equal(logTicks(0.03, 1), [0.05, 0.1, 0.2, 0.5, 1]);
  },
};
