/**
 * Sliders over lists of values. Once they are on the page they own their values: Python's are taken only with a new
 * revision (an opened link, a preset), or echoes would fight the hand. A value is reported when the slider is let go.
 */

import { el, setAttribute, setText } from "./dom.js";

const KEYBOARD_PAUSE = 300; // milliseconds without another key until a value counts as let go

export class Knobs {
  /**
   * @param memory {revision, values, told}: kept outside the page, survives a remount
   * @param report called with the values, and the modes whose lanes those that have changed concern
   * @param turn called with the values while one is moved
   */
  constructor(memory, report, turn = () => {}) {
    this.turn = turn;
    this.memory = memory;
    this.report = report;
    this.node = el("div", { class: "knobs" });
    this.items = [];
    this.timer = null;
  }

  /** @param spec {revision, items: [{name, stops: [number|null], value, lanes}]}, or null for no knobs */
  show(spec, t) {
    this.node.hidden = !spec;
    if (!spec) return;
    if (this.memory.revision !== spec.revision) {
      this.memory.revision = spec.revision;
      this.memory.values = Object.fromEntries(spec.items.map(({ name, value }) => [name, value]));
      this.memory.told = this.memory.values;
    }
    this.lanes = new Map(spec.items.map(({ name, lanes }) => [name, lanes ?? []]));
    const made = JSON.stringify(spec.items.map(({ name, stops }) => [name, stops]));
    if (made !== this.made) this._build(spec.items, t);
    this.made = made;
    for (const item of this.items) item.show();
  }

  _build(items, t) {
    this.items = items.map(({ name, stops }) => this._item(name, stops, t));
    this.node.replaceChildren(...this.items.map((item) => item.node));
  }

  _item(name, stops, t) {
    const label = t(`stage.knob.${name}`);
    const input = el("input", { type: "range", min: 0, max: stops.length - 1, step: 1, "aria-label": label });
    const output = el("output");
    const title = el("span", { text: label, title: t(`stage.knob.help.${name}`) });
    const show = () => {
      const value = this.memory.values[name];
      input.value = nearest(stops, value);
      const text = value === null ? t(`stage.knob.none.${name}`) : t(`stage.knob.value.${name}`, { value });
      setText(output, text);
      setAttribute(input, "aria-valuetext", text);
    };
    input.oninput = () => {
      this.memory.values = { ...this.memory.values, [name]: stops[Number(input.value)] };
      show();
      this.turn(this.memory.values);
    };
    let keyed = false;
    const by = (keys) => () => void (keyed = keys); // a handler that returns false forbids what the browser would do
    input.onkeydown = by(true);
    input.onpointerdown = by(false);
    input.onchange = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this._letGo(), keyed ? KEYBOARD_PAUSE : 0);
    };
    return { node: el("div", {}, title, output, input), show };
  }

  _letGo() {
    const { revision, values, told } = this.memory;
    const moved = Object.keys(values).filter((name) => values[name] !== told[name]);
    this.memory.told = values;
    this.report({ revision, ...values }, moved.flatMap((name) => this.lanes.get(name) ?? []));
  }
}

/** The index of the stop closest to a value; null (no limit) is a stop of its own. */
export function nearest(stops, value) {
  let best = 0;
  stops.forEach((stop, i) => {
    const off = distance(stop, value);
    if (off < distance(stops[best], value)) best = i;
  });
  return best;
}

function distance(a, b) {
  if (a === null || b === null) return a === b ? 0 : Infinity;
  return Math.abs(a - b);
}
