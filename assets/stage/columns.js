/** The columns of a lane's record as they grow. Pure; knows nothing of what they mean. */

/** Which of a mark's four counts a column is measured in: runs, steps, rows, tokens. */
const AXES = {
  start: 0, repeat: 0, group: 0, reason: 0, cold: 0, kernel_padding: 0, kv_reserved: 0, rows: 0,
  seconds: 1,
  slot: 2, request: 2, fed: 2, past: 2, padded_to: 2, live: 2,
  token: 3,
};

export const emptyColumns = () => Object.fromEntries(Object.keys(AXES).map((name) => [name, []]));

/** How much there is: [runs, steps, rows, tokens]. */
export const markOf = (columns) => [
  columns.start.length, columns.seconds.length, columns.slot.length, columns.token.length,
];

/**
 * Append what is not there yet.
 * @param {number[]} from the mark at which `more` begins
 * @returns {"grown" | "same" | "gap"} "gap": something between is missing, nothing was changed
 */
export function merge(columns, from, more) {
  const have = markOf(columns);
  if (from.some((count, axis) => count > have[axis])) return "gap";
  for (const [name, axis] of Object.entries(AXES)) {
    const column = columns[name];
    const added = more[name] ?? [];
    for (let i = have[axis] - from[axis]; i < added.length; i++) column.push(added[i]);
  }
  return markOf(columns)[0] > have[0] ? "grown" : "same";
}
