import { duration, list, makeText, number, percent, times } from "/stage/text.js";
import { equal } from "./check.js";

export const tests = {
  "durations change from milliseconds to seconds, and 0 is not a dash": () => {
    equal([0, 0.0042, 0.0524, 0.9, 3.4251, 83.2, 12345].map(duration),
      ["0 ms", "4.2 ms", "52 ms", "900 ms", "3.43 s", "83.2 s", "12,345 s"]);
  },
  "what is undefined is a dash": () => equal([null, undefined, NaN, Infinity].map(duration), ["–", "–", "–", "–"]),
  "numbers keep about three digits and set thousands apart": () => {
    equal([0, 0.31, 7.26, 71.24, 712.4, 71243, 1234567.8].map((n) => number(n)),
      ["0", "0.31", "7.26", "71.2", "712", "71,243", "1,234,568"]);
  },
  "factors and shares": () => {
    equal([7.44, 12.34, 345.6, NaN].map(times), ["×7.4", "×12.3", "×346", ""]);
    equal([0, 0.034, 0.34, 1, null].map(percent), ["0 %", "3.4 %", "34 %", "100 %", "–"]);
  },
  "a long list is cut and says how long it is": () => equal(list([1, 2, 3, 4], 3), "1, 2, 3 … (4)"),
  "fields are filled in, unknown ones stay, and text is never read as a pattern": () => {
    const t = makeText({ greet: "{who} and {other}: {who}" });
    equal(t("greet", { who: "$& {other}" }), "$& {other} and {other}: $& {other}");
    equal(t("nothing"), "nothing");
  },
};
