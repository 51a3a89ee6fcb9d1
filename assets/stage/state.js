/** How a run that is not over (or failed) stands, as one sentence. Pure, but for the strings given. */

/** @param {?RunData} run @returns {string} "" where the lanes speak for themselves */
export function stateText(run, t) {
  if (!run) return "";
  if (run.error) return t(`why.${run.error.why}`, { detail: run.error.detail });
  if (run.state === "unknown") return t("stage.state.unknown");
  if (run.state === "waiting") return run.position ? t("line.place", { place: run.position }) : t("line.next");
  if (run.state === "running" && !run.head) {
    const { phase = "starting", done = 0, total = 0 } = run.progress ?? {};
    return t(`phase.${phase}`, { done, total });
  }
  return run.state ? "" : t("stage.state.asking");
}
