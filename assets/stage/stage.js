/**
 * The stage on a page: it puts the parts together and draws when something changed. What must outlive the page's
 * updates is in a Session; what the hand does is in Hand; all that is not on the big canvas is in Readings.
 */

import { el, setText } from "./dom.js";
import { Hand } from "./hand.js";
import { Knobs } from "./knobs.js";
import { layOut } from "./layout.js";
import { Legend } from "./legend.js";
import { momentsOf, nextMoment, stepAfter, stepBefore } from "./moments.js";
import { kvScaleOf } from "./now.js";
import { Readings } from "./readings.js";
import { Scene } from "./scene.js";
import { wantsStillness } from "./session.js";
import { forecastText, stateText } from "./state.js";
import { makeText } from "./text.js";
import { readTheme } from "./theme.js";

const WORDS_EVERY = 110; // milliseconds between two updates of what is not on the canvas
const STILL_EVERY = 400; // milliseconds between two pictures for those who want little motion
const USUAL_STEP = 0.03; // seconds, until a step has been measured

export class Stage {
  /** @param {Session} session */
  constructor(root, session) {
    this.root = root;
    this.session = session;
    this.lanes = [];
    this.shown = [];
    this.note = "";
    this.fading = [];
    this.pale = false; // a prediction is shown
    this.frame = null;
    this.stamp = 0; // of the theme
    this.drawn = { picture: 0, words: 0, late: false };
    this.still = wantsStillness();
    this.observer = new ResizeObserver(() => this.fit());
  }

  /** Strings, words that have been met (null: all), colours, what prompts say: builds all parts anew. */
  dress(strings, words, colours, glosses) {
    this.readings?.destroy();
    this.t = makeText(strings, words);
    this.colours = colours;
    this.theme = null;
    this.lanes = [];
    const actions = this._actions();
    this.canvas = el("canvas", { role: "img", tabindex: 0, class: "cells" });
    this.scene = new Scene(this.canvas);
    this.hand = new Hand(this, actions);
    this.hand.listen(this.canvas);
    this.blank = el("p", { class: "blank" });
    const field = el("div", { class: "field" }, this.canvas, this.blank, this.hand.card);
    this.readings = new Readings(this.session, actions, field, this.t, glosses);
    const letGo = (values, modes) => this.session.letGo(values, modes);
    this.knobs = new Knobs(this.session.knobs, letGo, (values) => this.session.drag(values));
    this.legend = new Legend();
    this.spoken = el("p", { class: "spoken", "aria-live": "polite" });
    const { transport, ticker, score, against, panels } = this.readings;
    this.root.replaceChildren(
      this.knobs.node, transport.node, ticker, field, this.legend.node, score, against.node, panels.node, this.spoken,
    );
    this.observer.disconnect();
    this.observer.observe(this.root);
  }

  _actions() {
    const { player, view } = this.session;
    return {
      toggle: () => this._go(() => player.toggle()),
      follow: () => this._go(() => player.follow()),
      seek: (time) => this._go(() => player.seek(time)),
      start: () => this._go(() => player.seek(0), true),
      end: () => this._go(() => player.seek(player.end), true),
      back: () => this._go(() => player.seek(stepBefore(this.lanes, player.time)), true),
      step: () => this._go(() => player.seek(stepAfter(this.lanes, player.time) ?? player.end), true),
      next: (kind) => this._go(() => player.seek(this._nextMoment(kind)), true),
      setSpeed: (factor) => (player.speed = factor),
      zoom: (factor) => this._go(() => view.zoom(factor, player.time), false, view.free),
      fit: () => this._go(() => view.fit()),
    };
  }

  /** Do something by hand, then show it; the view goes back to the playhead unless it should stay. */
  _go(act, aloud = false, free = false) {
    act();
    this.session.view.free = free;
    this.refresh();
    if (aloud) this.say(this.readings.lastWords());
  }

  _nextMoment(kind) {
    const { player } = this.session;
    const next = nextMoment(momentsOf(this.lanes, kind === "any" ? undefined : [kind]), player.time);
    return next ? next.time : player.end;
  }

  /** For those who listen. */
  say(text) {
    this.spoken.textContent = text;
  }

  // ---- what to show

  /** Called with every update of the page; nothing is built anew where the theme is as it was. */
  readTheme() {
    const theme = readTheme(this.root, this.colours);
    if (theme.key === this.theme?.key) return;
    this.theme = theme;
    this.stamp += 1;
    this.legend.build(this.theme, this.t);
    if (this.lanes.length) this._buildLanes();
    this.fit();
  }

