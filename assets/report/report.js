"use strict";
/** Unpacks what lies in the file and draws it. Asks no network for anything. */
(async () => {
  const stages = new Map(); // what assets/report/stage.js brings: start, show, reasons
  globalThis.labReport = { bring: (name, what) => stages.set(name, what), drawn: 0, ready: false };

  async function unpack(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  function run(source, type = "text/javascript") {
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      script.type = type;
      script.textContent = source;
      script.onerror = failed;
      document.head.append(script);
      if (type === "module") setTimeout(() => waitFor(() => stages.has("stage"), done));
      else done();
    });
  }

  const waitFor = (holds, then) => (holds() ? then() : setTimeout(() => waitFor(holds, then), 5));

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
    await run(await unpack("packed-stage"), "module");
    const stage = stages.get("stage");
    const which = document.getElementById("which");
    stage.show(document.getElementById("stage"), data.stages[which ? which.value : Object.keys(data.stages)[0]]);
    which?.addEventListener("change", () => stage.show(document.getElementById("stage"), data.stages[which.value]));
    stage.reasons(document.getElementById("why"), data.stages);
    trouble.hidden = true;
    await run(await unpack("packed-plotly"));
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
