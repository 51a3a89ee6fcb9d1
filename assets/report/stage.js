/** The stage in a report. This text is appended to the stage's modules (see lab/report/stage_assets.py). */
const stageStyle = () => document.getElementById("stage-css").textContent;

/** Mount the stage under `host` with this data (see assets/stage/main.js), or show other data in it. */
function showInReport(host, data) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  if (!root.firstChild) root.append(el("style", { text: stageStyle() }), el("div", { class: "stage" }));
  mount({ data, parentElement: root, setTriggerValue() {}, setStateValue() {} });
}

/** Under `host` a closed list for each lane: when somebody joined, and why just then. */
function listReasons(host, stages) {
  for (const [label, data] of Object.entries(stages)) {
    const t = makeText(data.text);
    const run = new RunData(label);
    run.takeRecord(data.runs[0].record);
    for (const lane of run.lanes) {
      const items = lane.dispatches.map((dispatch) =>
        el("li", {}, el("b", { text: moment(dispatch.start) }), el("span", { text: whyDispatched(lane, dispatch, t) })),
      );
      const name = Object.keys(stages).length > 1 ? `${label} · ${laneName(lane, t)}` : laneName(lane, t);
      host.append(el("details", {}, el("summary", { text: `${name} (${items.length})` }), el("ol", { class: "why" }, ...items)));
    }
  }
}

globalThis.labReport.bring("stage", { show: showInReport, reasons: listReasons });
