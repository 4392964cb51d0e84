/**
 * Which elements listen to clicks, though nothing in the markup says so.
 *
 * A script cannot ask an element for its listeners. It can see its `onclick`, what frameworks leave on it, and, where
 * it was loaded first, who added what (`recordListeners`).
 */

// As they are when this script comes: what a page puts in their place later may be anything.
const { defineProperty, entries, keys } = Object;
const { getOwnPropertyDescriptor } = Reflect;

const CLICKS = new Set([
  "click",
  "mousedown",
  "mouseup",
  "pointerdown",
  "pointerup",
  "touchstart",
  "touchend",
]);

/** Who listens to which kinds of clicks. */
export type Recorded = WeakMap<EventTarget, Map<string, Set<unknown>>>;

let recorded: Recorded = new WeakMap();

/** What was recorded here, for a script that comes later. */
export function recordedListeners(): Recorded {
  return recorded;
}

/** Go by what another script has recorded, which was there before this one. */
export function useListeners(known: Recorded): void {
  recorded = known;
}

/** Whether a click on this element itself does something, as far as can be known. */
export function listensToClicks(element: Element): boolean {
  const added = recorded.get(element);
  if (added) for (const listeners of added.values()) if (listeners.size > 0) return true;
  const html = element as HTMLElement;
  if (html.onclick || html.onmousedown || html.onpointerdown) return true;
  return listensByFramework(element as unknown as Record<string, unknown>);
}

/** Remember from now on who listens. Returns how to stop. Nothing about the host's listeners changes. */
export function recordListeners(prototype: EventTarget = EventTarget.prototype): () => void {
  const { addEventListener, removeEventListener } = prototype;
  function add(this: EventTarget, ...args: Parameters<typeof addEventListener>): void {
    note(this, args[0], args[1]);
    addEventListener.apply(this, args);
  }
  function remove(this: EventTarget, ...args: Parameters<typeof removeEventListener>): void {
    recorded.get(this)?.get(args[0])?.delete(args[1]);
    removeEventListener.apply(this, args);
  }
  replace(prototype, "addEventListener", addEventListener, add);
  replace(prototype, "removeEventListener", removeEventListener, remove);
  return () => {
    // Whoever wrapped ours in the meantime keeps what they have.
    if (prototype.addEventListener === add) replace(prototype, "addEventListener", add, addEventListener);
    if (prototype.removeEventListener === remove)
      replace(prototype, "removeEventListener", remove, removeEventListener);
  };
}

function note(target: unknown, type: unknown, listener: unknown): void {
  if (!listener || typeof type !== "string" || !CLICKS.has(type)) return;
  // Called as a plain function it is the window's, which is nobody's button.
  if (!(target as Node | undefined)?.nodeType) return;
  const types = recorded.get(target as EventTarget) ?? new Map<string, Set<unknown>>();
  recorded.set(target as EventTarget, types);
  types.set(type, (types.get(type) ?? new Set()).add(listener));
}

function replace(prototype: EventTarget, name: string, from: unknown, to: unknown): void {
  const was = getOwnPropertyDescriptor(prototype, name);
  if (!was?.configurable || was.value !== from) return;
  defineProperty(prototype, name, { ...was, value: to });
}

function listensByFramework(element: Record<string, unknown>): boolean {
  // Svelte, Solid.
  if (element.__click || element.$$click) return true;
  // Vue: the invokers of an element.
  const vue = element._vei as Record<string, unknown> | undefined;
  if (vue && typeof vue === "object" && vue.onClick) return true;
  for (const key of keys(element)) {
    // Preact's table of listeners has names such as `clickfalse`; Angular's are properties of the element.
    if (key === "l" || key === "_listeners" || key === "__zone_symbol__clickfalse") {
      if (key.startsWith("__zone") || hasKey(element[key], /^click/)) return true;
    } else if (key.startsWith("__reactProps$") || key.startsWith("__reactEventHandlers$")) {
      if (hasKey(element[key], /^on(Click|MouseDown|PointerDown|MouseUp|PointerUp)$/)) return true;
    }
  }
  return false;
}

function hasKey(table: unknown, wanted: RegExp): boolean {
  if (!table || typeof table !== "object") return false;
  return entries(table).some(([key, value]) => wanted.test(key) && Boolean(value));
}
