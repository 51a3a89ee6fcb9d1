/** What outlives the page's updates and remounts: runs, playhead, view, knobs, trail. Kept by the module. */

import { Feed } from "./feed.js";
import { Forecast } from "./forecast.js";
import { metricsAt } from "./metrics.js";
import { Player, edgeOf } from "./player.js";
import { RunData } from "./run.js";
import { Trail } from "./trail.js";
import { View } from "./view.js";

const KEPT_RUNS = 12; // of those that are not asked for any more

export class Session {
  constructor() {
    this.player = new Player();
    this.view = new View();
    this.trail = new Trail();
    this.knobs = { revision: null, values: {} };
    this.runs = new Map(); // id -> RunData
    this.feeds = new Map(); // id -> Feed
    this.situations = new Map(); // id -> string
    this.wanted = []; // [{run: id, lane: name}]
    this.shown = []; // [{run: RunData, lane: LaneData}]
    this.expected = null; // RunData of empty lanes
    this.forecast = new Forecast(() => this.update());
    this.touched = []; // modes whose lanes a slider has just changed: the server has not answered yet
    this.stage = null;
    this.tell = null; // {ended(id), unreachable(id), knobs(values)}
    this.counters = { mounts: 0, frames: 0 };
  }

  /** @param data see main.js */
  want(data) {
    this.touched = [];
    for (const source of data.runs) this._source(source);
    const ids = data.runs.map(({ id }) => id);
    for (const [id, feed] of this.feeds) {
      if (ids.includes(id)) feed.start();
      else feed.stop();
    }
    this._forget(ids);
    this._expect(data.expected ?? null);
    this.wanted = data.lanes ?? null;
    this.ids = ids;
    this.autoplay = data.autoplay ?? false;
    this.fresh = data.fresh ?? false;
    this.forecast.aim(data.preview ?? null, valuesOf(data.knobs));
    this.update();
  }

  /** A knob is being moved. */
  drag(values) {
    this.forecast.drag(values);
    this.update();
  }

  /** How far the prediction of what is shown was off, or null. */
  get differences() {
    return this.forecast.differences(this.wanted, this.shown);
  }

  _source({ id, url, record, over, situation }) {
    if (!this.runs.has(id)) this.runs.set(id, new RunData(id));
    const run = this.runs.get(id);
    this.situations.set(id, situation ?? "");
    if (record && !run.over) {
      run.takeRecord(record, over ?? true);
      this._remember(run);
    }
    if (!url) this._dropFeed(id);
    if (!url || this.feeds.has(id) || run.over) return;
    const news = () => this.update();
    this.feeds.set(id, new Feed(run, url, news, (ended, how) => this._ended(ended, how)));
  }

  _expect(source) {
    if (source && source.id !== this.expected?.id) {
      this.expected = new RunData(source.id);
      this.expected.takeRecord(source.record);
    }
    if (!source) this.expected = null;
  }

  _ended(run, how) {
    this._remember(run);
    this.update();
    if (how === "over") this.tell.ended(run.id);
    else this.tell.unreachable(run.id);
  }

  /** A finished run leaves a point per lane in the trail of its situation. */
  _remember(run) {
    if (!run.over || run.state !== "finished") return;
    for (const lane of run.lanes) {
      const point = { id: pointId(run, lane), mode: lane.name, ...metricsAt(lane, Infinity) };
      this.trail.add(this.situations.get(run.id), point);
    }
  }

  _forget(ids) {
    const old = [...this.runs.keys()].filter((id) => !ids.includes(id));
    for (const id of old.slice(0, Math.max(0, old.length - KEPT_RUNS))) {
      this.runs.delete(id);
      this._dropFeed(id);
      this.situations.delete(id);
    }
  }

  _dropFeed(id) {
    this.feeds.get(id)?.stop();
    this.feeds.delete(id);
  }

  /** Earlier results in the situation that is shown now. */
  trailOf(mode) {
    const shown = this.shown.map(({ run, lane }) => pointId(run, lane));
    return this.trail.of(this.situations.get(this.ids?.[0]) ?? "", mode).filter(({ id }) => !shown.includes(id));
  }

