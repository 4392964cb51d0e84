/**
 * The browser's own functions, whatever the page made of them.
 *
 * Frameworks watch a field by putting a `value` of their own on the element, some pages replace what is on the
 * prototypes, and a form hides its methods behind the names of its fields. Functions from a realm that no script of the
 * page has seen work on the page's elements all the same. Where there is no such realm, those found at load must do.
 */

import { created, tagOf, topElementOf } from "./dom";

export type View = Window & typeof globalThis;

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

export interface Natives {
  /** The classes of events, by their names. */
  readonly classes: View;
  value(field: Field): string;
  setValue(field: Field, value: string): void;
  setSelected(option: HTMLOptionElement, isSelected: boolean): void;
  dispatch(target: EventTarget, event: Event): boolean;
  /** Whether this is an event of the browser's: some libraries call a class of their own `Event`. */
  isEvent(candidate: unknown): candidate is Event;
  elementsOf(form: HTMLFormElement): Element[];
  requestSubmit(form: HTMLFormElement): void;
  /** A promise that the page cannot break. */
  promised<T>(begin: (done: (value: T) => void) => void): Promise<T>;
  /** Call back when a promise of the page's is over, however it ended. */
  whenOver(promise: unknown, over: () => void): void;
  later(view: View, act: () => void, milliseconds: number): number;
  notLater(view: View, timer: number | undefined): void;
  /** Call back when the next frame is drawn. */
  onFrame(view: View, act: () => void): void;
  now(view: View): number;
  observer(told: MutationCallback): MutationObserver;
}

// Old shims put their own in its place, which fails where the browser's does not.
const { getOwnPropertyDescriptor } = Object;
const atLoad = typeof window === "undefined" ? null : takenNow();
let found: Natives | null = null;

/** Null where the page has left nothing to take. */
function takenNow(): Natives | null {
  try {
    return taken(window as View);
  } catch {
    return null;
  }
}

/** They serve the elements of every frame that can be reached, whichever realm those are of. */
export function natives(): Natives {
  found ??= fromFrame(document) ?? atLoad ?? taken(window as View);
  return found;
}

/** An empty frame is there as soon as it is put into the document, and its functions outlive it. */
function fromFrame(document: Document): Natives | null {
  try {
    const frame = created(document, "iframe");
    frame.setAttribute("hidden", "");
    frame.setAttribute("aria-hidden", "true");
    topElementOf(document).append(frame);
    const view = frame.contentWindow as View | null;
    const functions = view?.HTMLInputElement ? taken(view) : null;
    frame.remove();
    return functions;
  } catch {
    // A sandbox whose frames are all strangers to it, or a page that makes its own elements.
    return null;
  }
}

function taken(view: View): Natives {
  const values: Record<string, PropertyDescriptor> = {
    input: property(view.HTMLInputElement, "value"),
    textarea: property(view.HTMLTextAreaElement, "value"),
    select: property(view.HTMLSelectElement, "value"),
  };
  const selected = property(view.HTMLOptionElement, "selected");
  const elements = property(view.HTMLFormElement, "elements");
  const type = property(view.Event, "type");
  const { dispatchEvent } = view.EventTarget.prototype;
  const { requestSubmit } = view.HTMLFormElement.prototype;
  const { Promise: Promised, MutationObserver: Observer } = view;
  const { setTimeout, clearTimeout, requestAnimationFrame } = view;
  const { then } = Promised.prototype;
  const { now } = view.Performance.prototype;
  const classes: Record<string, unknown> = {};
  for (const name of [
    "Event",
    "MouseEvent",
    "PointerEvent",
    "KeyboardEvent",
    "InputEvent",
    "FocusEvent",
  ] as const)
    classes[name] = view[name];
  return {
    classes: classes as unknown as View,
    value: (field) => values[tagOf(field)]?.get?.call(field) ?? "",
    setValue: (field, value) => values[tagOf(field)]?.set?.call(field, value),
    setSelected: (option, isSelected) => selected.set?.call(option, isSelected),
    dispatch: (target, event) => dispatchEvent.call(target, event),
    isEvent: (candidate): candidate is Event => {
      try {
        return typeof type.get?.call(candidate) === "string";
      } catch {
        return false;
      }
    },
    elementsOf: (form) => [...(elements.get?.call(form) ?? [])],
    requestSubmit: (form) => requestSubmit.call(form),
    // What the frame itself made is called by nobody any more: what is called must be ours.
    promised: (begin) => new Promised((done) => begin((value) => done(value))),
    whenOver: (promise, over) => {
      try {
        then.call(promise as Promise<unknown>, over, over);
      } catch {
        // Whatever the page calls a promise, it cannot be waited for.
        over();
      }
    },
    // They are of another window, and work for this one.
    later: (view, act, milliseconds) => setTimeout.call(view, act, milliseconds),
    notLater: (view, timer) => clearTimeout.call(view, timer),
    onFrame: (view, act) => requestAnimationFrame.call(view, act),
    now: (view) => now.call(view.performance),
    observer: (told) => new Observer(told),
  };
}

function property(owner: { prototype: object }, name: string): PropertyDescriptor {
  return getOwnPropertyDescriptor(owner.prototype, name) ?? {};
}
