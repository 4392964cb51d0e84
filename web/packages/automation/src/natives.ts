/**
 * The browser's own functions, whatever the page made of them.
 *
 * Frameworks watch a field by putting a `value` of their own on the element, some pages replace what is on the
 * prototypes, and a form hides its methods behind the names of its fields. Functions from a realm that no script of the
 * page has seen work on the page's elements all the same. Where there is no such realm, those found at load must do.
 */

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
}

// Old shims put their own in its place, which fails where the browser's does not.
const { getOwnPropertyDescriptor } = Object;
const atLoad = typeof window === "undefined" ? null : taken(window as View);
let found: Natives | null = null;

/** They serve the elements of every frame that can be reached, whichever realm those are of. */
export function natives(): Natives {
  found ??= fromFrame(document) ?? atLoad ?? taken(window as View);
  return found;
}

/** An empty frame is there as soon as it is put into the document, and its functions outlive it. */
function fromFrame(document: Document): Natives | null {
  try {
    const frame = document.createElement("iframe");
    frame.setAttribute("hidden", "");
    frame.setAttribute("aria-hidden", "true");
    document.documentElement.append(frame);
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
    value: (field) => values[field.localName]?.get?.call(field) ?? "",
    setValue: (field, value) => values[field.localName]?.set?.call(field, value),
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
  };
}

function property(owner: { prototype: object }, name: string): PropertyDescriptor {
  return getOwnPropertyDescriptor(owner.prototype, name) ?? {};
}
