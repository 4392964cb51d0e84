/** The page as it is seen: through open shadow roots, slots and frames of the same origin. */

import { childNodesOf } from "./dom";

/** The element that this one lies in, whatever root or frame is between the two. */
export function parentOf(element: Element): Element | null {
  const slot = element.assignedSlot;
  if (slot) return slot;
  if (element.parentElement) return element.parentElement;
  const root = element.getRootNode();
  if (isShadowRoot(root)) return root.host;
  return frameOf(element.ownerDocument);
}

/** Whether one lies in the other, or is it, whatever root or frame is between the two. */
export function contains(outer: Element, inner: Element | null): boolean {
  for (let at = inner; at; at = parentOf(at)) if (at === outer) return true;
  return false;
}

/** What is shown inside an element, in order: texts and elements. Empty for frames that cannot be looked into. */
export function contentOf(element: Element): Iterable<Node> {
  if (element.shadowRoot) return element.shadowRoot.childNodes;
  if (element.localName === "slot") {
    const assigned = (element as HTMLSlotElement).assignedNodes();
    return assigned.length > 0 ? assigned : childNodesOf(element);
  }
  if (isFrame(element)) {
    const body = documentOf(element)?.body;
    return body ? [body] : [];
  }
  return childNodesOf(element);
}

export function isFrame(element: Element): boolean {
  return element.localName === "iframe" || element.localName === "frame";
}

/** The document inside a frame; null where it is of another origin. */
export function documentOf(frame: Element): Document | null {
  try {
    return (frame as HTMLIFrameElement).contentDocument;
  } catch {
    return null;
  }
}

/** The frame that a document is shown in, where that is a document of the same origin. */
export function frameOf(document: Document): Element | null {
  try {
    return document.defaultView?.frameElement ?? null;
  } catch {
    return null;
  }
}

/** Whether an element is still a part of the page: in its document, and that in the page's. */
export function isAttached(element: Element, page: Document): boolean {
  for (let at: Element = element; ; ) {
    if (!at.isConnected) return false;
    if (at.ownerDocument === page) return true;
    const frame = frameOf(at.ownerDocument);
    if (!frame) return false;
    at = frame;
  }
}

/** Every document and open root from here on, the given one first. */
export function* rootsOf(root: Document | ShadowRoot): Generator<Document | ShadowRoot> {
  yield root;
  for (const element of root.querySelectorAll("*")) {
    if (element.shadowRoot) yield* rootsOf(element.shadowRoot);
    else if (isFrame(element)) {
      const inside = documentOf(element);
      if (inside) yield* rootsOf(inside);
    }
  }
}

export function isShadowRoot(node: Node): node is ShadowRoot {
  // Not instanceof: a frame has a class of its own.
  return node.nodeType === 11 && "host" in node;
}
