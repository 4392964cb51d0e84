/** Where to click: a point of the element that a pointer would really reach, and what it would reach there. */

import { ownerOf, rectsOf, scrollIntoView, styleOf, tagOf, viewOf } from "../dom";
import { contains, frameOf } from "../frames";
import { labelsOf } from "../labels";
import { outwards } from "../places";
import { isPartOf, isVisible, topAt } from "../visible";
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
    scrollIntoView(element, { block, inline: "nearest", behavior: "instant" });
  }
  return true;
}

/** Throws a Refusal where something lies over all of it, or it cannot be brought into view. */
export function aimAt(element: Element): Aim {
  const hit = hitOf(element);
  if (hit) return hit;
  if (styleOf(element)?.pointerEvents === "none")
    throw new Refusal(
      "the page lets no pointer reach it (pointer-events: none). It may be switched off until something else is done",
    );
  const cover = coverOf(element);
  throw new Refusal(
    cover
      ? `it is covered by ${described(cover)}. Deal with that first`
      : "it cannot be brought into view. Scroll to it, or open what it lies in",
  );
}

/** A box that is too small to be hit has its label drawn in its place. */
export function stoodForBy(element: Element): Element {
  const isBox = tagOf(element) === "input" && /^(checkbox|radio)$/.test((element as HTMLInputElement).type);
  const isTiny = [...rectsOf(element)].every(({ width, height }) => width <= 2 || height <= 2);
  const label = isBox && isTiny && !hitOf(element) ? labelsOf(element).find(isVisible) : undefined;
  return label ?? element;
}

function hitOf(element: Element): Aim | null {
  for (const [x, y] of pointsOf(element)) {
    const target = topAt(ownerOf(element), x, y);
    if (target && isPartOf(element, target) && isFrameReached(element, x, y)) return { target, x, y };
  }
  return null;
}

function coverOf(element: Element): Element | null {
  for (const [x, y] of pointsOf(element)) {
    const target = topAt(ownerOf(element), x, y);
    if (target && !isPartOf(element, target)) return target;
    const over = outside(element, x, y);
    // Its own frame does not cover it: that point of the frame is out of view.
    if (over && !contains(over, element)) return over;
  }
  return null;
}

/** Of every line that it runs over: the boxes of a link in a paragraph do not fill the box around them. */
function* pointsOf(element: Element): Generator<[number, number]> {
  const view = viewOf(element);
  if (!view) return;
  const boxes = [...rectsOf(element)].filter((box) => box.width > 0 && box.height > 0);
  for (const [across, down] of PLACES) {
    for (const box of boxes.slice(0, 8)) {
      const x = box.left + box.width * across;
      const y = box.top + box.height * down;
      if (x >= 0 && y >= 0 && x < view.innerWidth && y < view.innerHeight) yield [x, y];
    }
  }
}

function isFrameReached(element: Element, x: number, y: number): boolean {
  return frameOf(ownerOf(element)) === null || outside(element, x, y) === null;
}

/** What lies over the frame that the element is in, at this point of the frame. */
function outside(element: Element, x: number, y: number): Element | null {
  const frame = frameOf(ownerOf(element));
  if (!frame) return null;
  const [left, top] = outwards(frame, x, y);
  const reached = topAt(ownerOf(frame), left, top);
  if (reached !== frame) return reached ?? frame;
  return outside(frame, left, top);
}
