/** How far the prediction was off, once the run that it foretold has ended: a metric a row, a mode a column. */

import { el } from "./dom.js";
import { FORETOLD } from "./forecast.js";
import { duration, laneName, speed } from "./text.js";

export class Against {
  constructor() {
    this.node = el("details", { class: "against", open: "", hidden: "" });
    this.shown = "null";
  }

  /** @param differences from Forecast, or null */
  show(differences, lanes, theme, t) {
    this.node.hidden = !differences;
    const said = JSON.stringify(differences);
    if (said === this.shown) return;
    this.shown = said;
    if (!differences) return;
    const heads = lanes.map((lane) => {
      const cell = el("th", { scope: "col", text: laneName(lane, t) });
      cell.style.setProperty("--mode", theme.modeColour(lane.name));
      return cell;
    });
    const rows = FORETOLD.map((name, i) => {
      const cells = differences.map((lane) => this._cell(lane[i], t));
      return el("tr", {}, el("th", { scope: "row", text: t(`stage.board.${name}.name`) }), ...cells);
    });
    const head = el("thead", {}, el("tr", {}, el("th", { text: t("stage.against.corner") }), ...heads));
    const table = el("table", {}, head, el("tbody", {}, ...rows));
    this.node.replaceChildren(el("summary", { text: t("stage.against.title") }), table);
  }

  _cell({ name, measured, predicted, off }, t) {
    const say = name === "throughput" ? (v) => t("stage.board.tokens_per_s", { speed: speed(v) }) : duration;
    const title = t("stage.against.both", { predicted: say(predicted), measured: say(measured) });
    return el("td", { title, text: off === null ? "–" : signed(off) });
  }
}

/** @param {number} share @returns {string} with its sign, "±0 %" where it rounds to nothing */
export function signed(share) {
  const percents = Math.round(share * 100);
  if (percents === 0) return "±0 %";
  return `${percents > 0 ? "+" : "−"}${Math.abs(percents)} %`;
}
