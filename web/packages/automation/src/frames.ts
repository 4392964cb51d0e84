/** The page as it is seen: through open shadow roots, slots and frames of the same origin. */

import {
  allIn,
  bodyOf,
  childNodesOf,
  isConnected,
  nodeTypeOf,
  ownerOf,
  parentElementOf,
  type Root,
  rootOf,
  shadowOf,
  slotOf,
  tagOf,
  windowOf,
} from "./dom";

/** The element that this one lies in, whatever root or frame is between the two. */
export function parentOf(element: Element): Element | null {
  const parent = slotOf(element) ?? parentElementOf(element);
  if (parent) return parent;
  const root = rootOf(element);
  if (isShadowRoot(root)) return root.host;
  return frameOf(ownerOf(element));
}

/** Whether one lies in the other, or is it, whatever root or frame is between the two. */
export function contains(outer: Element, inner: Element | null): boolean {
  for (let at = inner; at; at = parentOf(at)) if (at === outer) return true;
  return false;
}

/** What is shown inside an element, in order: texts and elements. Empty for frames that cannot be looked into. */
export function contentOf(element: Element): readonly Node[] {
  const shadow = shadowOf(element);
  if (shadow) return childNodesOf(shadow);
  const tag = tagOf(element);
  if (tag === "slot") {
    const assigned = (element as HTMLSlotElement).assignedNodes();
    return assigned.length > 0 ? assigned : childNodesOf(element);
  }
  if (tag === "iframe" || tag === "frame") {
    const inside = documentOf(element);
    const body = inside && bodyOf(inside);
    return body ? [body] : [];
  }
  return childNodesOf(element);
}

export function isFrame(element: Element): boolean {
  const tag = tagOf(element);
  return tag === "iframe" || tag === "frame";
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
    return windowOf(document)?.frameElement ?? null;
  } catch {
    return null;
  }
}

/** The outermost document that can be reached from this one. */
export function topOf(document: Document): Document {
  const frame = frameOf(document);
  return frame ? topOf(ownerOf(frame)) : document;
}

/** Whether an element is still a part of the page: in its document, and that in the page's. */
export function isAttached(element: Element, page: Document): boolean {
  for (let at: Element = element; ; ) {
    if (!isConnected(at)) return false;
    if (ownerOf(at) === page) return true;
    const frame = frameOf(ownerOf(at));
    if (!frame) return false;
    at = frame;
  }
}

/** Every document and open root from here on, the given one first. */
export function* rootsOf(root: Root): Generator<Root> {
  yield root;
  for (const element of allIn(root, "*")) {
    const shadow = shadowOf(element);
    if (shadow) yield* rootsOf(shadow);
    else if (isFrame(element)) {
      const inside = documentOf(element);
      if (inside) yield* rootsOf(inside);
    }
  }
}

export function isShadowRoot(node: Node): node is ShadowRoot {
  // Not instanceof: a frame has a class of its own.
  return nodeTypeOf(node) === 11 && "host" in node;
}
