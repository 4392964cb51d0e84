/** Events as the browser would make them: of the classes of the frame they happen in, and through every root. */

import { viewOf as anyViewOf } from "../dom";
import { natives, type View } from "../natives";

type Kind = "Event" | "MouseEvent" | "PointerEvent" | "KeyboardEvent" | "InputEvent" | "FocusEvent";

export function viewOf(element: Element): View {
  return anyViewOf(element) as View;
}

/** Tell an element that something happened. False where the page prevented what would follow. */
export function emit(
  target: Element,
  kind: Kind,
  type: string,
  init: EventInit & Record<string, unknown> = {},
): boolean {
  return natives().dispatch(target, made(target, kind, type, init));
}

/** `input` as a field says it after it was typed into; plain for those that are not typed into. */
export function emitInput(target: Element, inputType?: string, data: string | null = null): void {
  if (inputType) emit(target, "InputEvent", "input", { bubbles: true, composed: true, inputType, data });
  else emit(target, "Event", "input", { bubbles: true, composed: true });
}

export function emitChange(target: Element): void {
  emit(target, "Event", "change", { bubbles: true });
}

/** Whether the page lets it in. */
export function emitBeforeInput(target: Element, inputType: string, data: string | null): boolean {
  const init = { bubbles: true, composed: true, cancelable: true, inputType, data };
  return emit(target, "InputEvent", "beforeinput", init);
}

function made(target: Element, kind: Kind, type: string, init: EventInit): Event {
  const view = viewOf(target);
  const isUi = kind !== "Event";
  const full = isUi ? { view, ...init } : init;
  try {
    const event: unknown = new view[kind](type, full);
    if (natives().isEvent(event)) return event;
  } catch {
    // The page has a class of its own by this name.
  }
  return new (natives().classes[kind])(type, init);
}
