/** Who has the focus, who can have it, and who would be next. Focus moves as a pointer or Tab would move it. */

import { isMatch } from "../dom";
import { contentOf, documentOf, isFrame, parentOf } from "../frames";
import { isOwn } from "../visible";
import { emitChange, viewOf } from "./events";

const FOCUSABLE =
  "a[href], area[href], button, input, select, textarea, summary, iframe, audio[controls], video[controls], [tabindex], [contenteditable]";
const MOST = 5_000;

/** Fields that were typed into and have not said `change` yet: the value they had before. */
const typedInto = new WeakMap<Element, string>();

/** The element that keys go to, however deep it lies. Null where that is the chat, or nothing. */
export function focused(document: Document): Element | null {
  let at: Element | null = document.activeElement;
  for (;;) {
    const inside: Element | null | undefined = at?.shadowRoot
      ? at.shadowRoot.activeElement
      : at && isFrame(at)
        ? documentOf(at)?.activeElement
        : null;
    if (!inside) break;
    at = inside;
  }
  if (!at || isOwn(at)) return null;
  return at;
}

/** Focus moves to the nearest element around the target that can have it, as after the press of a button. */
export function focusByPointer(target: Element): void {
  for (let at: Element | null = target; at; at = parentOf(at)) {
    if (at.ownerDocument !== target.ownerDocument) break;
    if (!canHaveFocus(at)) continue;
    if (hasFocus(at) || focusOn(at)) return;
  }
  const before = focused(target.ownerDocument);
  if (before && before !== target.ownerDocument.body) {
    commit(before);
    (before as HTMLElement).blur();
  }
}

/** Whether the element has the focus now. */
export function focusOn(element: Element): boolean {
  if (hasFocus(element)) return true;
  const before = focused(element.ownerDocument);
  if (before) commit(before);
  (element as HTMLElement).focus({ preventScroll: true });
  return hasFocus(element) || (element.shadowRoot?.activeElement ?? null) !== null;
}

/** Where Tab would lead from here, or Shift+Tab. */
export function nextOf(from: Element | null, document: Document, isBack: boolean): Element | null {
  const all = tabbable(document);
  if (all.length === 0) return null;
  const at = from ? all.indexOf(from) : -1;
  if (at >= 0) return all[(at + (isBack ? all.length - 1 : 1)) % all.length] ?? null;
  // From something that is no stop itself: the next one after it in the document.
  const after = from
    ? all.findIndex((each) => from.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING)
    : 0;
  const next = Math.max(after, 0);
  return all[isBack ? (next + all.length - 1) % all.length : next] ?? null;
}

/** Remember that a field is being typed into, so that it says `change` when it is left, once. */
export function typing(field: Element, before: string): void {
  if (typedInto.has(field)) return;
  typedInto.set(field, before);
  field.addEventListener("change", () => typedInto.delete(field), { once: true });
  // Whoever else moves the focus: from the window the news comes before any of the page's listeners hears of the blur.
  const view = viewOf(field);
  const onBlur = (event: FocusEvent) => {
    if (event.composedPath()[0] !== field) return;
    view.removeEventListener("blur", onBlur, true);
    commit(field);
  };
  view.addEventListener("blur", onBlur, true);
}

/** The field is left, or sent: what was typed is what it holds now. */
export function commit(field: Element): void {
  const before = typedInto.get(field);
  typedInto.delete(field);
  if (before !== undefined && before !== (field as HTMLInputElement).value) emitChange(field);
}

function hasFocus(element: Element): boolean {
  return (element.getRootNode() as Document | ShadowRoot).activeElement === element;
}

function canHaveFocus(element: Element): boolean {
  return element.matches(FOCUSABLE) && !element.matches(":disabled");
}

function tabbable(document: Document): Element[] {
  const found: Element[] = [];
  collect(document.body, found, { left: MOST });
  const stops = found.filter((each) => !isOtherRadio(each, found));
  const order = (each: Element) => (each as HTMLElement).tabIndex || Number.MAX_SAFE_INTEGER;
  return stops.sort((one, other) => order(one) - order(other));
}

function collect(element: Element, found: Element[], budget: { left: number }): void {
  if (budget.left-- <= 0 || isOwn(element) || isMatch(element, "[inert]")) return;
  const view = viewOf(element);
  if (!view || view.getComputedStyle(element).display === "none") return;
  if (canHaveFocus(element) && (element as HTMLElement).tabIndex >= 0 && !isFrame(element)) {
    if (view.getComputedStyle(element).visibility === "visible") found.push(element);
  }
  for (const inside of contentOf(element))
    if (inside.nodeType === 1) collect(inside as Element, found, budget);
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
