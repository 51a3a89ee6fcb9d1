/** The controls of replay: play, step, next event, scrub, speed, zoom. Knows no lanes; it calls what it is given. */

import { el, setAttribute, setText, svg } from "./dom.js";
import { KINDS } from "./moments.js";
import { SPEEDS } from "./player.js";
import { moment } from "./text.js";

const ICONS = {
  play: "M6 4 L20 12 L6 20 Z",
  pause: "M6 4 H10 V20 H6 Z M14 4 H18 V20 H14 Z",
  back: "M19 4 L8 12 L19 20 Z M4 4 H7 V20 H4 Z",
  step: "M5 4 L16 12 L5 20 Z M17 4 H20 V20 H17 Z",
  next: "M2 4 L11 12 L2 20 Z M10 4 L19 12 L10 20 Z M19 4 H22 V20 H19 Z",
  closer: "M11 5 H13 V11 H19 V13 H13 V19 H11 V13 H5 V11 H11 Z",
  wider: "M5 11 H19 V13 H5 Z",
  fit: "M3 5 H5 V19 H3 Z M19 5 H21 V19 H19 Z M6 12 L10 8 V11 H14 V8 L18 12 L14 16 V13 H10 V16 Z",
};

export class Transport {
  /** @param act {toggle, back, step, next(kind), seek(seconds), follow, setSpeed(x), zoom(factor), fit} */
  constructor(act, t) {
    this.play = button("play", t("stage.play.start"), act.toggle);
    this.kind = select(["any", ...KINDS], (kind) => t(`stage.event.${kind}`), t("stage.play.kind"));
    this.next = button("next", t("stage.play.next"), () => act.next(this.kind.value));
    this.speed = select(SPEEDS, (x) => `${x}×`, t("stage.play.speed"));
    this.speed.onchange = () => act.setSpeed(Number(this.speed.value));
    this.live = el("button", { type: "button", class: "live", text: t("stage.play.live"), onclick: act.follow });
    this.range = el("input", { type: "range", min: 0, step: "any", "aria-label": t("stage.play.scrub") });
    this.range.oninput = () => act.seek(Number(this.range.value));
    this.overview = el("canvas", { "aria-hidden": "true" });
    this.clock = el("output", { class: "clock" });
    this.note = el("span", { class: "origin-note" });
    this.node = el(
      "div", { class: "transport", role: "group", "aria-label": t("stage.play.label") },
      el("span", { class: "buttons" }, this.play, button("back", t("stage.play.back"), act.back),
        button("step", t("stage.play.step"), act.step), this.next, this.kind),
      el("span", { class: "scrub" }, this.overview, this.range),
      this.clock, this.live, this.speed,
      el("span", { class: "buttons" }, button("wider", t("stage.play.wider"), () => act.zoom(0.5)),
        button("closer", t("stage.play.closer"), () => act.zoom(2)), button("fit", t("stage.play.fit"), act.fit)),
    );
  }

  /** @param {Player} player */
  show(player, t) {
    const busy = player.playing || player.following;
    setAttribute(this.play, "aria-label", t(busy ? "stage.play.pause" : "stage.play.start"));
    setAttribute(this.play, "title", t(busy ? "stage.play.pause" : "stage.play.start"));
    setAttribute(this.play.querySelector("path"), "d", busy ? ICONS.pause : ICONS.play);
    this.range.max = Math.max(player.end, 0.001);
    this.range.value = player.time;
    const now = t("stage.play.clock", { now: moment(player.time), end: moment(player.end) });
    setAttribute(this.range, "aria-valuetext", now);
    setText(this.clock, now);
    this.speed.value = player.speed;
    this.live.hidden = !player.live;
    setAttribute(this.live, "aria-pressed", player.following);
  }

  /** Each lane as a thin line where it computes, thicker where it computes more seats. */
  drawOverview(lanes, end, theme) {
    const { clientWidth: w, clientHeight: h } = this.overview;
    if (!w || !lanes.length) return;
    this.overview.width = w * theme.scale;
    this.overview.height = h * theme.scale;
    const pen = this.overview.getContext("2d");
    pen.scale(theme.scale, theme.scale);
    const tall = h / lanes.length;
    lanes.forEach((lane, i) => {
      pen.fillStyle = theme.modeColour(lane.name);
      for (const { from, to, part } of busyParts(lane, end, w)) {
        const thick = Math.max(1, (tall - 1) * part);
        pen.fillRect(from, i * tall + (tall - thick) / 2, to - from, thick);
      }
    });
  }
}

/** Steps drawn together where they fall into the same two pixels. */
function busyParts(lane, end, width) {
  const parts = [];
  lane.stepEnd.forEach((stop, step) => {
    const from = (lane.stepStart[step] / end) * width;
    const to = Math.max(from + 0.5, (stop / end) * width);
    const part = lane.columns.rows[lane.stepRun[step]] / lane.rows;
    const last = parts[parts.length - 1];
    if (last && to - last.from < 2) Object.assign(last, { to, part: Math.max(part, last.part) });
    else parts.push({ from, to, part });
  });
  return parts;
}

function button(icon, label, onclick) {
  const drawing = svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[icon] }));
  return el("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick }, drawing);
}

export function select(values, name, label) {
  const options = values.map((value) => el("option", { value, text: name(value) }));
  return el("select", { "aria-label": label, title: label }, ...options);
}
