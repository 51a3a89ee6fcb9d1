/** Tokens as text. Pure. */

/** The text of tokens; half characters show as a replacement mark, unknown tokens are silent. */
export function textOf(tokens, pieces) {
  const parts = tokens.map((token) => pieces.get(token)).filter(Boolean);
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(all);
}

/** One token in quotes, its spaces and line ends to be seen; its number where its text is unknown, a stop sign where it has none (an end). */
export function tokenName(token, pieces) {
  if (token === null) return "";
  if (!pieces.has(token)) return `#${token}`;
  const text = textOf([token], pieces);
  return text === "" ? "■" : `“${text.replace(/\n/g, "↵").replace(/\t/g, "→").replace(/ /g, "\u00b7")}”`;
}
