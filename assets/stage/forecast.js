/**
 * The predicted lanes that stand in for measured ones while a knob is moved, until the measured ones have begun; then
 * how far the prediction was off. Knows no screen.
 */

import { metricsAt } from "./metrics.js";
import { Preview } from "./preview.js";
import { RunData } from "./run.js";

export const FORETOLD = ["throughput", "ttft_p50", "tpot_p50", "e2e_p99"];

export class Forecast {
  /** @param onNews called when there is something else to see */
  constructor(onNews) {
    this.onNews = onNews;
    this.run = null; // RunData of the latest prediction
    this.why = null; // {why, …} where there is none
    this.held = null; // what the knobs say that are, or were, in hand
    this.settled = ""; // what they said when the measured lanes were asked for
    this.released = false;
    this.answered = false; // the page has taken the released values
    this.before = null; // {wanted, numbers}: what was predicted of the lanes that are measured now
    this.preview = new Preview((answer, values) => this._take(answer, values));
  }

  /** The page says what it shows. @param source {url, scene} or null @param {object} values of its knobs */
  aim(source, values) {
    this.preview.source = source;
    this.settled = keyOf(values);
    if (this.held && this.released && keyOf(this.held) === this.settled) this.answered = true;
  }

  drag(values) {
    this.held = values;
    this.released = this.answered = false;
    if (keyOf(values) === this.settled) this.clear();
    else if (this.preview.source) this.preview.want(values);
  }

  letGo(values) {
    this.released = true;
    if (keyOf(values) === this.settled) this.clear();
  }

  clear() {
    this.preview.stop();
    const news = this.run ?? this.why;
    Object.assign(this, { run: null, why: null, held: null, released: false, answered: false });
    if (news) this.onNews();
  }

  /** The lanes that the page wants have begun. */
  giveWay(wanted) {
    const same = this.run !== null && this.held !== null && this.key === keyOf(this.held);
    const numbers = same && new Map(this.run.lanes.map((lane) => [lane.name, metricsAt(lane, Infinity)]));
    this.before = numbers ? { wanted: JSON.stringify(wanted), numbers } : null;
    this.preview.stop();
    Object.assign(this, { run: null, why: null, held: null, released: false, answered: false });
  }

  /**
   * Predicted ÷ measured − 1 of each lane and metric; null where the lanes were not predicted, or have not ended.
   * @param wanted [{run, lane}] @param shown [{run: RunData, lane: LaneData}]
   * @returns {?{name, measured, predicted, off}[][]} by lane, in the order of FORETOLD; an `off` may be null
   */
  differences(wanted, shown) {
    if (!this.before || this.before.wanted !== JSON.stringify(wanted)) return null;
    const { numbers } = this.before;
    const comparable = ({ run, lane }) => run.over && run.kind === "measured" && numbers.has(lane.name);
    if (!shown.length || !shown.every(comparable)) return null;
    return shown.map(({ lane }) => {
      const measured = metricsAt(lane, Infinity);
      const predicted = numbers.get(lane.name);
      return FORETOLD.map((name) => ({
        name, measured: measured[name], predicted: predicted[name],
        off: measured[name] && predicted[name] !== null ? predicted[name] / measured[name] - 1 : null,
      }));
    });
  }

  _take(answer, values) {
    this.why = answer.record ? null : answer;
    if (answer.record) {
      this.run = new RunData("predicted");
      this.run.takeRecord(answer.record);
      this.key = keyOf(values);
    } else if (answer.why !== "unknown") this.run = null;
    this.onNews();
  }
}

const keyOf = (values) => JSON.stringify(Object.entries(values ?? {}).filter(([name]) => name !== "revision").sort());
