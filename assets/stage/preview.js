/**
 * What the knobs would give, asked of the server while a hand moves them. One question is on its way at a time and the
 * next one is about the latest values: so answers come in order, and one that nobody wants any more is never asked for.
 */

const EVERY = 100; // milliseconds from question to question at least
const PATIENCE_MS = 2000; // until it asks again where nothing can be predicted yet

export class Preview {
  /** @param onAnswer called with {record} or {why, …} (see lab/ui/preview.py) and the values it is for */
  constructor(onAnswer) {
    this.onAnswer = onAnswer;
    this.source = null; // {url, scene}
    this.values = null; // to ask about next
    this.asking = false;
    this.epoch = 0;
    this.timer = null;
  }

  /** Ask about these values, in place of all that were wanted before. */
  want(values) {
    this.values = values;
    if (!this.asking && this.timer === null) this._ask();
  }

  /** Want nothing any more; an answer that is on its way is dropped. */
  stop() {
    this.values = null;
    this.epoch += 1;
    clearTimeout(this.timer);
    this.timer = null;
  }

  async _ask() {
    const { values, epoch } = this;
    if (!values || !this.source) return;
    this.values = null;
    this.asking = true;
    const began = performance.now();
    const answer = await this._fetch(values);
    this.asking = false;
    const rest = Math.max(0, EVERY - (performance.now() - began));
    if (epoch !== this.epoch) {
      this._later(rest);
      return;
    }
    const again = !answer || answer.wait_ms || answer.why === "calibrating";
    if (again) this.values ??= values;
    this._later(answer?.wait_ms ?? (again ? PATIENCE_MS : rest));
    if (answer && !answer.wait_ms) this.onAnswer(answer, values);
  }

  _later(pause) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = null;
      if (!this.asking) this._ask();
    }, pause);
  }

  /** The answer, or null where there is none. */
  async _fetch(values) {
    try {
      const { url, scene } = this.source;
      const body = JSON.stringify({ scene, knobs: values });
      const response = await fetch(url, { method: "POST", body, cache: "no-store" });
      if ((response.headers.get("content-type") ?? "").startsWith("application/json")) return await response.json();
    } catch {
      // The network is gone for a moment.
    }
    return null;
  }
}
