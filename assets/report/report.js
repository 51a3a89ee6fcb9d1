/** Draws what lies in the file. Asks no network for anything. */
(async () => {
  const stages = new Map(); // what assets/report/stage.js brings: start, show, reasons
  globalThis.labReport = { bring: (name, what) => stages.set(name, what), drawn: 0, ready: false };

  async function runStage() {
    runScript(await unpack("packed-stage"), "module"); // runs when it is its turn, and says so by `bring`
    while (!stages.has("stage")) await new Promise((next) => setTimeout(next, 5));
  }

  function draw({ name, file, figure }, { config, slide, text }) {
    const save = (format) => ({
      name: format,
      title: text[format],
      icon: format === "png" ? Plotly.Icons.camera : Plotly.Icons.disk,
      click: (plot) => Plotly.downloadImage(plot, { format, filename: file, ...slide, scale: format === "png" ? slide.scale : 1 }),
    });
    const options = { ...config, responsive: true, modeBarButtonsToAdd: [save("svg"), save("png")] };
    return Plotly.newPlot(`chart-${name}`, figure.data, figure.layout, options);
  }

  /** Paper has a width of its own, and nothing on it can be opened. */
  function preparePrint(charts) {
    const opened = [];
    window.addEventListener("beforeprint", () => {
      for (const closed of document.querySelectorAll("details:not([open])")) {
        closed.open = true;
        opened.push(closed);
      }
      for (const { name } of charts) Plotly.relayout(`chart-${name}`, { width: 680, autosize: false });
    });
    window.addEventListener("afterprint", () => {
      for (const details of opened.splice(0)) details.open = false;
      for (const { name } of charts) Plotly.relayout(`chart-${name}`, { width: null, autosize: true });
    });
  }

  const trouble = document.getElementById("trouble");
  try {
    const data = JSON.parse(await unpack("packed-data"));
    await runStage();
    const stage = stages.get("stage");
    const which = document.getElementById("which");
    stage.show(document.getElementById("stage"), data.stages[which ? which.value : Object.keys(data.stages)[0]]);
    which?.addEventListener("change", () => stage.show(document.getElementById("stage"), data.stages[which.value]));
    stage.reasons(document.getElementById("why"), data.stages);
    trouble.hidden = true;
    runScript(await unpack("packed-plotly"));
    for (const chart of data.charts) {
      await draw(chart, data);
      labReport.drawn += 1;
    }
    preparePrint(data.charts);
    labReport.ready = true;
  } catch (error) {
    trouble.hidden = false;
    throw error;
  }
})();
