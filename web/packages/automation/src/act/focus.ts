/** Who has the focus, who can have it, and who would be next. Focus moves as a pointer or Tab would move it. */

import {
  activeIn,
  blur,
  bodyOf,
  focus,
  isBefore,
  isElement,
  isMatch,
  listen,
  ownerOf,
  type Root,
  rootOf,
  shadowOf,
  styleOf,
  tabIndexOf,
  unlisten,
} from "../dom";
import { contentOf, documentOf, isFrame, parentOf } from "../frames";
import { natives } from "../natives";
import { isOwn } from "../visible";
import { emitChange, viewOf } from "./events";

const FOCUSABLE =
  "a[href], area[href], button, input, select, textarea, summary, iframe, audio[controls], video[controls], [tabindex], [contenteditable]";
const MOST = 5_000;

/** Fields that were typed into and have not said `change` yet: the value they had before. */
const typedInto = new WeakMap<Element, string>();

/** The element that keys go to, however deep it lies. Null where that is the chat, or nothing. */
export function focused(document: Document): Element | null {
  let at: Element | null = activeIn(document);
  for (;;) {
    const root: Root | null = at && (shadowOf(at) ?? (isFrame(at) ? documentOf(at) : null));
    const inside: Element | null = root && activeIn(root);
    if (!inside) break;
    at = inside;
  }
  if (!at || isOwn(at)) return null;
  return at;
}

/** Focus moves to the nearest element around the target that can have it, as after the press of a button. */
export function focusByPointer(target: Element): void {
  for (let at: Element | null = target; at; at = parentOf(at)) {
    if (ownerOf(at) !== ownerOf(target)) break;
    if (!canHaveFocus(at)) continue;
    if (hasFocus(at) || focusOn(at)) return;
  }
  const before = focused(ownerOf(target));
  if (before && before !== bodyOf(ownerOf(target))) {
    commit(before);
    blur(before);
  }
}

/** Whether the element has the focus now. */
export function focusOn(element: Element): boolean {
  if (hasFocus(element)) return true;
  const before = focused(ownerOf(element));
  if (before) commit(before);
  focus(element);
  const shadow = shadowOf(element);
  return hasFocus(element) || (shadow !== null && activeIn(shadow) !== null);
}

/** Where Tab would lead from here, or Shift+Tab. */
export function nextOf(from: Element | null, document: Document, isBack: boolean): Element | null {
  const all = tabbable(document);
  if (all.length === 0) return null;
  const at = from ? all.indexOf(from) : -1;
  if (at >= 0) return all[(at + (isBack ? all.length - 1 : 1)) % all.length] ?? null;
  // From something that is no stop itself: the next one after it in the document.
  const after = from ? all.findIndex((each) => isBefore(from, each)) : 0;
  const next = Math.max(after, 0);
  return all[isBack ? (next + all.length - 1) % all.length : next] ?? null;
}

/** Remember that a field is being typed into, so that it says `change` when it is left, once. */
export function typing(field: Element, before: string): void {
  if (typedInto.has(field)) return;
  typedInto.set(field, before);
  listen(field, "change", () => typedInto.delete(field), { once: true });
  // Whoever else moves the focus: from the window the news comes before any of the page's listeners hears of the blur.
  const view = viewOf(field);
  const onBlur = (event: Event) => {
    if (event.composedPath()[0] !== field) return;
    unlisten(view, "blur", onBlur, true);
    commit(field);
  };
  listen(view, "blur", onBlur, true);
}

/** The field is left, or sent: what was typed is what it holds now. */
export function commit(field: Element): void {
  const before = typedInto.get(field);
  typedInto.delete(field);
  if (before !== undefined && before !== natives().value(field as HTMLInputElement)) emitChange(field);
}

function hasFocus(element: Element): boolean {
  return activeIn(rootOf(element)) === element;
}

function canHaveFocus(element: Element): boolean {
  return isMatch(element, FOCUSABLE) && !isMatch(element, ":disabled");
}

function tabbable(document: Document): Element[] {
  const found: Element[] = [];
  collect(bodyOf(document), found, { left: MOST });
  const stops = found.filter((each) => !isOtherRadio(each, found));
  const order = (each: Element) => tabIndexOf(each) || Number.MAX_SAFE_INTEGER;
  return stops.sort((one, other) => order(one) - order(other));
}

function collect(element: Element, found: Element[], budget: { left: number }): void {
  if (budget.left-- <= 0 || isOwn(element) || isMatch(element, "[inert]")) return;
  const style = styleOf(element);
  if (!style || style.display === "none") return;
  if (canHaveFocus(element) && tabIndexOf(element) >= 0 && !isFrame(element)) {
    if (style.visibility === "visible") found.push(element);
  }
  for (const inside of contentOf(element)) if (isElement(inside)) collect(inside as Element, found, budget);
}

/** Of a group of radios, Tab stops at the chosen one only. */
function isOtherRadio(element: Element, all: readonly Element[]): boolean {
  const radio = element as HTMLInputElement;
  if (radio.type !== "radio" || !radio.name || radio.checked) return false;
  return all.some((each) => {
    const other = each as HTMLInputElement;
    return other.type === "radio" && other.name === radio.name && other.form === radio.form && other.checked;
  });
}
