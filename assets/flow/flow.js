/**
 * The loop of continuous batching in three boxes. It reads the stage's session (assets/stage/main.js) and lights
 * the boxes whose part of the loop did something at the playhead. Draws only when that changes.
 *
 * data = {session: key of the stage ("": none, nothing is lit), lane: name of its lane, text: {name: string}}
 */

const VIEWS = new WeakMap();

export default function ({ data, parentElement }) {
  const view = VIEWS.get(parentElement) ?? { gen: 0, shown: "" };
  VIEWS.set(parentElement, view);
  const gen = (view.gen += 1);
  const root = parentElement.querySelector(".flow");
  build(root, data.text);
  root.classList.toggle("plan", !data.session);
  view.shown = "";
  const tick = () => {
    if (gen !== view.gen || !root.isConnected) return;
    const now = momentOf(globalThis.batchingStage?.get(data.session), data.lane);
    const key = JSON.stringify(now);
    if (key !== view.shown) paint(root, now, data.text);
    view.shown = key;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  return () => {
    if (gen === view.gen) view.gen += 1;
  };
}

function build(root, text) {
  root.replaceChildren();
  const list = document.createElement("ol");
  list.setAttribute("aria-label", text.label);
  for (const name of ["step", "finished", "waits"]) {
    const item = document.createElement("li");
    item.dataset.part = name;
    const title = document.createElement("b");
    title.textContent = text[name];
    item.append(title, document.createElement("span"));
    list.append(item);
  }
  root.append(list);
}

/** {step, steps, rows, left: [ids], joined: [ids]} of the step at the playhead; null where there is none. */
export function momentOf(session, name) {
  const lane = session?.shown?.find((each) => each.lane.name === name)?.lane;
  if (!lane || !lane.stepStart.length) return null;
  const time = session.player.time;
  let step = lane.stepStart.findIndex((start, i) => start <= time && time < lane.stepEnd[i]);
  if (step < 0 && time >= lane.end) step = lane.stepStart.length - 1;
  if (step < 0) return null;
  const run = lane.stepRun[step];
  const end = lane.stepEnd[step];
  const first = lane.runRow[run];
  const rows = [...Array(lane.columns.rows[run]).keys()].map((i) => first + i);
  const ids = rows.map((row) => lane.columns.request[row]);
  return {
    step: step + 1,
    steps: lane.stepStart.length,
    rows: rows.length,
    left: ids.filter((id) => Math.abs((lane.requests[id].finished ?? Infinity) - end) < 1e-9),
    joined: rows.filter((row) => lane.columns.past[row] === 0).map((row) => lane.columns.request[row]),
  };
}

function paint(root, now, text) {
  const says = root.classList.contains("plan") ? { step: "", finished: "", waits: "" } : {
    step: now ? fill(text.rows, { step: now.step, steps: now.steps, rows: now.rows }) : text.idle,
    finished: now?.left.length ? fill(text.left, { who: names(now.left) }) : text.nobody,
    waits: now?.joined.length ? fill(text.joined, { who: names(now.joined) }) : text.nobody,
  };
  const lit = { step: Boolean(now), finished: Boolean(now?.left.length), waits: Boolean(now?.joined.length) };
  for (const item of root.querySelectorAll("li")) {
    item.classList.toggle("lit", lit[item.dataset.part]);
    item.querySelector("span").textContent = says[item.dataset.part];
  }
}

const names = (ids) => ids.map((id) => `#${id}`).join(" ");
const fill = (text, fields) => text.replace(/\{(\w+)\}/g, (_, name) => fields[name]);
