/** Who this tab is, for the server: a secret that the tab keeps over a reload, and that no address shows. */

const SHELF = "batching-lab-owner";
let asked = false; // once a page load: the server may have reasons to say no

/** @param {string} owner what the server calls this tab now @param tell called with what it was called before */
export function keepOwner(owner, tell) {
  try {
    const before = sessionStorage.getItem(SHELF);
    if (before === owner) return;
    if (before && !asked) {
      asked = true;
      setTimeout(() => tell(before)); // what is said while the component is being mounted may be lost
    } else sessionStorage.setItem(SHELF, owner);
  } catch {
    // A browser that keeps nothing: after a reload this tab is somebody new.
  }
}
