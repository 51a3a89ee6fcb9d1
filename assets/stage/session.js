/** What outlives the page's updates and remounts: runs, playhead, view, knobs, trail. Kept by the module. */

import { Feed } from "./feed.js";
import { metricsAt } from "./metrics.js";
import { Player } from "./player.js";
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
    this.stage = null;
    this.tell = null; // {ended(id), unreachable(id), knobs(values)}
    this.counters = { mounts: 0, frames: 0 };
  }

  /** @param data see main.js */
  want(data) {
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
    this.update();
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

  /** Show what is wanted as soon as all of it has begun; until then what was shown before. */
  update() {
    const next = this._resolve();
    if (next) this._take(next);
    const live = this.shown.some(({ run }) => !run.over);
    if (this.player.live && !live && this.player.following && !this.view.free) this.view.fit(); // all of it, at its end
    this.player.setEnd(Math.max(0, ...this.shown.map(({ lane }) => lane.end)), live);
    this.stage?.show(this.shown, this.going[0] ?? this._failed(), next ? [] : this._replaced());
  }

  /** Of what is shown until something else has begun: which lanes will not stay. */
  _replaced() {
    const stays = ({ run, lane }) => (this.wanted ?? []).some((each) => each.run === run.id && each.lane === lane.name);
    return this.shown.map((each) => each.run.kind !== "expected" && !stays(each));
  }

  _resolve() {
    const runs = (this.ids ?? []).map((id) => this.runs.get(id));
    if (!runs.length) return this.expected && lanesOf(this.expected);
    if (runs.some((run) => !run.head)) return this._nothingElse() ? this.expected && lanesOf(this.expected) : null;
    if (!this.wanted) return lanesOf(runs[0]);
    const found = this.wanted.map(({ run, lane }) => ({ run: this.runs.get(run), lane: this.runs.get(run)?.lane(lane) }));
    return found.every(({ lane }) => lane) ? found : null;
  }

  _nothingElse() {
    return this.shown.every(({ run }) => run.kind === "expected");
  }

  _take(next) {
    const same = next.length === this.shown.length && next.every(({ lane }, i) => lane === this.shown[i].lane);
    const first = this.shown.length === 0;
    this.shown = next;
    if (same) return;
    const { player } = this;
    const atEnd = player.time >= player.end;
    const end = Math.max(0, ...next.map(({ lane }) => lane.end));
    const live = next.some(({ run }) => !run.over);
    player.setEnd(end, live);
    if (live) this._goLive();
    else if (first && this.autoplay && !wantsStillness()) player.toggle();
    else if (first || atEnd) {
      player.seek(end);
      this.view.fit();
    }
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

const lanesOf = (run) => run.lanes.map((lane) => ({ run, lane }));

const pointId = (run, lane) => `${run.id} ${lane.name}`;
