/** Where things are on the stage: pure arithmetic in CSS pixels. Rectangles are {x, y, w, h}. */

const NARROW = 44; // em: below this, a lane's title stands above its seats
const LOWEST = 4.4; // em: what a lane's title, rule and speed take
const SEAT = 1.7; // em: a seat is not drawn higher

/**
 * @param {number} width of the stage
 * @param {number} wanted height that the lanes should take together
 * @param {number} em the base font size in pixels
 * @param lanes anything with `rows`, the number of seats
 * @param {boolean} memory is there a band of KV memory beneath the seats?
 * @returns {{narrow, height, axis, lanes: {head, strip, seats, kv, now, seatHeight}[]}}
 */
export function layOut(width, wanted, em, lanes, memory = true) {
  const narrow = width < NARROW * em;
  const axis = { h: 1.5 * em };
  const head = narrow ? { w: width, h: 2.9 * em } : { w: 14.5 * em, h: 0 };
  const now = narrow ? { w: width, h: 3.3 * em } : { w: 13.5 * em, h: 0 };
  const strip = narrow ? { x: 0, w: width } : { x: head.w, w: width - head.w - now.w };
  const gap = 0.5 * em;
  const above = narrow ? head.h : 0;
  const below = narrow ? now.h : 0;
  const heights = laneHeights(lanes, wanted - axis.h - lanes.length * gap, em, narrow);
  let y = axis.h;
  const places = lanes.map((lane, i) => {
    const place = placeLane(lane, { x: strip.x, y: y + above, w: strip.w, h: heights[i] }, em, memory);
    place.head = narrow ? { x: 0, y, w: width, h: head.h } : { x: 0, y, w: head.w, h: heights[i] };
    place.now = narrow
      ? { x: 0, y: y + above + heights[i], w: width, h: now.h }
      : { x: strip.x + strip.w, y, w: now.w, h: heights[i] };
    y += above + heights[i] + below + gap;
    return place;
  });
  return { narrow, height: y, axis: { x: strip.x, y: 0, w: strip.w, h: axis.h }, lanes: places };
}

function placeLane(lane, strip, em, memory) {
  const kvHeight = memory ? Math.min(1.2 * em, strip.h * 0.26) : 0;
  const seatsHeight = strip.h - kvHeight - 3;
  const seatHeight = Math.min(lane.rows === 1 ? 2.4 * em : SEAT * em, seatsHeight / lane.rows);
  const seats = { x: strip.x, y: strip.y, w: strip.w, h: seatHeight * lane.rows };
  const kv = { x: strip.x, y: strip.y + strip.h - kvHeight, w: strip.w, h: kvHeight };
  return { strip, seats, kv, seatHeight };
}

/** Each lane what it can use, and where that is too much, shares of what there is, by number of seats. */
function laneHeights(lanes, available, em, narrow) {
  const least = (narrow ? 3.4 : LOWEST) * em;
  const most = lanes.map((lane) => Math.max(least, lane.rows * SEAT * em + 1.2 * em + 3));
  const spare = Math.max(0, available - lanes.length * least);
  const wishes = most.map((height) => Math.min(height - least, Math.max(8 * em, spare)));
  const sum = wishes.reduce((a, b) => a + b, 0);
  const part = sum > spare ? spare / sum : 1;
  return wishes.map((wish) => Math.round(least + wish * part));
}
