/** The stretch of time that is on the screen: where it begins and how wide a second is. Seconds and CSS pixels. */

const STEP_WIDTH = { live: 14, replay: 7 }; // CSS pixels that a usual step is wide at first, at a base font of 16
const HEAD = 0.86; // the playhead stands at this part of the width while time goes by
const NARROWEST = 0.1; // seconds

export class View {
  constructor() {
    this.perSecond = null; // CSS pixels; null until the first steps say what is usual
    this.whole = false; // always show the run from beginning to end
    this.from = 0;
    this.free = false; // moved by hand: does not go with the playhead
  }

  /** Choose a first scale, and keep the playhead on the screen. */
  settle(width, { time, end, live }, usualStep, em) {
    const usual = ((live ? STEP_WIDTH.live : STEP_WIDTH.replay) * em) / 16 / usualStep;
    this.perSecond ??= live ? usual : Math.max(usual, width / wholeSpan(end, false));
    if (this.whole) this.perSecond = width / wholeSpan(end, live);
    const span = width / this.perSecond;
    const latest = Math.max(0, end - span * HEAD);
    if (this.whole || end * 1.02 <= span) this.from = 0;
    else if (this.free) this.from = Math.max(0, Math.min(this.from, latest));
    else this.from = Math.max(0, Math.min(latest, time - span * HEAD));
  }

  /** Zoom in (factor above 1) or out around a moment that stays where it is. */
  zoom(factor, around) {
    this.whole = false;
    const next = Math.max(1, Math.min(20000, this.perSecond * factor));
    this.from = around - (around - this.from) * (this.perSecond / next);
    this.perSecond = next;
  }

  fit() {
    this.whole = true;
    this.free = false;
  }

  pan(seconds) {
    this.whole = false;
    this.free = true;
    this.from += seconds;
  }

  /** Bring a moment onto the screen. */
  reveal(time, width) {
    const span = width / this.perSecond;
    if (time >= this.from && time <= this.from + span) return;
    this.free = true;
    this.from = Math.max(0, time - span / 2);
  }
}

/** Grows in leaps while a run goes on, so that the scale does not change with every step. */
function wholeSpan(end, live) {
  const span = Math.max(NARROWEST, end * 1.02);
  return live ? 1.5 ** Math.ceil(Math.log(span) / Math.log(1.5)) : span;
}
