/** What there is to say about one cell: lines of text. Pure, but for the strings given. */

import { tokenName } from "./answers.js";
import { laneName, number } from "./text.js";
import { whyDispatched, whyNobodyJoined } from "./why.js";

/**
 * @param cell {lane (LaneData), seat, step}
 * @param pieces bytes of tokens @param t from makeText
 * @returns {{title: string, lines: string[]}}
 */
export function describeCell({ lane, seat, step }, pieces, t) {
  const run = lane.stepRun[step];
  const row = lane.rowAt(step, seat);
  const title = t("stage.cell.title", { lane: laneName(lane, t), seat: seat + 1, step: step + 1 });
  const lines = row === null ? [t("stage.cell.empty")] : rowLines(lane, step, row, pieces, t);
  const start = lane.stepStart[step];
  const seconds = lane.stepEnd[step] - start;
  const timing = { ms: number(seconds * 1000), start: start.toFixed(3), rows: lane.columns.rows[run] };
  lines.push(t(lane.columns.cold[run] ? "stage.cell.cold" : "stage.cell.time", timing));
  const dispatch = lane.dispatches.find((d) => d.run === run);
  if (t.knows("batch")) lines.push(dispatch ? whyDispatched(lane, dispatch, t) : whyNobodyJoined(lane, run, t));
  return { title, lines };
}

function rowLines(lane, step, row, pieces, t) {
  const c = lane.columns;
  const run = lane.stepRun[step];
  const nth = step - lane.runStep[run];
  const request = lane.requests[c.request[row]];
  const past = c.past[row] + nth;
  const position = c.past[row] + c.fed[row] + nth - request.facts.prompt_tokens + 1;
  const token = lane.tokenOf(step, row);
  const fields = {
    request: request.id,
    token: tokenName(token, pieces),
    position,
    of: request.facts.output_tokens ?? request.facts.max_new_tokens,
    past,
    fed: c.fed[row],
    padding: c.padded_to[row] - c.fed[row],
    padded_to: c.padded_to[row],
  };
  const kept = t.knows("kv") ? [t("stage.cell.past", fields)] : [];
  if (!c.live[row]) return [t("stage.cell.dead", fields), ...kept];
  const what = t(token === null ? "stage.cell.silent" : "stage.cell.token", fields);
  if (c.past[row]) return [what, ...kept];
  return [what, t(fields.padding ? "stage.cell.padded" : "stage.cell.prompt", fields)];
}
