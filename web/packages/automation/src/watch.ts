/** Tell when the page has changed: not of every change, but once it has come to rest, and now and then if it never does. */

import { isShadowRoot, rootsOf } from "./frames";
import { isOwn } from "./visible";

const QUIET = 120;
const LONGEST = 1_000;
/** Changes that leave no trace in the document. */
const EVENTS = ["input", "change", "toggle", "popstate", "hashchange"];

/** Returns how to stop. Changes of the chat itself are not told. */
export function watch(page: Document, told: () => void): () => void {
  const view = page.defaultView;
  if (!view) return () => {};
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
    since ||= view.performance.now();
    const wait = Math.max(0, Math.min(QUIET, since + LONGEST - view.performance.now()));
    view.clearTimeout(timer);
    timer = view.setTimeout(tell, wait);
  };
  const observer = new view.MutationObserver((records) => {
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
      for (const type of EVENTS) root.addEventListener(type, happened, { capture: true, passive: true });
    }
  };
  reach();
  for (const type of EVENTS) view.addEventListener(type, happened, { passive: true });
  return () => {
    view.clearTimeout(timer);
    observer.disconnect();
    for (const type of EVENTS) {
      view.removeEventListener(type, happened);
      for (const root of roots) root.removeEventListener(type, happened, { capture: true });
    }
    roots.clear();
  };
}

function isOfChat(node: Node): boolean {
  if (isShadowRoot(node)) return isOwn(node.host);
  const element = node.nodeType === 1 ? (node as Element) : node.parentElement;
  return element ? isOwn(element) : false;
}
