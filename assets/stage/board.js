/** The score board: a table, so that it is read by eye and by ear; a metric a row, a mode a column. */

import { el, setText } from "./dom.js";
import { NOTHING, duration, laneName, megabytes, percent, speed, times } from "./text.js";

/**
 * Each metric: the word that it needs, what it shows (main, and a smaller note) and what its bar's length stands for.
 * `m` are a lane's metrics, `plain` those of mode none, if it runs.
 */
const METRICS = {
  throughput: {
    word: "throughput",
    main: (m, t) => t("stage.board.tokens_per_s", { speed: speed(m.throughput) }),
    note: (m, t, { plain }) => (plain && plain !== m && m.throughput && plain.throughput ? times(m.throughput / plain.throughput) : ""),
    bar: (m) => m.throughput,
  },
  ttft_p50: { word: "ttft", main: (m) => duration(m.ttft_p50), bar: (m) => m.ttft_p50 },
  tpot_p50: { word: "tpot", main: (m) => duration(m.tpot_p50), bar: (m) => m.tpot_p50 },
  e2e_p99: {
    word: "p99",
    main: (m) => duration(m.e2e_p99),
    note: (m, t) => (m.e2e_n && m.e2e_n < 100 ? t("stage.board.max_of", { n: m.e2e_n }) : ""),
    bar: (m) => m.e2e_p99,
  },
  padding: { word: "padding", main: (m) => percent(m.padding_waste), bar: (m) => m.padding_waste, whole: 1 },
  straggler: { word: "straggler", main: (m) => percent(m.straggler_waste), bar: (m) => m.straggler_waste, whole: 1 },
  kv_peak: {
    word: "kv",
    main: (m, t, { tokenBytes }) => {
      const [used, reserved] = [m.kv_peak_used, m.kv_peak_reserved].map((tokens) => megabytes(tokens * tokenBytes));
      return m.kv_peak_reserved ? t("stage.board.megabytes", { used, reserved }) : NOTHING;
    },
    bar: (m) => m.kv_peak_reserved,
  },
};

export class Board {
  constructor() {
    this.table = el("table");
    this.means = el("p", { class: "means", hidden: "" });
    this.node = el("div", { class: "board" }, this.table, this.means);
    this.rows = [];
  }

  build(lanes, theme, t) {
    this.lanes = lanes;
    const heads = lanes.map((lane) => {
      const cell = el("th", { scope: "col", text: laneName(lane, t) });
      cell.style.setProperty("--mode", theme.modeColour(lane.name));
      return cell;
    });
    const caption = el("caption", { text: t("stage.board.caption") });
    const known = Object.keys(METRICS).filter((key) => t.knows(METRICS[key].word));
    this.rows = known.map((key) => this._row(key, lanes, theme, t));
    const head = el("thead", {}, el("tr", {}, el("th", { text: t("stage.board.corner") }), ...heads));
    const body = el("tbody", {}, ...this.rows.map((row) => row.node));
    this.table.replaceChildren(caption, head, body);
    this.means.hidden = true;
  }

  _row(key, lanes, theme, t) {
    const means = t(`stage.board.${key}.means`);
    const name = el("button", { type: "button", text: t(`stage.board.${key}.name`), title: means, "aria-expanded": "false" });
    name.onclick = () => this._explain(name, means);
    const cells = lanes.map((lane) => {
      const cell = { main: el("span"), note: el("small"), bar: el("i", { "aria-hidden": "true" }) };
      cell.bar.style.background = theme.modeColour(lane.name);
      return cell;
    });
    const columns = cells.map(({ main, note, bar }) => el("td", {}, main, note, bar));
    return { key, cells, node: el("tr", {}, el("th", { scope: "row" }, name), ...columns) };
  }

  /** A name opens its definition, and shuts it again. */
  _explain(name, text) {
    const open = name.getAttribute("aria-expanded") === "true";
    for (const other of this.table.querySelectorAll("button")) other.setAttribute("aria-expanded", "false");
    name.setAttribute("aria-expanded", String(!open));
    this.means.hidden = open;
    setText(this.means, text);
  }

  /** @param {boolean[]} flags which lanes will be replaced */
  fade(flags) {
    for (const row of this.table.rows) {
      [...row.cells].slice(1).forEach((cell, i) => cell.classList.toggle("fading", flags[i] ?? false));
    }
  }

  /** @param all numbers of each lane, from metricsAt @param {number} tokenBytes KV bytes of a token */
  show(all, tokenBytes, t) {
    const plain = all[this.lanes.findIndex((lane) => lane.name === "none")];
    for (const { key, cells } of this.rows) {
      const { main, note, bar, whole } = METRICS[key];
      const most = whole ?? Math.max(...all.map((m) => bar(m) ?? 0));
      cells.forEach((cell, i) => {
        setText(cell.main, main(all[i], t, { plain, tokenBytes }));
        setText(cell.note, note ? note(all[i], t, { plain, tokenBytes }) : "");
        cell.bar.style.width = `${most ? ((bar(all[i]) ?? 0) / most) * 100 : 0}%`;
      });
    }
  }
}
