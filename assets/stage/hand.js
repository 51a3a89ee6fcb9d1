/** The visitor's hand on the canvas: the cell cursor by pointer and keys, panning, zooming, and the card of a cell. */

import { describeCell } from "./card.js";
import { cellUnder, firstCell, moveCell } from "./cursor.js";
import { el } from "./dom.js";
import { chipUnder, waitsText } from "./now.js";
import { placeText } from "./queue.js";
import { laneName } from "./text.js";

const A_DRAG = 3; // CSS pixels

export class Hand {
  /** @param {Stage} stage what the hand is on @param actions from Stage: toggle, seek, next … */
  constructor(stage, actions) {
    this.stage = stage;
    this.actions = actions;
    this.cell = null; // {lane (its number), seat, step}
    this.pinned = false;
    this.held = null; // {x, moved}: where the pointer went down
    this.card = el("div", { class: "card", hidden: "" });
  }

  listen(canvas) {
    this.canvas = canvas;
    canvas.onpointermove = (event) => this._move(event);
    canvas.onpointerleave = () => void (this.pinned || this.point(null));
    canvas.onpointerdown = (event) => this._press(event);
    canvas.onpointerup = (event) => this._release(event);
    canvas.onwheel = (event) => this._wheel(event);
    canvas.onkeydown = (event) => this._key(event);
    canvas.onblur = () => void (this.pinned || this.point(null));
  }

  /** Put the cursor on a cell, or away. */
  point(cell) {
    if (!cell) this.pinned = false;
    if (!cell && this.card.hidden) return;
    this.cell = cell;
    this.card.hidden = !cell;
    if (cell) {
      this._write(this._facts(cell));
      this._placeCard(cell);
    }
    this._showPin();
    this.stage.refresh();
  }

  _write({ title, lines }) {
    this.card.hidden = false;
    this.card.replaceChildren(el("b", { text: title }), ...lines.map((text) => el("span", { dir: "auto", text })));
    this.width = this.card.offsetWidth;
  }

  /** Who waits under the pointer, and for how long. */
  _pointChip({ x, y }) {
    const { lanes, layout, session, theme, t } = this.stage;
    const { time } = session.player;
    const i = (layout?.lanes ?? []).findIndex(({ now }) => y >= now.y && y < now.y + now.h && x >= now.x);
    const request = lanes[i] ? chipUnder(x, y, lanes[i], layout.lanes[i].now, time, theme.em) : null;
    if (!request) return;
    const title = t("stage.waits.title", { lane: laneName(lanes[i], t), request: request.id });
    this._write({ title, lines: [waitsText(lanes[i], request, time, t), ...placeText(lanes[i], request, time, t), request.facts.prompt] });
    this.card.style.left = `${Math.max(0, Math.min(x - this.width / 2, this.stage.scene.width - this.width))}px`;
    this.card.style.top = `${y + 20}px`;
  }

  /** Stay with the cell as the view moves; a cell that has not happened yet is not looked at. */
  follow() {
    if (!this.cell) return;
    const { lane, step } = this.cell;
    if (this.stage.lanes[lane].stepStart[step] > this.stage.session.player.time) this.point(null);
    else this._placeCard(this.cell);
  }

  _showPin() {
    this.card.classList.toggle("pinned", this.pinned);
  }

  _facts({ lane, seat, step }) {
    const { lanes, pieces, t } = this.stage;
    return describeCell({ lane: lanes[lane], seat, step }, pieces, t);
  }

  _placeCard({ lane, seat, step }) {
    const { layout, lanes, window: view, scene } = this.stage;
    const { seats, seatHeight } = layout.lanes[lane];
    const x = seats.x + (lanes[lane].stepEnd[step] - view.from) * view.perSecond;
    const { width } = this;
    const left = x + 12 + width > scene.width ? x - width - 24 : x + 12;
    this.card.style.left = `${Math.max(0, Math.min(left, scene.width - width))}px`;
    this.card.style.top = `${seats.y + (seat + 1) * seatHeight + 6}px`;
  }

  // ---- pointer

  _at(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  _under({ x, y }) {
    const { lanes, layout, window: view } = this.stage;
    return lanes.length && layout ? cellUnder(x, y, lanes, layout.lanes, view) : null;
  }

  _press(event) {
    this.held = { x: this._at(event).x, moved: false };
    this.canvas.setPointerCapture(event.pointerId);
  }

  /** A drag moves along the axis; without a button held, the cell beneath is described. */
  _move(event) {
    const { held } = this;
    const at = this._at(event);
    if (held && (held.moved || Math.abs(at.x - held.x) >= A_DRAG)) {
      const { view } = this.stage.session;
      if (view.perSecond) view.pan((held.x - at.x) / view.perSecond);
      this.held = { x: at.x, moved: true };
      this.stage.refresh();
    } else if (!held && !this.pinned) {
      this.point(this._under(at));
      if (!this.cell) this._pointChip(at);
    }
  }

  /** A press that was no drag pins the cell, or lets it go. */
  _release(event) {
    const { moved } = this.held ?? { moved: true };
    this.held = null;
    if (moved) return;
    const cell = this._under(this._at(event));
    this.pinned = cell !== null;
    this.point(cell);
  }

  _wheel(event) {
    const { lanes, layout, session } = this.stage;
    const { view } = session;
    if (!lanes.length || (!event.ctrlKey && !event.deltaX && !event.shiftKey)) return;
    event.preventDefault();
    if (event.ctrlKey) {
      const around = view.from + (this._at(event).x - layout.axis.x) / view.perSecond;
      view.zoom(Math.exp(-event.deltaY / 200), around);
    } else view.pan((event.deltaX || event.deltaY) / view.perSecond);
    this.stage.refresh();
  }

  // ---- keys

  _key(event) {
    const act = this._keys()[event.key];
    if (!act || event.altKey || event.metaKey || event.ctrlKey || !this.stage.lanes.length) return;
    event.preventDefault();
    act();
  }

  _keys() {
    const { toggle, start, end, next } = this.actions;
    const step = (dx, dy) => () => this._step(dx, dy);
    return {
      ArrowLeft: step(-1, 0), ArrowRight: step(1, 0), ArrowUp: step(0, -1), ArrowDown: step(0, 1),
      Enter: () => this._pin(), Escape: () => this.point(null),
      " ": toggle, Home: start, End: end, PageDown: () => next("any"),
    };
  }

  _step(dx, dy) {
    const { lanes, layout, session } = this.stage;
    const { player, view } = session;
    player.playing = player.following = false;
    const cell = this.cell ? moveCell(this.cell, dx, dy, lanes, player.time) : firstCell(lanes, player.time);
    if (!cell) return;
    view.reveal(lanes[cell.lane].stepStart[cell.step], layout.axis.w);
    this.point(cell);
    const { title, lines } = this._facts(cell);
    this.stage.say([title, ...lines].join(" "));
  }

  _pin() {
    this.pinned = this.cell !== null && !this.pinned;
    this._showPin();
  }
}
