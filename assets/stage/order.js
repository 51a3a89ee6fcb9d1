/** Who goes first among the waiting, as lab/scheduling/order.py says it. Pure. */

/** The bucket of a prompt, counted from 0, the shortest. @param edges boundaries in prompt tokens */
export function bucketOf(promptTokens, edges) {
  if (!edges.length || promptTokens < edges[0]) return 0;
  const found = edges.findIndex((edge, i) => i > 0 && promptTokens <= edge);
  return found < 0 ? edges.length : found;
}

/** Its range of prompt tokens, such as "< 128", "128–512" or "> 512". */
export function bucketName(bucket, edges) {
  if (bucket === 0) return `< ${edges[0]}`;
  if (edges.length === 1) return `≥ ${edges[0]}`;
  if (bucket === edges.length) return `> ${edges[bucket - 1]}`;
  return `${edges[bucket - 1] + (bucket > 1 ? 1 : 0)}–${edges[bucket]}`;
}

/** The class that a request has risen to at `now`. @param ageing seconds, or null for never */
export function effectivePriority({ by_priority: ranked, ageing }, priority, arrival, now) {
  if (!ranked) return 0;
  if (ageing === null) return priority;
  if (now >= arrival + ageing) return 0;
  return priority - Math.floor((priority * (now - arrival)) / ageing);
}

/** The waiting in the order in which they would leave with `lead`: its bucket, then the nearest ones. */
export function inLine(order, lead, waiting, now) {
  const bucket = (r) => bucketOf(r.facts.prompt_tokens, order.boundaries);
  const away = (r) => Math.abs(bucket(r) - bucket(lead));
  const risen = (r) => effectivePriority(order, r.facts.priority, r.arrival, now);
  return [...waiting].sort((a, b) => away(a) - away(b) || risen(a) - risen(b) || a.arrival - b.arrival || a.id - b.id);
}
