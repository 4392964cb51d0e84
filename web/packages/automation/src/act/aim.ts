/** Where to click: a point of the element that a pointer would really reach, and what it would reach there. */

import { contains, frameOf } from "../frames";
import { isOwn } from "../visible";
import { described, Refusal } from "./refusal";

export interface Aim {
  readonly target: Element;
  readonly x: number;
  readonly y: number;
}

const PLACES = [
  [0.5, 0.5],
  [0.15, 0.5],
  [0.85, 0.5],
  [0.5, 0.15],
  [0.5, 0.85],
  [0.1, 0.1],
  [0.9, 0.9],
] as const;

/** Scroll only as far as it takes to reach the element. Whether it scrolled at all. */
export function bringIntoView(element: Element): boolean {
  for (const block of ["center", "end", "start"] as const) {
    if (hitOf(element)) return block !== "center";
    element.scrollIntoView({ block, inline: "nearest", behavior: "instant" });
  }
  return true;
}

/** Throws a Refusal where something lies over all of it, or it cannot be brought into view. */
export function aimAt(element: Element): Aim {
  const hit = hitOf(element);
  if (hit) return hit;
  const cover = coverOf(element);
  throw new Refusal(
    cover
      ? `it is covered by ${described(cover)}. Deal with that first`
      : "it cannot be brought into view. Scroll to it, or open what it lies in",
  );
}

function hitOf(element: Element): Aim | null {
  for (const [x, y] of pointsOf(element)) {
    const target = reachedAt(element.ownerDocument, x, y);
    if (target && isPartOf(element, target) && isFrameReached(element, x, y)) return { target, x, y };
  }
  return null;
}

function coverOf(element: Element): Element | null {
  for (const [x, y] of pointsOf(element)) {
    const target = reachedAt(element.ownerDocument, x, y);
    if (target && !isPartOf(element, target)) return target;
    const over = outside(element, x, y);
    if (over) return over;
  }
  return null;
}

/** Of every line that it runs over: the boxes of a link in a paragraph do not fill the box around them. */
function* pointsOf(element: Element): Generator<[number, number]> {
  const view = element.ownerDocument.defaultView;
  if (!view) return;
  const boxes = [...element.getClientRects()].filter((box) => box.width > 0 && box.height > 0);
  for (const [across, down] of PLACES) {
    for (const box of boxes.slice(0, 8)) {
      const x = box.left + box.width * across;
      const y = box.top + box.height * down;
      if (x >= 0 && y >= 0 && x < view.innerWidth && y < view.innerHeight) yield [x, y];
    }
  }
}

/** What a pointer would reach, as deep as one can look. The chat lies over the page and is looked through. */
function reachedAt(root: Document | ShadowRoot, x: number, y: number): Element | null {
  const top = root.elementsFromPoint(x, y).find((each) => !isOwn(each)) ?? null;
  if (!top?.shadowRoot || top.shadowRoot === root) return top;
  const inside = reachedAt(top.shadowRoot, x, y);
  // Asked for a point without anything of its own, a root answers with its host.
  return inside?.getRootNode() === top.shadowRoot || (inside && contains(top, inside)) ? inside : top;
}

/** Inside the element, or in a label of it: a click there is one on the element. */
export function isPartOf(element: Element, target: Element): boolean {
  if (contains(element, target)) return true;
  const labels = (element as HTMLInputElement).labels;
  return labels ? [...labels].some((label) => contains(label, target)) : false;
}

function isFrameReached(element: Element, x: number, y: number): boolean {
  return frameOf(element.ownerDocument) === null || outside(element, x, y) === null;
}

/** What lies over the frame that the element is in, at this point of the frame. */
function outside(element: Element, x: number, y: number): Element | null {
  const frame = frameOf(element.ownerDocument);
  if (!frame) return null;
  const box = frame.getBoundingClientRect();
  const [left, top] = [x + box.left + frame.clientLeft, y + box.top + frame.clientTop];
  const reached = reachedAt(frame.ownerDocument, left, top);
  if (reached !== frame) return reached ?? frame;
  return outside(frame, left, top);
}
