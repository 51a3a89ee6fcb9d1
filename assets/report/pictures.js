/** Draws all charts and leaves them in the document, as JSON of base64 (see lab/report/pictures.py). */
(async () => {
  const { charts, formats, slide } = JSON.parse(await unpack("packed-data"));
  runScript(await unpack("packed-plotly"));
  const made = {};
  for (const { name, figure } of charts) {
    const layout = { ...figure.layout, width: slide.width, height: slide.height, paper_bgcolor: "#ffffff" };
    for (const format of formats) {
      const scale = format === "png" ? slide.scale : 1;
      const url = await Plotly.toImage({ data: figure.data, layout }, { ...slide, format, scale });
      made[`${name}.${format}`] = await base64Of(url);
    }
  }
  const out = document.createElement("pre");
  out.id = "made";
  out.textContent = JSON.stringify(made);
  document.body.append(out);
})();

/** Of a data: URL, be its content in base64 or percent-encoded. */
async function base64Of(url) {
  const [head, content] = [url.slice(0, url.indexOf(",")), url.slice(url.indexOf(",") + 1)];
  if (head.endsWith(";base64")) return content;
  const bytes = new TextEncoder().encode(decodeURIComponent(content));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
