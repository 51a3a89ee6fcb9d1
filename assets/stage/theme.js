/** Colours and type of the page around the stage, read from its CSS variables, and the textures made from them. */

const FALLBACK = { text: "#31333f", background: "#ffffff", secondary: "#f0f2f6", primary: "#0072b2" };

/** Letters on a request's tint, in the light and in the dark. */
export const INK = "#1b1d24";

/**
 * @param {Element} element inside the stage
 * @param colours {modes: {name: colour}, other, requests: [colour]}
 */
export function readTheme(element, colours) {
  const style = getComputedStyle(element);
  const variable = (name, fallback) => {
    const value = style.getPropertyValue(name).trim();
    return value === "" || value === "unset" ? fallback : value;
  };
  const text = variable("--st-text-color", FALLBACK.text);
  const background = variable("--st-background-color", FALLBACK.background);
  const dark = brightness(background) < brightness(text);
  const cycle = (made) => (request) => made[request % made.length];
  const mixed = (part) => cycle(colours.requests.map((colour) => mix(colour, background, part))); // mixing takes long
  const mark = dark ? "#f2f3f5" : INK; // edges, hatches and dots
  const scale = window.devicePixelRatio || 1;
  const secondary = variable("--st-secondary-background-color", FALLBACK.secondary);
  const primary = variable("--st-primary-color", FALLBACK.primary);
  return {
    key: [text, background, secondary, primary, style.fontSize, style.fontFamily, scale].join(),
    text,
    background,
    secondary,
    primary,
    muted: mix(text, background, 0.66),
    faint: mix(text, background, 0.16),
    em: parseFloat(style.fontSize) || 16,
    family: style.fontFamily || "sans-serif",
    ...laneColours(colours),
    tint: cycle(colours.requests),
    pale: mixed(dark ? 0.4 : 0.45), // under a texture
    prompt: dark ? mixed(0.55) : cycle(colours.requests), // within a thick edge
    mark,
    textures: makeTextures(mark, scale),
    scale,
  };
}

/** A hybrid's colour is its mode's; lanes that bear no mode's name get others, in the order in which they are shown. */
function laneColours({ modes, others }) {
  const given = new Map();
  const ofMode = (name) => modes[name.split(" ")[0]];
  return {
    /** @param names of all lanes that are shown together */
    tellApart(names) {
      given.clear();
      for (const name of names) if (!ofMode(name) && !given.has(name)) given.set(name, others[given.size % others.length]);
    },
    modeColour: (name) => ofMode(name) ?? given.get(name) ?? others[0],
  };
}

/** `part` of one colour over the other, as rgb(). */
function mix(over, under, part) {
  const a = channels(over);
  const b = channels(under);
  return `rgb(${a.map((value, i) => Math.round(value * part + b[i] * (1 - part))).join(", ")})`;
}

function brightness(colour) {
  const [red, green, blue] = channels(colour);
  return 0.3 * red + 0.6 * green + 0.1 * blue;
}

function channels(colour) {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

/** Patterns for canvases whose units are device pixels; their periods divide a tile's width. */
function makeTextures(mark, scale) {
  return { hatch: hatch(Math.round(8 * scale), mark), dots: dots(Math.round(4 * scale), mark) };
}

function hatch(size, mark) {
  const tile = new OffscreenCanvas(size, size);
  const pen = tile.getContext("2d");
  pen.strokeStyle = mark;
  pen.lineWidth = size / 6;
  for (const shift of [-size, 0, size]) {
    pen.beginPath();
    pen.moveTo(shift - 1, size + 1);
    pen.lineTo(shift + size + 1, -1);
    pen.stroke();
  }
  return pen.createPattern(tile, "repeat");
}

function dots(size, mark) {
  const tile = new OffscreenCanvas(size, size);
  const pen = tile.getContext("2d");
  pen.fillStyle = mark;
  pen.beginPath();
  pen.arc(size / 2, size / 2, size / 4, 0, 2 * Math.PI);
  pen.fill();
  return pen.createPattern(tile, "repeat");
}
