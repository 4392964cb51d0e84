/** Further up or down, in the page or in a part of it that scrolls by itself. */

import {
  ownerOf,
  scrollBy,
  scrollIntoView,
  scrollingElementOf,
  scrollOf,
  scrollTo,
  styleOf,
  topElementOf,
} from "../dom";
import { parentOf } from "../frames";
import { Refusal } from "./refusal";

const WAYS = ["top", "bottom", "up", "down", "left", "right"] as const;
type Way = (typeof WAYS)[number];

export const WAYS_TO_SCROLL: readonly string[] = WAYS;

/** What it did, in words. Throws a Refusal for a way that there is not. */
export function scroll(document: Document, element: Element | null, to: string | null): string {
  if (to === null) {
    if (!element) throw new Refusal(`expected \`ref\`, or \`to\` as one of ${WAYS.join(", ")}`);
    scrollIntoView(element, { block: "center", inline: "nearest", behavior: "instant" });
    return "brought into view";
  }
  if (!isWay(to))
    throw new Refusal(`expected \`to\` as one of ${WAYS.join(", ")}; found "${to.slice(0, 40)}"`);
  const scrolled = nearestScroller(document, element, to === "left" || to === "right");
  const { left, top } = scrollOf(scrolled);
  scrollTo(scrolled, { ...goal(scrolled, to), behavior: "instant" });
  const isMoved = scrollOf(scrolled).left !== left || scrollOf(scrolled).top !== top;
  return isMoved ? `scrolled ${to}, ${position(scrolled)}` : `nothing moved: ${position(scrolled)}`;
}

export function scrollByKey(target: Element, key: string): void {
  const ways: Record<string, [number, number]> = {
    ArrowUp: [0, -40],
    ArrowDown: [0, 40],
    ArrowLeft: [-40, 0],
    ArrowRight: [40, 0],
    PageUp: [0, -0.875],
    PageDown: [0, 0.875],
    Home: [0, Number.NEGATIVE_INFINITY],
    End: [0, Number.POSITIVE_INFINITY],
  };
  const [x, y] = ways[key] ?? [0, 0];
  const scrolled = nearestScroller(ownerOf(target), target, x !== 0);
  const { height: most, shownHeight } = scrollOf(scrolled);
  const down = Math.abs(y) < 1 ? y * shownHeight : y;
  scrollBy(scrolled, { left: x, top: Math.min(Math.max(down, -most), most), behavior: "instant" });
}

function isWay(text: string): text is Way {
  return WAYS_TO_SCROLL.includes(text);
}

/** The nearest around it that can move that way; else the page. */
function nearestScroller(document: Document, element: Element | null, isAcross: boolean): Element {
  for (let at = element; at; at = parentOf(at)) {
    const { width, shownWidth, height, shownHeight } = scrollOf(at);
    const style = styleOf(at);
    const way = (isAcross ? style?.overflowX : style?.overflowY) ?? "";
    if ((isAcross ? width - shownWidth : height - shownHeight) > 1 && /auto|scroll/.test(way)) return at;
  }
  return scrollingElementOf(document) ?? topElementOf(document);
}

function goal(scrolled: Element, to: Way): { left: number; top: number } {
  const { left, top, height, shownHeight, shownWidth } = scrollOf(scrolled);
  switch (to) {
    case "top":
      return { left, top: 0 };
    case "bottom":
      return { left, top: height };
    case "up":
      return { left, top: top - shownHeight * 0.8 };
    case "down":
      return { left, top: top + shownHeight * 0.8 };
    case "left":
      return { left: left - shownWidth * 0.8, top };
    case "right":
      return { left: left + shownWidth * 0.8, top };
  }
}

function position(scrolled: Element): string {
  const { top, height, shownHeight } = scrollOf(scrolled);
  const room = height - shownHeight;
  if (room <= 1) return "all of it is in view";
  if (top <= 1) return "now at the top";
  if (top >= room - 1) return "now at the bottom";
  return `now at ${Math.round((100 * top) / room)} % of it`;
}
