/**
 * A small drawing per mode that tells its rule: a car with only its driver (no batching), a bus that leaves when
 * full (static), a bus with a timer at its stop (dynamic), a line bus where people get on and off (continuous).
 * Its windows are the lane's seats at the playhead.
 */

import { setAttribute, svg } from "./dom.js";
import { DEAD } from "./lane.js";

const MOST_WINDOWS = 8;

/** Which drawing tells a policy's rule. */
export function vehicleOf(policy) {
  if (policy.max_batch_size === 1) return "car";
  if (policy.refill) return "line";
  return policy.max_queue_delay === null ? "full" : "timer";
}

const MODES = { car: "none", full: "static", timer: "dynamic", line: "continuous" };

/** Has the visitor met this rule? `t` is from makeText. */
export const isMet = (policy, t) => t.knows(MODES[vehicleOf(policy)]);

export class Vehicle {
  /** @param lane LaneData @param {string} colour the mode's */
  constructor(lane, colour) {
    this.lane = lane;
    this.kind = vehicleOf(lane.policy);
    this.windows = [];
    this.hand = null;
    this.node = svg("svg", { viewBox: "0 0 84 40", class: "vehicle", "aria-hidden": "true" });
    this.node.style.color = colour;
    if (this.kind === "car") this._car();
    else this._bus();
    if (this.kind === "timer") this._timer();
    if (this.kind === "line") this._doors();
    if (this.kind === "full") this._bar();
  }

  /** @param seats from seatsAt @param {number} part of the window that is over, 0 to 1 */
  show(seats, part) {
    const group = seats.slice(0, this.lane.seats);
    const taken = group.filter((s) => s && s.kind !== DEAD).length;
    const dead = group.filter((s) => s && s.kind === DEAD).length;
    const scale = this.windows.length / this.lane.seats;
    this.windows.forEach((window, i) => {
      const state = i < Math.round(taken * scale) ? "rider" : i < Math.round((taken + dead) * scale) ? "ghost" : "empty";
      setAttribute(window, "class", state);
    });
    if (this.hand) setAttribute(this.hand, "transform", `rotate(${Math.round(part * 360)} 74 11)`);
  }

  _wheels(...xs) {
    for (const x of xs) this.node.append(svg("circle", { cx: x, cy: 33, r: 4.2, class: "wheel" }));
  }

  _window(x, y, w, h) {
    const rider = svg("circle", { cx: x + w / 2, cy: y + h - 3.2, r: Math.min(3.2, w / 2 - 0.4), class: "empty" });
    this.node.append(svg("rect", { x, y, width: w, height: h, rx: 1.2, class: "glass" }), rider);
    this.windows.push(rider);
  }

  _car() {
    const outline = "M4 32 V23 q0 -2 3 -3 l10 -2 l8 -9 q1 -1 3 -1 h17 q2 0 3 1 l7 9 q10 0 10 5 v9 z";
    this.node.append(svg("path", { d: outline, class: "body" }));
    this._window(37, 10.5, 11, 8.5);
    this.node.append(svg("path", { d: "M26.5 10.5 h7.5 v8.5 h-14.5 z", class: "glass" })); // nobody sits behind
    this._wheels(18, 53);
  }

  _bus() {
    const width = this.kind === "timer" ? 62 : 72;
    this.node.append(svg("rect", { x: 3, y: 7, width, height: 25, rx: 4, class: "body" }));
    const count = Math.min(MOST_WINDOWS, this.lane.seats);
    const step = (width - 8) / count;
    for (let i = 0; i < count; i++) this._window(7 + i * step, 11, Math.min(10, step - 1.2), 10);
    this._wheels(15, width - 9);
  }

  /** Static: shut doors, and a bar across the road until it is full. */
  _bar() {
    this.node.append(svg("path", { d: "M80 8 V38 M80 12 H76", class: "line" }));
  }

  _timer() {
    this.node.append(svg("path", { d: "M74 19 V38", class: "line" }));
    this.node.append(svg("circle", { cx: 74, cy: 11, r: 7.5, class: "dial" }));
    this.hand = svg("path", { d: "M74 11 V5", class: "hand" });
    this.node.append(this.hand);
  }

  /** Continuous: one gets on while another gets off. */
  _doors() {
    const arrows = ["M31 39.5 V27.5 m-3 3.5 l3 -3.5 l3 3.5", "M44 27.5 V39.5 m-3 -3.5 l3 3.5 l3 -3.5"];
    this.node.append(svg("rect", { x: 26, y: 23, width: 23, height: 9, class: "door" }));
    for (const d of arrows) this.node.append(svg("path", { d, class: "arrow" }));
  }
}
