"use strict";
/** The text that lies compressed in the element of this id (see lab/report/pack.py). */
async function unpack(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** The document's policy lets a script run whose hash it names. */
function runScript(source, type = "text/javascript") {
  const script = document.createElement("script");
  script.type = type;
  script.textContent = source;
  document.head.append(script);
}
