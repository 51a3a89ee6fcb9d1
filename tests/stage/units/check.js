/** Throws where two values, as JSON, differ. */
export function equal(got, expected) {
  const [a, b] = [got, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${a} instead of ${b}`);
}

export function near(got, expected, off = 1e-9) {
  if (!(Math.abs(got - expected) <= off)) throw new Error(`${got} instead of ${expected}`);
}
