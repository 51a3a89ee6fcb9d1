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

/** Why what is shown is no measurement, or why nothing is predicted. @param {Forecast} forecast */
export function forecastText({ run, why, released }, t) {
  if (run) return t(released ? "stage.preview.released" : "stage.preview.shown");
  if (!why || why.why === "unknown") return "";
  if (why.why === "calibrating" && why.seconds === null) return t("stage.preview.later");
  return t(`stage.preview.${why.why}`, { n: Math.ceil(why.seconds ?? 0), detail: why.detail ?? "" });
}
