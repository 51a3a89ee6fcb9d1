import { Player, edgeOf } from "/stage/player.js";
import { View } from "/stage/view.js";
import { equal, near } from "./check.js";

function player(end, live = false) {
  const made = new Player();
  made.setEnd(end, live);
  return made;
}

export const tests = {
  "it plays at its speed and stops at the end": () => {
    const p = player(2);
    p.speed = 4;
    p.toggle();
    p.tick(0.25);
    equal([p.time, p.playing], [1, true]);
    p.tick(1);
    equal([p.time, p.playing, p.moving], [2, false, false]);
  },
  "play at the end begins anew": () => {
    const p = player(2);
    p.seek(2);
    p.toggle();
    equal([p.time, p.playing], [0, true]);
  },
  "seeking stands still, within the run": () => {
    const p = player(2);
    p.toggle();
    p.seek(7);
    equal([p.time, p.playing], [2, false]);
    p.seek(-1);
    equal(p.time, 0);
  },
  "following reaches the end of what is known, and stays with it": () => {
    const p = player(1, true);
    p.follow();
    for (let i = 0; i < 100; i++) p.tick(0.016);
    equal([p.time, p.following], [1, true]);
    p.setEnd(1.5, true);
    equal(p.moving, true);
    for (let i = 0; i < 100; i++) p.tick(0.016);
    equal(p.time, 1.5);
  },
  "it never runs ahead of what is known": () => {
    const p = player(1, true);
    p.toggle();
    for (let i = 0; i < 200; i++) p.tick(0.016);
    equal([p.time, p.playing, p.following], [1, false, true]);
  },
  "when the run is over it stops following at the end": () => {
    const p = player(1, true);
    p.follow();
    p.setEnd(1.2, false);
    for (let i = 0; i < 100; i++) p.tick(0.016);
    equal([p.time, p.following, p.moving], [1.2, false, false]);
  },
  "the view scrolls with the playhead, and shows the beginning first": () => {
    const v = new View();
    v.settle(1000, { time: 0, end: 100, live: false }, 0.02, 16);
    near(v.perSecond, 350);
    equal(v.from, 0);
    v.settle(1000, { time: 50, end: 100, live: false }, 0.02, 16);
    near((50 - v.from) * v.perSecond, 860, 1e-6);
  },
  "a short run fits, and so does the whole run when asked": () => {
    const v = new View();
    v.settle(1000, { time: 0, end: 1, live: false }, 0.02, 16);
    near(v.perSecond, 1000 / 1.02);
    v.fit();
    v.settle(1000, { time: 3, end: 100, live: false }, 0.02, 16);
    near(v.perSecond, 1000 / 102);
    equal(v.from, 0);
  },
  "while a run goes on, the whole of it is scaled in leaps": () => {
    const v = new View();
    v.fit();
    const scales = new Set();
    for (let end = 10; end < 14; end += 0.1) {
      v.settle(1000, { time: end, end, live: true }, 0.02, 16);
      scales.add(v.perSecond);
    }
    equal(scales.size <= 2, true);
  },
  "a run that has just begun is not blown up to fill the width": () => {
    const v = new View();
    v.settle(1000, { time: 0.01, end: 0.01, live: true }, 0.02, 16);
    near(v.perSecond, 700);
  },
  "beside a lane that was measured before, the playhead stays where those come that are measured now": () => {
    const lane = (end, over) => ({ run: { over }, lane: { end } });
    equal(edgeOf([lane(28, true), lane(1.5, false), lane(2, false)]), 2);
    equal(edgeOf([lane(28, true), lane(5, true)]), 28);
    equal(edgeOf([]), 0);
  },
  "zooming keeps the moment under the hand where it is": () => {
    const v = new View();
    v.settle(1000, { time: 50, end: 100, live: false }, 0.02, 16);
    const before = (49.5 - v.from) * v.perSecond;
    v.zoom(2, 49.5);
    near((49.5 - v.from) * v.perSecond, before, 1e-6);
  },
};
