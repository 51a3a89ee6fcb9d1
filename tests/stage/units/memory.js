import { corners } from "/stage/memory.js";
import { Series } from "/stage/series.js";
import { paintTile } from "/stage/tile.js";
import { equal } from "./check.js";

/** @param changes [[time, delta]] */
function series(changes) {
  const made = new Series();
  for (const [time, delta] of changes) made.add(time, delta);
  return made;
}

/** The memory band's rectangles as [left, right, height], of a lane without seats at a pixel a second. */
function band(changes, end) {
  const kvUsed = series(changes);
  const painted = [];
  const pen = {
    canvas: { width: 100, height: 10 },
    clearRect: () => {},
    fillRect: (x, y, w, h) => w && painted.push([x, x + w, h]),
  };
  const theme = { scale: 1, modeColour: () => "black" };
  const lane = { name: "none", end, spans: [], groupSteps: [], kvUsed, kvReserved: new Series() };
  const shape = { seatHeight: 10, kvTop: 0, kvHeight: 10 };
  paintTile(pen, lane, { from: 0, to: 100, perSecond: 1 }, shape, { theme, kvScale: 10 });
  return painted;
}

export const tests = {
  "the curve of memory falls at once, whatever else happened within that pixel": () => {
    const used = series([[10, 5], [20, 1], [20.2, -6]]);
    const xs = corners(used, 60, (seconds) => seconds);
    equal(xs, [[10, 0], [10, 5], [10, 5], [20, 5], [20, 6], [20, 0], [60, 0]]);
  },
  "memory that is given back within a pixel shows there, and not in the pause that follows": () => {
    equal(band([[10, 8], [10.2, -8], [60, 4], [70, -4]], 80), [[10, 11, 8], [60, 61, 4], [61, 70, 4]]);
  },
  "of changes within a pixel the highest shows, and after it the last": () => {
    equal(band([[10, 2], [10.1, 7], [10.3, -6]], 20), [[10, 11, 9], [11, 20, 3]]);
  },
};