  /** Runs that are asked for and go on. */
  get going() {
    return (this.ids ?? []).map((id) => this.runs.get(id)).filter((run) => !run.over);
  }

  /** Show what is wanted as soon as all of it has begun; until then what was shown before, or, fresh, empty lanes. */
  update() {
    const real = this._resolve();
    if (real && this.forecast.answered) this.forecast.giveWay(this.wanted);
    const foretold = this.forecast.run;
    const next = foretold ? lanesOf(foretold) : real;
    if (next) this._take(next);
    const live = this.shown.some(({ run }) => !run.over);
    if (this.player.live && !live && this.player.following && !this.view.free) this.view.fit(); // all of it, at its end
    this.player.setEnd(edgeOf(this.shown), live);
    this.stage?.show(this.shown, this.going[0] ?? this._failed(), this._fading(next), this.forecast);
  }

  /** A slider was let go. What it concerns fades at once; what becomes of it the server says. */
  letGo(values, modes) {
    this.forecast.letGo(values);
    this.touched = modes;
    if (modes.length) this.update();
    this.tell.knobs(values);
  }

  /** Lanes that will be replaced; a prediction is pale by itself. */
  _fading(next) {
    if (this.forecast.run) return [];
    if (this.touched.length) return this._touched();
    return next ? [] : this._replaced();
  }

  _touched() {
    return this.shown.map(({ run, lane }) => run.kind === "recorded" || this.touched.includes(lane.name.split(" ")[0]));
  }

  /** Of what is shown until something else has begun: which lanes will not stay. */
  _replaced() {
    const stays = ({ run, lane }) => (this.wanted ?? []).some((each) => each.run === run.id && each.lane === lane.name);
    return this.shown.map((each) => each.run.kind !== "expected" && !stays(each));
  }

  _resolve() {
    const runs = (this.ids ?? []).map((id) => this.runs.get(id));
    if (!runs.length) return this.expected && lanesOf(this.expected);
    if (runs.some((run) => !run.head)) return this._mayBeEmpty() ? this.expected && lanesOf(this.expected) : null;
    if (!this.wanted) return lanesOf(runs[0]);
    const found = this.wanted.map(({ run, lane }) => ({ run: this.runs.get(run), lane: this.runs.get(run)?.lane(lane) }));
    return found.every(({ lane }) => lane) ? found : null;
  }

  /** Nothing is lost by showing empty lanes: there is nothing else, or it is not to stay. */
  _mayBeEmpty() {
    return this.fresh || this.shown.every(({ run }) => run.kind === "expected");
  }

  _take(next) {
    const same = next.length === this.shown.length && next.every(({ lane }, i) => lane === this.shown[i].lane);
    const first = this.shown.length === 0;
    this.shown = next;
    if (same) return;
    const { player } = this;
    const atEnd = player.time >= player.end;
    const end = edgeOf(next);
    const live = next.some(({ run }) => !run.over);
    player.setEnd(end, live);
    if (this.forecast.run) this._lookAtAll(end);
    else if (live) this._goLive();
    else if (first && this.autoplay && !wantsStillness()) player.toggle();
    else if (first || atEnd) this._lookAtAll(end);
  }

  _lookAtAll(end) {
    this.player.seek(end);
    this.view.fit();
  }

  _goLive() {
    this.player.follow();
    Object.assign(this.view, { perSecond: null, whole: false, free: false });
  }

  _failed() {
    return (this.ids ?? []).map((id) => this.runs.get(id)).find((run) => run.error || run.state === "unknown") ?? null;
  }
}

/** Does this visitor want little motion? */
export const wantsStillness = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

const valuesOf = (knobs) => Object.fromEntries((knobs?.items ?? []).map(({ name, value }) => [name, value]));

const lanesOf = (run) => run.lanes.map((lane) => ({ run, lane }));

const pointId = (run, lane) => `${run.id} ${lane.name}`;
