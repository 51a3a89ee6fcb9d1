/** What an English prompt says, for readers of another language. Pure. The rule is that of lab/report/gloss.py. */

const LEAST = 20; // letters: a shorter beginning may be that of many texts

/** @param {string} prompt @param {Object<string, string>} glosses by prompt, or by the text it is the beginning of */
export function glossOf(prompt, glosses) {
  if (Object.hasOwn(glosses, prompt)) return glosses[prompt];
  const begins = (text) => prompt.startsWith(text) || (prompt.length >= LEAST && text.startsWith(prompt));
  const found = Object.entries(glosses).find(([text]) => begins(text));
  return found ? found[1] : "";
}
