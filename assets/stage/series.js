/** Step functions of time. Pure; knows no units. */

/** How many of the rising numbers are at most `limit`. */
export function countUpTo(rising, limit) {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** From times[i] on the value is values[i]; 0 before the first. peaks[i] is the highest value up to then. */
export class Series {
  constructor() {
    this.times = [];
    this.values = [];
    this.peaks = [];
  }

  /** The value changes by `delta` at `time`; changes mostly come in order of time, late ones are sorted in. */
  add(time, delta) {
    if (delta === 0) return;
    let i = countUpTo(this.times, time) - 1;
    if (this.times[i] !== time) {
      i += 1;
      this.times.splice(i, 0, time);
      this.values.splice(i, 0, this.values[i - 1] ?? 0);
      this.peaks.splice(i, 0, 0);
    }
    for (let k = i; k < this.times.length; k++) {
      this.values[k] += delta;
      this.peaks[k] = Math.max(this.peaks[k - 1] ?? 0, this.values[k]);
    }
  }

  at(time) {
    return this.values[countUpTo(this.times, time) - 1] ?? 0;
  }

  peakAt(time) {
    return this.peaks[countUpTo(this.times, time) - 1] ?? 0;
  }
}
