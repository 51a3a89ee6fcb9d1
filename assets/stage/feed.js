/**
 * Fetches what a run lacks from the server until it is over. Asks again when the server says (milliseconds,
 * from question to question), never two at a time, so that nothing is lost and nothing is taken twice.
 */

const PATIENCE = 3; // answers that are no answer before it gives up
const RETRY = 1000; // milliseconds

/** Who asks: the server spreads its answers over all that watch. */
const VIEWER = Math.random().toString(36).slice(2, 12);

export class Feed {
  /**
   * @param {RunData} run
   * @param {string} url of the run's route, on this page's own server
   * @param onNews called when there is something new to see
   * @param onEnd called once: "over", or "unreachable" where no such route answers
   */
  constructor(run, url, onNews, onEnd) {
    this.run = run;
    this.url = url;
    this.onNews = onNews;
    this.onEnd = onEnd;
    this.pulls = 0;
    this.strange = 0;
    this.timer = null;
    this.active = false;
    this.asking = false;
    this.ended = false;
  }

  start() {
    if (this.active || this.ended) return;
    this.active = true;
    if (!this.asking) this._ask();
  }

  stop() {
    this.active = false;
    clearTimeout(this.timer);
  }

  async _ask() {
    const began = performance.now();
    this.asking = true;
    const answer = await this._fetch();
    this.asking = false;
    if (!this.active) return;
    if (answer) {
      this.strange = 0;
      this.pulls += 1;
      if (this.run.take(answer)) this.onNews(this.run);
    }
    if (this.run.over) this._end("over");
    else if (this.strange >= PATIENCE) this._end("unreachable");
    else {
      const pause = (Math.min(answer?.poll_ms ?? RETRY, 5000)) - (performance.now() - began);
      this.timer = setTimeout(() => this.active && this._ask(), Math.max(0, pause));
    }
  }

  /** The answer, or null. A page in place of it means that the route is missing, whatever the status. */
  async _fetch() {
    try {
      const query = `since=${this.run.since}&viewer=${VIEWER}`;
      const response = await fetch(`${this.url}?${query}`, { cache: "no-store" });
      if ((response.headers.get("content-type") ?? "").startsWith("application/json")) return await response.json();
      this.strange += 1;
    } catch {
      // The network is gone for a moment: ask again, for ever.
    }
    return null;
  }

  _end(how) {
    this.stop();
    this.ended = true;
    this.onEnd(this.run, how);
  }
}
