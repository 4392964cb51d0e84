/** What the visitor can see and reach. */

import {
  attributeOf,
  elementsAt,
  hasAttribute,
  isConnected,
  isMatch,
  isShown,
  ownerOf,
  type Root,
  rectOf,
  rectsOf,
  rootOf,
  shadowOf,
  styleOf,
  viewOf,
} from "./dom";
import { contains, frameOf, isShadowRoot, parentOf } from "./frames";
import { labelsOf } from "./labels";
import { outwards } from "./places";

/** The chat itself, which is laid over the page and is no part of it. */
export const OWN = "pollux-chat, [data-pollux-chat]";

/** Whether the element is rendered. What is transparent or tiny counts: many pages hide the real checkbox so. */
export function isVisible(element: Element): boolean {
  for (let at: Element | null = element; at; at = frameOf(ownerOf(at))) if (!isRendered(at)) return false;
  return true;
}

/** By itself, by its fieldset, by `aria-disabled` or `inert` of anything around it. */
export function isDisabled(element: Element): boolean {
  if (isMatch(element, ":disabled")) return true;
  for (let at: Element | null = element; at; at = parentOf(at)) {
    if (attributeOf(at, "aria-disabled") === "true" || hasAttribute(at, "inert")) return true;
  }
  return false;
}

/** What lies over the element wherever it was looked for; null where it can be reached, or is out of view. */
export function coveredBy(element: Element): Element | null {
  let cover: Element | null = null;
  for (const [x, y] of pointsOf(element)) {
    const over = coverAt(element, x, y);
    if (!over) return null;
    cover ??= over;
  }
  return cover;
}

/** Whether a pointer in the middle of the element, as far as that is in view, would reach the element. */
export function isOnTop(element: Element): boolean {
  for (const [x, y] of pointsOf(element)) return coverAt(element, x, y) === null;
  return false;
}

export function isOwn(element: Element): boolean {
  for (let at: Element | null = element; at; at = parentOf(at)) if (isMatch(at, OWN)) return true;
  return false;
}

/** What a pointer at this point would reach, as deep as one can look. The chat lies over the page and is looked through. */
export function topAt(root: Root, x: number, y: number): Element | null {
  const hit = elementsAt(root, x, y).find((each) => !isOwn(each)) ?? null;
  const inside = hit && shadowOf(hit);
  if (!inside || inside === root) return hit;
  // Asked for a point without anything of its own, a root answers with its host.
  const deeper = topAt(inside, x, y);
  return deeper && (isShadowRoot(rootOf(deeper)) || contains(hit, deeper)) ? deeper : hit;
}

function isRendered(element: Element): boolean {
  if (!isConnected(element)) return false;
  if (isShown(element)) return true;
  // Without a box of its own, but what is inside has one: `display: contents`, and every slot.
  const style = styleOf(element);
  if (style?.display !== "contents" || style.visibility !== "visible") return false;
  const parent = parentOf(element);
  return parent === null || isRendered(parent);
}

/** The middle first, then points near the corners, of those that are in view. */
function* pointsOf(element: Element): Generator<[number, number]> {
  const view = viewOf(element);
  const box = boxOf(element);
  if (!view || !box) return;
  const [left, right] = [Math.max(box.left, 0), Math.min(box.right, view.innerWidth)];
  const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, view.innerHeight)];
  if (left >= right || top >= bottom) return;
  for (const [across, down] of [
    [0.5, 0.5],
    [0.1, 0.1],
    [0.9, 0.1],
    [0.1, 0.9],
    [0.9, 0.9],
  ] as const)
    yield [left + (right - left) * across, top + (bottom - top) * down];
}

/** The largest of its boxes: a link over two lines has two, and nothing of it is between them. */
function boxOf(element: Element): DOMRect | null {
  let largest: DOMRect | null = null;
  for (const box of rectsOf(element))
    if (box.width * box.height > (largest ? largest.width * largest.height : 0)) largest = box;
  return largest;
}

function coverAt(element: Element, x: number, y: number): Element | null {
  const hit = topAt(ownerOf(element), x, y);
  if (hit && !isPartOf(element, hit)) return hit;
  const frame = frameOf(ownerOf(element));
  if (!frame) return null;
  return coverAt(frame, ...outwards(frame, x, y));
}

/** Whether a click on `hit` is one on `element`: it is inside it, or in its label. */
export function isPartOf(element: Element, hit: Element): boolean {
  if (contains(element, hit)) return true;
  return labelsOf(element).some((label) => contains(label, hit));
}

/** Whether some of the element is in the part of the page that is on screen. */
export function isInView(element: Element): boolean {
  const view = viewOf(element);
  if (!view) return false;
  const box = rectOf(element);
  const isHere = box.bottom > 0 && box.right > 0 && box.top < view.innerHeight && box.left < view.innerWidth;
  if (!isHere) return false;
  const frame = frameOf(ownerOf(element));
  return !frame || isInView(frame);
}
