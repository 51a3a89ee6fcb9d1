/** Round numbers for axes. Pure. */

/** A round step (1, 2 or 5 × 10^k) that cuts `span` into at most `most` parts. */
function roundStep(span, most) {
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((f) => f * power).find((step) => step >= rough * (1 - 1e-9));
}

/** The multiples of a round step from `low` to `high`. */
export function ticks(low, high, most) {
  if (!(high > low)) return [];
  const step = roundStep(high - low, most);
  const first = Math.ceil(low / step - 1e-9);
  const found = [];
  for (let i = first; i * step <= high + step * 1e-9; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

/** Places after the point that tell neighbouring ticks apart. */
export function placesOf(marks) {
  return marks.length < 2 ? 2 : Math.max(0, -Math.floor(Math.log10(marks[1] - marks[0]) + 1e-9));
}

/** 1, 2, 5, 10, 20 … from `low` to `high`, both above 0. */
export function logTicks(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const digit of [1, 2, 5]) {
      const value = Number((digit * 10 ** power).toPrecision(12));
      if (value >= low && value <= high) found.push(value);
    }
  }
  return found;
}
