/** The cell cursor: which step of which seat is looked at. Pure; positions are {lane, seat, step}. */

import { stepAt } from "./moments.js";

/**
 * The cell under a point, or null.
 * @param places of the lanes, from layOut
 * @param view {from, perSecond, now}
 */
export function cellUnder(x, y, lanes, places, view) {
  for (let i = 0; i < lanes.length; i++) {
    const { seats, seatHeight } = places[i];
    if (y < seats.y || y >= seats.y + seats.h || x < seats.x || x >= seats.x + seats.w) continue;
    const seat = Math.floor((y - seats.y) / seatHeight);
    const time = view.from + (x - seats.x) / view.perSecond;
    if (time > view.now) return null;
    const step = stepAt(lanes[i], Math.floor(seat / lanes[i].seats), time);
    return step === null ? null : { lane: i, seat, step };
  }
  return null;
}

/** Where the keyboard begins: the last step begun by `time`, in the first lane that has one. */
export function firstCell(lanes, time) {
  for (let lane = 0; lane < lanes.length; lane++) {
    const step = lastStepBy(lanes[lane], 0, time);
    if (step !== null) return { lane, seat: 0, step };
  }
  return null;
}

/** The neighbour of a cell: dx steps later, dy seats further down, over the lanes' borders. Never after `time`. */
export function moveCell(cell, dx, dy, lanes, time) {
  if (dy) return moveSeat(cell, dy, lanes, time);
  const lane = lanes[cell.lane];
  const steps = lane.groupSteps[Math.floor(cell.seat / lane.seats)];
  const step = steps[steps.indexOf(cell.step) + dx];
  return step === undefined || lane.stepStart[step] > time ? cell : { ...cell, step };
}

function moveSeat(cell, dy, lanes, time) {
  const from = lanes[cell.lane];
  let lane = cell.lane;
  let seat = cell.seat + dy;
  if (seat < 0) lane -= 1;
  if (seat >= from.rows) lane += 1;
  if (!lanes[lane]) return cell;
  if (lane < cell.lane) seat = lanes[lane].rows - 1;
  if (lane > cell.lane) seat = 0;
  const at = (from.stepStart[cell.step] + from.stepEnd[cell.step]) / 2;
  const step = lastStepBy(lanes[lane], Math.floor(seat / lanes[lane].seats), Math.min(at, time));
  return step === null ? cell : { lane, seat, step };
}

function lastStepBy(lane, group, time) {
  const running = stepAt(lane, group, time);
  if (running !== null) return running;
  const steps = (lane.groupSteps[group] ?? []).filter((step) => lane.stepStart[step] <= time);
  return steps.length ? steps[steps.length - 1] : null;
}
