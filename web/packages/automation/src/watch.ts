/** Tell when the page has changed: not of every change, but once it has come to rest, and now and then if it never does. */

import { isElement, listen, parentElementOf, unlisten, windowOf } from "./dom";
import { isShadowRoot, rootsOf } from "./frames";
import { natives } from "./natives";
import { isOwn } from "./visible";

const QUIET = 120;
const LONGEST = 1_000;
/** Changes that leave no trace in the document. */
const EVENTS = ["input", "change", "toggle", "popstate", "hashchange"];

/** Returns how to stop. Changes of the chat itself are not told. */
export function watch(page: Document, told: () => void): () => void {
  const view = windowOf(page);
  if (!view) return () => {};
  const { later, notLater, now, observer: observed } = natives();
  let timer: number | undefined;
  let since = 0;
  const roots = new Set<Document | ShadowRoot>();
  const tell = (): void => {
    timer = undefined;
    since = 0;
    // What was added may have roots of its own.
    reach();
    told();
  };
  const changed = (): void => {
    since ||= now(view);
    const wait = Math.max(0, Math.min(QUIET, since + LONGEST - now(view)));
    notLater(view, timer);
    timer = later(view, tell, wait);
  };
  const observer = observed((records) => {
    if (records.some(({ target }) => !isOfChat(target))) changed();
  });
  const happened = (event: Event): void => {
    const target = event.composedPath()[0];
    if (!target || !("nodeType" in target) || !isOfChat(target as Node)) changed();
  };
  const reach = (): void => {
    for (const root of rootsOf(page)) {
      if (roots.has(root) || isOfChat(root)) continue;
      roots.add(root);
      observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
      for (const type of EVENTS) listen(root, type, happened, { capture: true, passive: true });
    }
  };
  reach();
  for (const type of EVENTS) listen(view, type, happened, { passive: true });
  return () => {
    notLater(view, timer);
    observer.disconnect();
    for (const type of EVENTS) {
      unlisten(view, type, happened);
      for (const root of roots) unlisten(root, type, happened, { capture: true });
    }
    roots.clear();
  };
}

function isOfChat(node: Node): boolean {
  if (isShadowRoot(node)) return isOwn(node.host);
  const element = isElement(node) ? (node as Element) : parentElementOf(node);
  return element ? isOwn(element) : false;
}
