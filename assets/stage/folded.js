/**
 * The Tab key finds what is folded away. A popover of the page lies at its end, and once the focus has left it, or a
 * choice was made in it, the page takes its parts out of the order of the keys and does not put them back.
 */

const OPENED = '[data-testid="stPopoverButton"][aria-expanded="true"]';
const FOLDED = '[data-testid="stPopoverBody"]';
const TAKES_KEYS = 'a[href], button:enabled, input:enabled, textarea:enabled, [tabindex="0"]';
let unfolding = false; // once a page

/** From a popover's button Tab goes on in the popover, whose parts all take part. */
export function unfoldForKeys() {
  if (unfolding) return;
  unfolding = true;
  document.addEventListener("keydown", (event) => event.key === "Tab" && unfold(event), true);
}

function unfold(event) {
  for (const part of document.querySelectorAll(`${FOLDED} [data-tabindex]`)) putBack(part);
  if (event.shiftKey || !document.activeElement?.matches(OPENED)) return;
  const first = document.querySelector(FOLDED)?.querySelector(TAKES_KEYS);
  if (!first) return;
  event.preventDefault();
  first.focus();
}

function putBack(part) {
  const { tabindex } = part.dataset;
  if (tabindex) part.setAttribute("tabindex", tabindex);
  else part.removeAttribute("tabindex");
  delete part.dataset.tabindex;
}
