import { waitsText } from "/stage/now.js";
import { makeText } from "/stage/text.js";
import { equal } from "./check.js";

const text = makeText({
  "stage.waits.plain": "{waited}",
  "stage.waits.window": "{waited} of {window}",
  "stage.waits.over": "{waited}, over {window}",
  "stage.waits.endless": "{waited}, no end",
});
const busyUntil = (end) => [[{ start: 0, end }]];
const lane = (window, end) => ({ window, spans: busyUntil(end) });
const request = { arrival: 1 };

export const tests = {
  "a wait is told against the window while that lasts, and while the device is free": () => {
    equal(waitsText(lane(0.05, 2), request, 1.02, text), "20 ms of 50 ms");
    equal(waitsText(lane(0.05, 1), request, 1.05, text), "50 ms of 50 ms");
  },
  "a window that is over while the device computes is said to be over": () => {
    equal(waitsText(lane(0.05, 3), request, 2.5, text), "1.50 s, over 50 ms");
  },
  "without a window a wait is just that long": () => {
    equal(waitsText(lane(0, 3), request, 2.5, text), "1.50 s");
    equal(waitsText(lane(Infinity, 3), request, 2.5, text), "1.50 s, no end");
  },
};