  _buildLanes() {
    this.theme.tellApart(this.lanes.map((lane) => lane.name));
    this.kvScale = kvScaleOf(this.lanes);
    this.legend.showBudget(this.lanes.some((lane) => lane.kvBudget > this.kvScale), this.t);
    this.legend.showOrder(this.lanes);
    this.readings.build(this.shown, this.theme);
  }

  showKnobs(spec) {
    this.knobs.show(spec, this.t);
  }

  /**
   * @param shown [{run: RunData, lane: LaneData}] @param {?RunData} going one that is not over, or failed
   * @param {boolean[]} fading which lanes will be replaced @param {Forecast} forecast
   */
  show(shown, going, fading, forecast) {
    const lanes = shown.map((each) => each.lane);
    const changed = lanes.length !== this.lanes.length || lanes.some((lane, i) => lane !== this.lanes[i]);
    this.shown = shown;
    this.note = forecastText(forecast, this.t) || stateText(going, this.t);
    this.fading = fading;
    this.pale = forecast.run !== null;
    this.root.classList.toggle("guess", this.pale);
    if (changed && lanes.length) {
      this.lanes = lanes;
      this.hand.point(null);
      this._buildLanes();
      this.fit();
    }
    if (lanes.length) this.readings.fade(fading, this.t);
    for (const { run } of shown) for (const [token, piece] of run.pieces) this.pieces.set(token, piece);
    this.refresh();
  }

  get pieces() {
    return this.readings.pieces;
  }

  /** Take the width and height that there are. */
  fit() {
    const width = this.root.clientWidth;
    if (!width || !this.theme) return; // in a hidden tab
    const wanted = Math.max(19 * this.theme.em, Math.min(0.52 * window.innerHeight, 44 * this.theme.em));
    this.layout = layOut(width, wanted, this.theme.em, this.lanes, this.t.knows("kv"));
    this.root.classList.toggle("narrow", this.layout.narrow);
    this.scene.resize(width, this.lanes.length ? this.layout.height : wanted, this.theme.scale);
    this.readings.heads.place(this.layout.lanes);
    this.refresh();
  }

  // ---- drawing

  /** Draw soon. */
  refresh() {
    this.dirty = true;
    this.frame ??= requestAnimationFrame((now) => this._frame(now));
  }

  _frame(now) {
    this.frame = null;
    const { player } = this.session;
    const seconds = Math.min(0.1, (now - (this.before ?? now)) / 1000);
    const moved = player.tick(seconds);
    const due = this.dirty || (moved && (!this.still || now - this.drawn.picture >= STILL_EVERY));
    if (due) this._draw(now);
    this.before = player.moving ? now : null;
    if (player.moving) this.frame ??= requestAnimationFrame((next) => this._frame(next));
    else if (this.drawn.late) this._words(now);
  }

  _draw(now) {
    this.dirty = false;
    this.drawn.picture = now;
    if (!this.layout || !this.root.clientWidth) return;
    const { player, view, counters } = this.session;
    if (this.lanes.length) {
      view.settle(this.layout.axis.w, player, this._usualStep(), this.theme.em);
      this.hand.follow();
      this.scene.draw(this.lanes, this.layout, this.window, this._look(), this.hand.cell);
      counters.frames += 1;
    }
    this.drawn.late = player.moving && now - this.drawn.words < WORDS_EVERY;
    if (!this.drawn.late) this._words(now);
  }

  _words(now) {
    this.drawn.words = now;
    this.drawn.late = false;
    const begun = this.lanes.some((lane) => lane.end > 0);
    this.blank.hidden = begun;
    setText(this.blank, begun ? "" : this.note || this.t("stage.state.expected"));
    this.readings.show(now, begun ? this.note || null : "");
    if (!this.session.player.moving) this.readings.describe(this.canvas);
  }

  /** The stretch of time on the screen, and the playhead. */
  get window() {
    const { view, player } = this.session;
    return { from: view.from, perSecond: view.perSecond, now: player.time };
  }

  _look() {
    const { theme, stamp, kvScale, t, pieces } = this;
    return { theme, stamp, kvScale, t, pieces, tokenBytes: this.readings.tokenBytes, fading: this.fading, pale: this.pale };
  }

  _usualStep() {
    const references = this.shown[0].run.head.provenance.reference_step_s ?? [];
    const steps = references.length ? references : this.lanes.flatMap((lane) => lane.columns.seconds.slice(0, 200));
    return [...steps].sort((a, b) => a - b)[steps.length >> 1] ?? USUAL_STEP;
  }

  destroy() {
    this.observer.disconnect();
    this.readings.destroy();
    if (this.frame !== null) cancelAnimationFrame(this.frame);
  }
}
