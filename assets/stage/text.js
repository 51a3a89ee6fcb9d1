/** Words and numbers as they are shown. Pure; knows no page and no record. */

/**
 * A function that looks a string up and fills its {fields} in. An unknown key shows as itself.
 * Its `knows` tells whether the one who looks has met a word, such as "kv"; the stage leaves out what needs others.
 * @param {Object<string, string>} strings @param {?string[]} words that have been met; null: all
 */
export function makeText(strings, words = null) {
  const t = (key, fields = {}) =>
    (strings[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => (name in fields ? String(fields[name]) : whole));
  t.knows = (word) => words === null || words.includes(word);
  return t;
}

/** What is undefined is a dash, never 0. */
export const NOTHING = "–";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** Digits after the point so that about `digits` digits are shown, and thousands apart. */
export function number(value, digits = 3) {
  if (!isNumber(value)) return NOTHING;
  if (value === 0) return "0";
  const whole = Math.abs(value) < 1 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1;
  const places = Math.max(0, Math.min(2, digits - whole));
  return thousands(value.toFixed(places));
}

/** 1234567 as "1,234,567"; the locale's own formatter is too slow for hundreds of numbers a frame. */
export function thousands(value) {
  const [whole, rest] = String(value).split(".");
  const apart = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined ? apart : `${apart}.${rest}`;
}

/** A duration: milliseconds below one second, seconds above. @param {?number} s seconds */
export function duration(s) {
  if (!isNumber(s)) return NOTHING;
  if (s > 0 && s < 0.01) return `${number(s * 1000, 2)} ms`;
  return s < 1 ? `${Math.round(s * 1000)} ms` : `${number(s)} s`;
}

/** A moment on the lanes' clocks, always with two places so that it does not jump. @param {number} s seconds */
export const moment = (s) => `${s.toFixed(2)} s`;

/** @param {?number} tokens per second */
export const speed = (tokens) => number(tokens);

/** How many times as much; below 10 with one place. */
export const times = (factor) => (isNumber(factor) ? `×${factor < 100 ? factor.toFixed(1) : Math.round(factor)}` : "");

/** @param {?number} share between 0 and 1 */
export function percent(share) {
  if (!isNumber(share)) return NOTHING;
  return `${share > 0 && share < 0.1 ? (share * 100).toFixed(1) : Math.round(share * 100)} %`;
}

/** Megabytes of 10^6 bytes, without their unit. */
export const megabytes = (value) => number(value / 1e6);

/** "3, 4, 5", and with more than `most` "3, 4, 5 … (12)". */
export function list(items, most = 12) {
  if (items.length <= most) return items.join(", ");
  return `${items.slice(0, most).join(", ")} … (${items.length})`;
}

/** A lane's name in the visitor's language; a hybrid, such as "static -padded", says what it changes. */
export function laneName(lane, t) {
  const slug = (lane.name.match(/[a-z0-9]+/g) ?? []).join("_");
  const given = t(`stage.lane.${slug}`);
  if (given !== `stage.lane.${slug}`) return given;
  const [base, ...rules] = lane.name.split(" ");
  const turned = rules.map((rule) => rule.replace("+", "with_").replace("-", "without_"));
  const keys = [`mode.${base}.name`, ...turned.map((turn) => `stage.turned.${turn}`)];
  const parts = keys.map((key) => t(key));
  return parts.some((part, i) => part === keys[i]) ? lane.name : parts.join(" ");
}
