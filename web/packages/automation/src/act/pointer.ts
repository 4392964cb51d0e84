/** A pointer as pages know it: it comes over an element, is pressed, moves the focus, is let go, and clicks. */

import { bodyOf, isConnected, ownerOf } from "../dom";
import { contains, parentOf } from "../frames";
import type { Aim } from "./aim";
import { emit } from "./events";
import { focusByPointer } from "./focus";

type Init = EventInit & Record<string, unknown>;

const BUBBLING = { bubbles: true, cancelable: true, composed: true };
const ITS_OWN = { bubbles: false, cancelable: false, composed: false };
const POINTER = { pointerId: 1, pointerType: "mouse", isPrimary: true, width: 1, height: 1 };

let under: WeakRef<Element> | null = null;

/** Move to a point. What the pointer was over before is told that it left. */
export function moveTo({ target, x, y }: Aim): void {
  const before = under?.deref() ?? null;
  const at = { clientX: x, clientY: y, screenX: x, screenY: y, button: -1, buttons: 0 };
  if (before !== target) {
    for (const family of ["pointer", "mouse"] as const) {
      if (before && isConnected(before)) leave(before, target, family, at);
      enter(target, before, family, at);
    }
    under = new WeakRef(target);
  }
  tell(target, "pointermove", at);
  tell(target, "mousemove", { ...at, button: 0 });
}

/**
 * Press and let go, as often as asked. `mustBeStill` throws where, as the button went down and the focus with it, the page
 * put something else there: then it is let go of elsewhere, as a hand would.
 */
export function clickAt({ target, x, y }: Aim, times = 1, mustBeStill = () => {}): void {
  const at = { clientX: x, clientY: y, screenX: x, screenY: y, button: 0 };
  for (let count = 1; count <= times; count++) {
    const detail = { ...at, detail: count };
    // A page that prevents the first of them wants no mouse events and keeps the focus, but still gets the click.
    const wantsMouse = tell(target, "pointerdown", { ...at, buttons: 1, pressure: 0.5 });
    const movesFocus = wantsMouse && tell(target, "mousedown", { ...detail, buttons: 1 });
    if (movesFocus) focusByPointer(target);
    if (count === 1) orLetGo(target, detail, mustBeStill);
    tell(target, "pointerup", { ...at, buttons: 0 });
    if (wantsMouse) tell(target, "mouseup", { ...detail, buttons: 0 });
    if (!isConnected(target) || (count === 1 && !holds(mustBeStill))) return;
    emit(target, "PointerEvent", "click", { ...BUBBLING, ...POINTER, ...detail, buttons: 0 });
  }
  if (times === 2) emit(target, "MouseEvent", "dblclick", { ...BUBBLING, ...at, detail: 2, buttons: 0 });
}

function orLetGo(target: Element, at: Init, mustBeStill: () => void): void {
  try {
    mustBeStill();
  } catch (problem) {
    const body = bodyOf(ownerOf(target));
    tell(body, "pointerup", { ...at, buttons: 0 });
    tell(body, "mouseup", { ...at, buttons: 0 });
    throw problem;
  }
}

/** A page that has done its part when the button came up needs no click, least of all on what is there now. */
function holds(mustBeStill: () => void): boolean {
  try {
    mustBeStill();
    return true;
  } catch {
    return false;
  }
}

/** A click that no pointer made: of a key, or of a form that is sent. */
export function clickByKey(target: Element): void {
  const init = { ...BUBBLING, detail: 0, pointerId: -1, pointerType: "" };
  emit(target, "PointerEvent", "click", init);
}

function leave(from: Element, to: Element, family: "pointer" | "mouse", at: Init): void {
  tell(from, `${family}out`, { ...at, relatedTarget: to });
  for (let left: Element | null = from; left && !contains(left, to); left = parentOf(left))
    tell(left, `${family}leave`, { ...at, relatedTarget: to, ...ITS_OWN });
}

function enter(to: Element, from: Element | null, family: "pointer" | "mouse", at: Init): void {
  tell(to, `${family}over`, { ...at, relatedTarget: from });
  const entered: Element[] = [];
  for (let into: Element | null = to; into && !(from && contains(into, from)); into = parentOf(into)) {
    if (ownerOf(into) !== ownerOf(to)) break;
    entered.unshift(into);
  }
  for (const into of entered) tell(into, `${family}enter`, { ...at, relatedTarget: from, ...ITS_OWN });
}

function tell(target: Element, type: string, init: Init): boolean {
  const isPointer = type.startsWith("pointer");
  const given = isPointer ? { ...BUBBLING, ...POINTER, ...init } : { ...BUBBLING, ...init };
  return emit(target, isPointer ? "PointerEvent" : "MouseEvent", type, given);
}
