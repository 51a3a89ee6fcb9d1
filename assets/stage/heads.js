/** The head of each lane: its drawing, name, one-line rule, speed, and how many are done. */

import { el, setAttribute, setText } from "./dom.js";
import { Vehicle, isMet, vehicleOf } from "./drawings.js";
import { seatsAt, waitingAt } from "./metrics.js";
import { duration, laneName, speed, times } from "./text.js";

const LONG_NAME = 15; // letters: a longer one takes two lines, and the room of the rule

/** In letters; a Chinese character is as wide as two. */
const wide = (text) => [...text].reduce((sum, sign) => sum + (sign > "\u2e80" ? 2 : 1), 0);

export class Heads {
  /** @param {Element} parent positioned like the canvas it lies on */
  constructor(parent) {
    this.parent = parent;
    this.items = [];
  }

  /** @param origins by lane: "" or a word such as "predicted" */
  build(lanes, origins, theme, t) {
    for (const item of this.items) item.node.remove();
    this.items = lanes.map((lane, i) => {
      const vehicle = new Vehicle(lane, theme.modeColour(lane.name));
      const fast = el("span", { class: "speed" });
      const gain = el("span", { class: "gain" });
      const done = el("span", { class: "done" });
      const title = el("span", { class: "title", text: laneName(lane, t) });
      const origin = el("span", { class: "origin", text: origins[i] });
      const met = isMet(lane.policy, t);
      vehicle.node.classList.toggle("unmet", !met);
      const rule = el("span", { class: "rule", text: met ? ruleOf(lane, t) : "" });
      const side = el("div", { class: "side" }, vehicle.node, origin);
      const foot = el("div", { class: "foot" }, fast, gain, done);
      const node = el("div", { class: wide(title.textContent) > LONG_NAME ? "head long" : "head" }, side, title, rule, foot);
      node.style.setProperty("--mode", theme.modeColour(lane.name));
      this.parent.append(node);
      return { node, vehicle, origin, fast, gain, done, lane, word: origins[i] };
    });
  }

  /** @param {boolean[]} flags which lanes will be replaced; they say so */
  fade(flags, t) {
    this.items.forEach(({ node, origin, word }, i) => {
      node.classList.toggle("fading", flags[i] ?? false);
      setText(origin, flags[i] ? t("stage.origin.stale") : word);
      origin.hidden = !origin.textContent;
    });
  }

  place(places) {
    this.items.forEach(({ node }, i) => {
      const { x, y, w, h } = places[i].head;
      Object.assign(node.style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` });
    });
  }

  /** @param numbers of each lane, from metricsAt */
  show(time, numbers, t) {
    const base = numbers[this.items.findIndex(({ lane }) => lane.name === "none")]?.throughput;
    this.items.forEach(({ lane, vehicle, fast, gain, done }, i) => {
      const metrics = numbers[i];
      setText(fast, metrics.throughput && t.knows("throughput") ? t("stage.head.speed", { speed: speed(metrics.throughput) }) : "");
      setText(gain, base && metrics.throughput && lane.name !== "none" && t.knows("throughput") ? times(metrics.throughput / base) : "");
      setAttribute(gain, "title", t("stage.head.gain"));
      setText(done, t("stage.head.done", { done: metrics.finished, of: metrics.requests - metrics.refused }));
      vehicle.show(seatsAt(lane, time), windowPart(lane, time));
    });
  }
}

function ruleOf(lane, t) {
  return t(`stage.rule.${vehicleOf(lane.policy)}`, {
    seats: lane.policy.max_batch_size,
    window: Number.isFinite(lane.window) ? duration(lane.window) : "∞",
  });
}

/** How much of the window the longest waiting has used. */
function windowPart(lane, time) {
  const [oldest] = waitingAt(lane, time);
  return oldest && lane.window > 0 ? Math.min(1, (time - oldest.arrival) / lane.window) : 0;
}
