/** Further up or down, in the page or in a part of it that scrolls by itself. */

import { parentOf } from "../frames";
import { viewOf } from "./events";
import { Refusal } from "./refusal";

const WAYS = ["top", "bottom", "up", "down", "left", "right"] as const;
type Way = (typeof WAYS)[number];

export const WAYS_TO_SCROLL: readonly string[] = WAYS;

/** What it did, in words. Throws a Refusal for a way that there is not. */
export function scroll(document: Document, element: Element | null, to: string | null): string {
  if (to === null) {
    if (!element) throw new Refusal(`expected \`ref\`, or \`to\` as one of ${WAYS.join(", ")}`);
    element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    return "brought into view";
  }
  if (!isWay(to))
    throw new Refusal(`expected \`to\` as one of ${WAYS.join(", ")}; found "${to.slice(0, 40)}"`);
  const scrolled = scrollerOf(document, element, to === "left" || to === "right");
  const [left, top] = [scrolled.scrollLeft, scrolled.scrollTop];
  scrolled.scrollTo({ ...goal(scrolled, to), behavior: "instant" });
  const isMoved = scrolled.scrollLeft !== left || scrolled.scrollTop !== top;
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
  const scrolled = scrollerOf(target.ownerDocument, target, x !== 0);
  const down = Math.abs(y) < 1 ? y * scrolled.clientHeight : y;
  const most = scrolled.scrollHeight;
  scrolled.scrollBy({ left: x, top: Math.min(Math.max(down, -most), most), behavior: "instant" });
}

function isWay(text: string): text is Way {
  return WAYS_TO_SCROLL.includes(text);
}

/** The nearest around it that can move that way; else the page. */
function scrollerOf(document: Document, element: Element | null, isAcross: boolean): Element {
  for (let at = element; at; at = parentOf(at)) {
    const room = isAcross ? at.scrollWidth - at.clientWidth : at.scrollHeight - at.clientHeight;
    const style = viewOf(at).getComputedStyle(at);
    if (room > 1 && /auto|scroll/.test(isAcross ? style.overflowX : style.overflowY)) return at;
  }
  return document.scrollingElement ?? document.documentElement;
}

function goal(scrolled: Element, to: Way): { left: number; top: number } {
  const { scrollLeft: left, scrollTop: top, scrollHeight, clientHeight, clientWidth } = scrolled;
  switch (to) {
    case "top":
      return { left, top: 0 };
    case "bottom":
      return { left, top: scrollHeight };
    case "up":
      return { left, top: top - clientHeight * 0.8 };
    case "down":
      return { left, top: top + clientHeight * 0.8 };
    case "left":
      return { left: left - clientWidth * 0.8, top };
    case "right":
      return { left: left + clientWidth * 0.8, top };
  }
}

function position({ scrollTop, scrollHeight, clientHeight }: Element): string {
  const room = scrollHeight - clientHeight;
  if (room <= 1) return "all of it is in view";
  if (scrollTop <= 1) return "now at the top";
  if (scrollTop >= room - 1) return "now at the bottom";
  return `now at ${Math.round((100 * scrollTop) / room)} % of it`;
}
