/**
 * The way in, for Streamlit's components and for any page that calls it the same way.
 *
 * data = {
 *   key       which session this is; two stages on a page have two
 *   language  changes when `text` does
 *   text      {key: string}; see lab/ui/text
 *   gloss     {prompt: what it says in the visitor's language}, see gloss.js
 *   words     [word]: what the visitor has met, such as "kv"; what needs another word is left out; null: all are known
 *   colours   {modes: {name: colour}, others: [colour], requests: [colour]}
 *   runs      [{id, url | record, over, situation}]: url of the run's route on this server, or the record so far
 *   lanes     [{run: id, lane: name}]; null: all lanes of the first run
 *   knobs     {revision, items: [{name, stops, value, lanes: [mode]}]} or null
 *   expected  {id, record}: lanes shown empty as long as there is nothing else to show; null
 *   preview   {url, scene}: where to ask what the knobs would give while one is moved; null: nowhere
 *   owner     who this tab is, "" where that does not matter
 *   scale     of all letters, 1 is the page's own
 *   autoplay  play the first finished run that is shown
 *   fresh     what was shown before goes at once, not only when the lanes to show have begun
 * }
 * It reports "finished" (a run is over: its id), "unreachable" (no route answers: the run's id) as triggers and
 * "knobs" (values, when a slider was let go) and "owner" (who this tab was before a reload) as state.
 */

import { unfoldForKeys } from "./folded.js";
import { keepOwner } from "./owner.js";
import { Session } from "./session.js";
import { Stage } from "./stage.js";

const SESSIONS = new Map(); // key -> Session
const STAGES = new WeakMap(); // parentElement -> {stage, spoken, calls}

export default function mount({ data, parentElement, setTriggerValue, setStateValue }) {
  const key = data.key ?? "stage";
  if (!SESSIONS.has(key)) SESSIONS.set(key, new Session());
  const session = SESSIONS.get(key);
  session.tell = {
    ended: (id) => setTriggerValue("finished", id),
    unreachable: (id) => setTriggerValue("unreachable", id),
    knobs: (values) => setStateValue("knobs", values),
  };
  const view = STAGES.get(parentElement) ?? build(parentElement, session);
  STAGES.set(parentElement, view);
  const call = (view.calls += 1);
  const spoken = `${data.language} ${data.words ?? "all"}`;
  if (view.spoken !== spoken) view.stage.dress(data.text, data.words ?? null, data.colours, data.gloss ?? {});
  view.spoken = spoken;
  const scale = Number(data.scale ?? 1);
  const size = scale > 1 ? "max(var(--st-base-font-size, 16px), 100vh / 45)" : "var(--st-base-font-size, 16px)"; // grows with a projector
  parentElement.querySelector(".stage").style.fontSize = `calc(${size} * ${scale})`;
  view.stage.readTheme();
  view.stage.showKnobs(data.knobs ?? null);
  session.stage = view.stage;
  session.want(data);
  unfoldForKeys();
  if (data.owner) keepOwner(data.owner, (before) => setStateValue("owner", before));
  return () => {
    if (call === view.calls) close(parentElement, view.stage, session); // a later call keeps it open
  };
}

function build(parentElement, session) {
  session.counters.mounts += 1;
  globalThis.batchingStage = SESSIONS; // for tests and the curious: what has been counted and measured
  return { stage: new Stage(parentElement.querySelector(".stage"), session), spoken: null, calls: 0 };
}

function close(parentElement, stage, session) {
  STAGES.delete(parentElement);
  stage.destroy();
  if (session.stage !== stage) return;
  session.stage = null;
  for (const feed of session.feeds.values()) feed.stop();
}
