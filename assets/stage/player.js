/** The playhead: a moment on the lanes' common clock, and how it moves. Seconds; knows no page. */

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];

const CATCH_UP = 0.08; // seconds in which most of the way to a live run's end is made

export class Player {
  constructor() {
    this.time = 0;
    this.end = 0;
    this.speed = 1;
    this.playing = false;
    this.following = false; // stays with the end of a run in progress
    this.live = false;
  }

  get moving() {
    return this.playing || (this.following && this.time < this.end);
  }

  /** The lanes have come so far; `live`: they go on. */
  setEnd(end, live) {
    this.end = end;
    this.live = live;
    this.time = Math.min(this.time, end);
    if (!live && this.following && this.time >= end) this.following = false;
  }

  toggle() {
    if (this.playing || this.following) {
      this.playing = this.following = false;
      return;
    }
    if (this.time >= this.end && !this.live) this.time = 0;
    this.playing = this.time < this.end;
    this.following = !this.playing && this.live;
  }

  /** Stand still at a moment. */
  seek(time) {
    this.playing = this.following = false;
    this.time = Math.max(0, Math.min(this.end, time));
  }

  follow() {
    this.playing = false;
    this.following = true;
  }

  /** `seconds` of real time have passed. @returns whether the playhead moved */
  tick(seconds) {
    const before = this.time;
    if (this.playing) this._play(seconds);
    else if (this.following) this._catchUp(seconds);
    return this.time !== before;
  }

  _play(seconds) {
    this.time = Math.min(this.end, this.time + seconds * this.speed);
    if (this.time < this.end) return;
    this.playing = false;
    this.following = this.live;
  }

  _catchUp(seconds) {
    const left = (this.end - this.time) * Math.exp(-seconds / CATCH_UP);
    this.time = left < 0.0005 ? this.end : this.end - left;
    if (!this.live && this.time === this.end) this.following = false;
  }
}

/** How far the playhead may go. While some lanes are being measured, only as far as these have come, even beside lanes
 * that are known further: of what comes later, nothing that could be said of the former would be true. */
export const edgeOf = (shown) => {
  const going = shown.filter(({ run }) => !run.over);
  return Math.max(0, ...(going.length ? going : shown).map(({ lane }) => lane.end));
};
