/** Results of settings measured before, so that moving a slider draws a curve. Knows no screen. */

const MOST = 60; // results per situation

export class Trail {
  constructor() {
    this.points = new Map(); // situation (what must be equal for two results to be compared) -> [point]
  }

  /** @param point {id, mode, throughput, ttft_p50, tpot_p50, e2e_p99}; the same id again replaces the earlier one */
  add(situation, point) {
    const kept = (this.points.get(situation) ?? []).filter((p) => p.id !== point.id);
    this.points.set(situation, [...kept, point].slice(-MOST));
  }

  of(situation, mode) {
    return (this.points.get(situation) ?? []).filter((point) => point.mode === mode);
  }
}
