/** Whether something may be acted on, and how it is reached. What stands against it is a Refusal with the reason. */

import { attributeOf, hasAttribute, isMatch } from "../dom";
import { parentOf } from "../frames";
import type { Refs } from "../refs";
import { drawn, untilFirst } from "../settle";
import type { Known } from "../types";
import { isDisabled, isOwn, isVisible } from "../visible";
import { type Aim, aimAt, bringIntoView, stoodForBy } from "./aim";
import { viewOf } from "./events";
import { isShownByHover } from "./hover";
import { described, Refusal, unlessStopped } from "./refusal";

/** What a ref leads to, if that can be used now. Throws a Refusal. */
export function resolve(refs: Refs, ref: string): Known {
  const found = refs.find(ref);
  if (!found.ok) throw new Refusal(found.reason, found.candidates.map(line));
  if (isOwn(found.known.element)) throw new Refusal("that belongs to the chat, not to the page");
  return found.known;
}

/** Throws a Refusal where the visitor could not use it either. */
export function mustBeUsable(element: Element): void {
  if (isDisabled(element)) throw new Refusal(whyDisabled(element));
  if (!isVisible(element) && !isShownByHover(element))
    throw new Refusal("it is hidden. Open what it lies in first");
}

/** Bring it into view and take aim. Where that scrolled, the page gets the time to draw what it draws then. */
export async function reached(
  refs: Refs,
  ref: string,
  signal?: AbortSignal,
): Promise<{ known: Known; aim: Aim }> {
  const { element } = resolve(refs, ref);
  mustBeUsable(element);
  if (isVisible(element) && bringIntoView(element)) await untilFirst(drawn(viewOf(element)));
  unlessStopped(signal);
  // Nothing else runs between this and the first event: what was found is what is acted on.
  const known = resolve(refs, ref);
  mustBeUsable(known.element);
  return { known, aim: aimOf(known.element) };
}

/** At what only the pointer would bring up, the aim is where it would come up. */
export function aimOf(element: Element): Aim {
  if (isVisible(element)) return aimAt(stoodForBy(element));
  for (let at = parentOf(element); at; at = parentOf(at)) {
    if (!isVisible(at)) continue;
    const { x, y } = aimAt(at);
    return { target: element, x, y };
  }
  throw new Refusal("it is hidden");
}

export function line(known: Known): string {
  const place = known.coordinate.slice(0, -1).join(" > ");
  return `${known.ref} ${described(known.element)}${place ? ` [${place.slice(0, 80)}]` : ""}`;
}

function whyDisabled(element: Element): string {
  for (let at: Element | null = element; at; at = parentOf(at)) {
    const whose = at === element ? "it" : `the ${described(at)} around it`;
    if (hasAttribute(at, "inert"))
      return `${whose} is inert: something else on the page must be dealt with first`;
    if (attributeOf(at, "aria-disabled") === "true" || isMatch(at, ":disabled"))
      return `${whose} is disabled`;
  }
  return "it is disabled";
}
