/**
 * Keys that are pressed in the chat are no business of the page's: neither its listeners that capture nor those that
 * wait for what bubbles hear of them. What is in the chat gets a copy, which does not leave it.
 */

const TYPES = ["keydown", "keypress", "keyup"] as const;

const roots = new WeakSet<EventTarget>();
const originals = new WeakMap<Event, KeyboardEvent>();
const guarded = new WeakSet<Window>();

/** Keep the keys of what is drawn in this from the page. The sooner, the fewer of its listeners come before. */
export function keepKeysIn(root: HTMLElement): void {
  roots.add(root);
}

export function keepKeysFrom(window: Window): void {
  if (guarded.has(window)) return;
  guarded.add(window);
  for (const type of TYPES) window.addEventListener(type, kept, true);
}

/** The event as the browser made it: that alone says whether a person pressed the key, and when. */
export function asPressed(event: KeyboardEvent): KeyboardEvent {
  return originals.get(event) ?? event;
}

function kept(event: KeyboardEvent): void {
  const path = event.composedPath();
  const target = path[0];
  // What scripts make up means nothing to us, and a page may want to hear its own.
  if (!event.isTrusted || !target || !path.some((node) => roots.has(node))) return;
  event.stopImmediatePropagation();
  const copy = copyOf(event);
  originals.set(copy, event);
  if (!target.dispatchEvent(copy)) event.preventDefault();
}

function copyOf(event: KeyboardEvent): KeyboardEvent {
  const { key, code, location, repeat, isComposing, keyCode, charCode, cancelable } = event;
  const { ctrlKey, shiftKey, altKey, metaKey, view } = event;
  return new KeyboardEvent(event.type, {
    ...{ key, code, location, repeat, isComposing, keyCode, charCode, cancelable, view },
    ...{ ctrlKey, shiftKey, altKey, metaKey, bubbles: true, composed: false },
  });
}
