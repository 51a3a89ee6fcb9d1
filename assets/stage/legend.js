/** What the textures of the cells mean, drawn by the same code that paints the cells. */

import { el, setText } from "./dom.js";
import { DEAD, PREFILL, USEFUL } from "./lane.js";
import { paintRow, paintPrompt } from "./tile.js";

const SAMPLES = [
  ["useful", { kind: USEFUL, useful: 1 }],
  ["prompt", { kind: PREFILL, useful: 1 }],
  ["padding", { kind: PREFILL, useful: 0.4 }, "padding"],
  ["dead", { kind: DEAD, useful: 1 }, "straggler"],
  ["empty", null],
]; // name, what is painted, the word that it needs

export class Legend {
  constructor() {
    this.node = el("ul", { class: "legend" });
  }

  build(theme, t) {
    const known = SAMPLES.filter(([, , word]) => !word || t.knows(word));
    const items = known.map(([name, span]) =>
      el("li", {}, sample(span, theme), el("span", { text: t(`stage.legend.${name}`) })),
    );
    const memory = (t.knows("kv") ? ["used", "reserved"] : []).map((name) => {
      const mark = el("i", { class: `kv ${name}`, "aria-hidden": "true" });
      return el("li", {}, mark, el("span", { text: t(`stage.legend.${name}`) }));
    });
    this.budget = { mark: el("b", { "aria-hidden": "true" }), text: el("span") };
    this.order = ["bucket", "urgent"].map((name) =>
      el("li", { hidden: "" }, el("i", { class: `mark ${name}`, "aria-hidden": "true" }), el("span", { text: t(`stage.legend.${name}`) })),
    );
    const budget = el("li", t.knows("kv") ? {} : { hidden: "" }, this.budget.mark, this.budget.text);
    this.node.replaceChildren(...items, ...memory, budget, ...this.order);
  }

  /** What the marks of those who wait mean, where somebody bears them. */
  showOrder(lanes) {
    const [bucket, urgent] = this.order;
    bucket.hidden = !lanes.some(({ policy }) => policy.order.boundaries.length);
    urgent.hidden = !lanes.some(({ policy }) => policy.order.by_priority);
  }

  /** How the KV budget is shown: as a line, or as lying beyond the scale. */
  showBudget(beyond, t) {
    setText(this.budget.mark, beyond ? "»" : "┄┄");
    setText(this.budget.text, t(beyond ? "stage.legend.beyond" : "stage.legend.budget"));
  }
}

function sample(span, theme) {
  const w = Math.round(2 * theme.em);
  const h = Math.round(0.9 * theme.em);
  const canvas = el("canvas", { width: w * theme.scale, height: h * theme.scale, "aria-hidden": "true" });
  canvas.style.width = `${w}px`;
  canvas.style.height = `${h}px`;
  const pen = canvas.getContext("2d");
  pen.fillStyle = theme.secondary;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  if (!span) return canvas;
  const box = { x: 0, y: 0, w: canvas.width, h: canvas.height };
  (span.kind === PREFILL ? paintPrompt : paintRow)(pen, { ...span, request: 0 }, box, theme);
  return canvas;
}
