/** Below the board: each request's answer up to the playhead, and why each batch left. */

import { textOf } from "./answers.js";
import { el, setAttribute, setText } from "./dom.js";
import { glossOf } from "./gloss.js";
import { finishedBy, tokensBy } from "./metrics.js";
import { waitsText } from "./now.js";
import { placeText } from "./queue.js";
import { duration, laneName, moment } from "./text.js";
import { select } from "./transport.js";
import { whyDispatched } from "./why.js";

const MOST_REASONS = 80; // the newest

export class Panels {
  /** @param seek called with a moment (seconds) to look at @param glosses of prompts, see gloss.js */
  constructor(seek, t, glosses) {
    this.seek = seek;
    this.glosses = glosses;
    this.open = "answers";
    this.tabs = (t.knows("batch") ? ["answers", "reasons"] : ["answers"]).map((name) =>
      el("button", { type: "button", role: "tab", text: t(`stage.panel.${name}`), onclick: () => this._open(name), "data-tab": name }),
    );
    this.lane = el("select", { "aria-label": t("stage.panel.mode") });
    this.lane.onchange = () => this.refresh();
    this.body = el("div", { class: "panel", role: "tabpanel", tabindex: 0 });
    this.node = el(
      "div", { class: "panels" },
      el("div", { class: "tabs" }, el("span", { role: "tablist" }, ...this.tabs), this.lane),
      this.body,
    );
    this.refresh = () => {};
    this.seen = true; // is it on the screen?
    this.watcher = new IntersectionObserver(([entry]) => (this.seen = entry.isIntersecting));
    this.watcher.observe(this.body);
  }

  build(lanes, theme, t) {
    const before = this.lane.value;
    this.lanes = lanes;
    this.theme = theme;
    const made = select(lanes.map((_, i) => i), (i) => laneName(lanes[i], t), "");
    this.lane.replaceChildren(...made.children);
    this.lane.value = before === "" || !lanes[before] ? String(Math.max(0, lanes.length - 1)) : before;
    this._open(this.open);
  }

  _open(name) {
    this.open = name;
    for (const tab of this.tabs) setAttribute(tab, "aria-selected", tab.dataset.tab === name);
    this.refresh();
  }

  /** @param {number} time seconds @param pieces bytes of tokens */
  show(time, pieces, t) {
    this.refresh = () => {
      this.body.replaceChildren();
      this.shown = "";
      this.show(time, pieces, t);
    };
    const lane = this.lanes[Number(this.lane.value)];
    if (!lane) return;
    if (this.open === "answers") this._answers(lane, time, pieces, t);
    else this._reasons(lane, time, t);
  }

  _answers(lane, time, pieces, t) {
    if (this.shown !== lane) {
      this.items = lane.requests.map((request) => this._request(request));
      this.note = el("p", { class: "note", text: t("stage.panel.no_text") });
      this.body.replaceChildren(this.note, ...this.items.map(({ node }) => node));
    }
    this.shown = lane;
    this.note.hidden = lane.end === 0 || pieces.size > 0;
    for (const item of this.items) {
      const { request } = item;
      const count = tokensBy(request, time);
      const state = stateOf(lane, request, count, time, t);
      const agrees = agreement(this.lanes, request.id, time);
      if (item.known === `${count} ${state} ${agrees}`) continue; // most have not changed, and there may be hundreds
      item.known = `${count} ${state} ${agrees}`;
      setText(item.agrees, agrees && t(`stage.request.${agrees}`));
      setText(item.state, state);
      setText(item.answer, request.refusal ?? textOf(request.tokens.slice(0, count), pieces));
      setAttribute(item.node, "class", finishedBy(request, time) ? "request whole" : "request");
    }
  }

  _request(request) {
    const number = el("b", { text: String(request.id) });
    number.style.background = this.theme.tint(request.id);
    const prompt = el("span", { class: "prompt", dir: "auto", text: request.facts.prompt });
    const state = el("small", { class: "state" });
    const agrees = el("small", { class: "agrees" });
    const answer = el("p", { class: "answer", dir: "auto" });
    const head = el("div", { class: "ask" }, number, prompt, state);
    const told = glossOf(request.facts.prompt, this.glosses);
    const gloss = told ? [el("small", { class: "gloss", text: told })] : [];
    return { request, state, agrees, answer, node: el("div", { class: "request" }, head, ...gloss, answer, agrees) };
  }

  _reasons(lane, time, t) {
    const due = lane.dispatches.filter((dispatch) => dispatch.start <= time);
    const key = `${lane.name} ${due.length}`;
    if (this.shown === key) return;
    this.shown = key;
    const items = due.slice(-MOST_REASONS).reverse().map((dispatch) => {
      const when = el("button", { type: "button", text: moment(dispatch.start), onclick: () => this.seek(dispatch.start) });
      return el("li", {}, when, el("span", { text: whyDispatched(lane, dispatch, t) }));
    });
    this.body.replaceChildren(el("ol", { class: "reasons" }, ...items));
  }
}

/** Once all lanes have answered it: is it the same answer? "same", "differs", or "" */
function agreement(lanes, id, time) {
  const all = lanes.map((lane) => lane.requests[id]).filter((request) => request && request.refusal === null);
  if (all.length < 2 || !all.every((request) => request.tokens.length && finishedBy(request, time))) return "";
  const [first, ...others] = all.map((request) => request.tokens.join());
  return others.every((tokens) => tokens === first) ? "same" : "differs";
}

function stateOf(lane, request, count, time, t) {
  if (request.refusal !== null) return t("stage.request.refused");
  if (request.arrival === null || request.arrival > time) return t("stage.request.away");
  if (finishedBy(request, time)) {
    return t("stage.request.whole", { n: count, after: duration(request.finished - request.arrival) });
  }
  const computed = request.scheduled !== null && request.scheduled <= time;
  if (computed) return t("stage.request.going", { n: count });
  return [waitsText(lane, request, time, t), ...placeText(lane, request, time, t)].join(" · ");
}
