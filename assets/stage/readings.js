/** All that is not on the big canvas and changes with the playhead: heads, ticker, board, charts, answers, words. */

import { Against } from "./against.js";
import { Board } from "./board.js";
import { el, setAttribute, setText } from "./dom.js";
import { Heads } from "./heads.js";
import { drawMemory } from "./memory.js";
import { metricsAt } from "./metrics.js";
import { lastMoment } from "./moments.js";
import { Panels } from "./panels.js";
import { drawPlane, latenciesOf } from "./plane.js";
import { laneName, moment, speed } from "./text.js";
import { Transport, select } from "./transport.js";
import { whatHappened } from "./why.js";

const BESIDE_CHARTS = 4; // lanes: a board of more has a row of its own
const CHARTS_EVERY = 330; // milliseconds between two drawings of charts and answers while time goes by

export class Readings {
  /**
   * @param {Session} session @param actions see Stage @param t from makeText
   * @param {Element} field around the big canvas, on which the lanes' heads lie @param glosses see gloss.js
   */
  constructor(session, actions, field, t, glosses) {
    this.session = session;
    this.t = t;
    this.lanes = [];
    this.heads = new Heads(field);
    this.transport = new Transport(actions, t);
    this.ticker = el("p", { class: "ticker" });
    this.board = new Board();
    this.plane = el("canvas", { role: "img", class: "plot", "aria-label": t("stage.plane.alt") });
    this.memory = el("canvas", { role: "img", class: "plot", "aria-label": t("stage.memory.alt") });
    this.latency = select(latenciesOf(t), (key) => t(`stage.board.${key}.name`), t("stage.plane.choose"));
    this.latency.onchange = () => this.show(performance.now(), null);
    this.panels = new Panels(actions.seek, t, glosses);
    const plane = el("figure", {}, this.plane, el("figcaption", { text: t("stage.plane.caption") }), this.latency);
    const memory = el("figure", {}, this.memory, el("figcaption", { text: t("stage.memory.caption") }));
    this.against = new Against();
    const charts = [...(t.knows("throughput") ? [plane] : []), ...(t.knows("kv") ? [memory] : [])];
    this.score = el("div", { class: "score", "data-guess": t("stage.origin.predicted") }, this.board.node, ...charts);
    this.chartsAt = -Infinity;
  }

  /** @param shown [{run, lane}] */
  build(shown, theme) {
    const { t } = this;
    this.lanes = shown.map(({ lane }) => lane);
    this.theme = theme;
    this.pieces = new Map(shown.flatMap(({ run }) => [...run.pieces]));
    this.tokenBytes = shown[0].run.head.provenance.kv_bytes_per_token;
    const kinds = shown.map(({ run }) => run.head.provenance.kind);
    this.heads.build(this.lanes, kinds.map((kind) => (kind === "measured" ? "" : t(`stage.origin.${kind}`))), theme, t);
    this.board.build(this.lanes, theme, t);
    this.score.classList.toggle("many", this.lanes.length > BESIDE_CHARTS);
    this.panels.build(this.lanes, theme, t);
    this.overviewKey = null;
  }

  /** @param {boolean[]} flags which lanes will be replaced */
  fade(flags, t) {
    this.heads.fade(flags, t);
    this.board.fade(flags);
  }

  /** @param {number} now of the page's clock, milliseconds @param {?string} note said in place of what happened last */
  show(now, note) {
    const { player } = this.session;
    const { lanes, t } = this;
    this.transport.show(player, t);
    setText(this.ticker, note ?? this.lastWords());
    if (!lanes.length) return;
    const numbers = lanes.map((lane) => metricsAt(lane, player.time));
    this.heads.show(player.time, numbers, t);
    this.board.show(numbers, this.tokenBytes, t);
    this.against.show(this.session.differences, lanes, this.theme, t);
    if (player.moving && now - this.chartsAt < CHARTS_EVERY) return;
    this.chartsAt = now;
    this._charts(player, numbers);
    if (this.panels.seen || !player.moving) this.panels.show(player.time, this.pieces, t);
  }

  _charts({ time, end }, numbers) {
    const { theme, t, lanes, tokenBytes } = this;
    const trailOf = (mode) => this.session.trailOf(mode);
    drawPlane(this.plane, lanes, numbers, this.latency.value, trailOf, theme, t);
    drawMemory(this.memory, lanes, time, end, tokenBytes, theme, t);
    const key = `${end} ${this.transport.overview.clientWidth}`;
    if (this.overviewKey !== key) this.transport.drawOverview(lanes, end, theme);
    this.overviewKey = key;
  }

  /** What happened last, as a sentence. */
  lastWords() {
    const { t } = this;
    const last = lastMoment(this.lanes, this.session.player.time);
    if (!last) return t("stage.ticker.nothing");
    return t("stage.ticker.moment", { now: moment(last.time), lane: laneName(last.lane, t), what: whatHappened(last, t) });
  }

  /** The picture in words, for those who do not see it. */
  describe(canvas) {
    const { t } = this;
    const { time } = this.session.player;
    const parts = this.lanes.map((lane) => {
      const m = metricsAt(lane, time);
      const fields = { lane: laneName(lane, t), finished: m.finished, of: m.requests, speed: speed(m.throughput) };
      return t("stage.canvas.lane", fields);
    });
    const label = [t("stage.canvas.label", { now: moment(time) }), ...parts, t("stage.canvas.keys")];
    setAttribute(canvas, "aria-label", label.join(" "));
  }

  destroy() {
    this.panels.watcher.disconnect();
  }
}
