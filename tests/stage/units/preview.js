import { Forecast } from "/stage/forecast.js";
import { Preview } from "/stage/preview.js";
import { signed } from "/stage/against.js";
import { equal } from "./check.js";

/** A server that answers when told; keeps what it was asked. */
function serve(test) {
  const asked = [];
  const real = globalThis.fetch;
  globalThis.fetch = (url, { body }) =>
    new Promise((resolve) => {
      const answer = (value) =>
        resolve(new Response(JSON.stringify(value), { headers: { "content-type": "application/json" } }));
      asked.push({ ...JSON.parse(body), answer });
    });
  return Promise.resolve(test(asked)).finally(() => (globalThis.fetch = real));
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition) {
  for (let i = 0; i < 200 && !condition(); i++) await pause(10);
  equal(condition(), true);
}

export const tests = {
  "one question at a time is on its way, and the next is about the latest values": () =>
    serve(async (asked) => {
      const taken = [];
      const preview = new Preview((answer, values) => taken.push([answer.n, values.batch]));
      preview.source = { url: "/p", scene: "s" };
      for (let batch = 1; batch <= 5; batch++) preview.want({ batch });
      await pause(80);
      equal(asked.map(({ knobs }) => knobs.batch), [1]);
      asked[0].answer({ n: 1 });
      await until(() => asked.length === 2);
      equal(asked[1].knobs.batch, 5);
      asked[1].answer({ n: 2 });
      await until(() => taken.length === 2);
      equal(taken, [[1, 1], [2, 5]]);
    }),

  "one that must wait asks again about what holds then": () =>
    serve(async (asked) => {
      const taken = [];
      const preview = new Preview((answer) => taken.push(answer));
      preview.source = { url: "/p", scene: "s" };
      preview.want({ batch: 1 });
      asked[0].answer({ wait_ms: 20 });
      await pause(5);
      preview.want({ batch: 2 });
      await until(() => asked.length === 2);
      equal(asked[1].knobs.batch, 2);
      equal(taken, []);
    }),

  "an answer that comes after it was stopped is dropped, and it can be started again": () =>
    serve(async (asked) => {
      const taken = [];
      const preview = new Preview((answer) => taken.push(answer.n));
      preview.source = { url: "/p", scene: "s" };
      preview.want({ batch: 1 });
      preview.stop();
      preview.want({ batch: 2 });
      asked[0].answer({ n: 1 });
      await until(() => asked.length === 2);
      asked[1].answer({ n: 2 });
      await until(() => taken.length === 1);
      equal(taken, [2]);
    }),

  "a knob that is back where it was shows what was measured": () =>
    serve(async (asked) => {
      let news = 0;
      const forecast = new Forecast(() => (news += 1));
      forecast.aim({ url: "/p", scene: "s" }, { batch: 8 });
      forecast.drag({ batch: 4 });
      asked[0].answer({ why: "calibrating", seconds: 3 });
      await until(() => forecast.why !== null);
      forecast.drag({ batch: 8 });
      equal([forecast.why, forecast.run, news], [null, null, 2]);
    }),

  "released values count as taken when the page says them back": () => {
    const forecast = new Forecast(() => {});
    forecast.aim(null, { batch: 8 });
    forecast.drag({ batch: 4 });
    forecast.letGo({ batch: 4 });
    forecast.aim(null, { batch: 8 });
    equal(forecast.answered, false);
    forecast.aim(null, { batch: 4 });
    equal(forecast.answered, true);
  },

  "a difference has its sign": () => {
    equal([0.034, -0.1, 0.004, -0.004].map(signed), ["+3 %", "−10 %", "±0 %", "±0 %"]);
  },
};
