/** How many answers of the network a page waits for. */

import { listen } from "./dom";
import type { View } from "./natives";

const { defineProperty, getOwnPropertyDescriptor } = Object;

const BODIES = ["arrayBuffer", "blob", "formData", "json", "text"] as const;

/** What to call when a promise of the page's has an outcome. */
type WhenOver = (promise: unknown, over: () => void) => void;

/** Requests that begin while we watch. The page has its own functions back when we stop. */
export function watchRequests(view: View, whenOver: WhenOver) {
  let pending = 0;
  const begin = () => {
    pending++;
  };
  const end = () => {
    pending--;
  };
  const stops = [
    watchFetch(view, whenOver, begin, end),
    ...BODIES.map((name) => watchBody(view, name, whenOver, begin, end)),
    watchXhr(view, begin, end),
  ];
  return {
    pending: () => pending,
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

function watchFetch(view: View, whenOver: WhenOver, begin: () => void, end: () => void): () => void {
  const original = view.fetch;
  const watched: typeof fetch = function (this: unknown, ...args) {
    const answer = original.apply(this as never, args);
    begin();
    whenOver(answer, end);
    return answer;
  };
  return replaced(view, "fetch", original, watched);
}

/** `fetch` has its answer once the head of it is there: a page that reads the rest still waits. */
function watchBody(
  view: View,
  name: (typeof BODIES)[number],
  whenOver: WhenOver,
  begin: () => void,
  end: () => void,
): () => void {
  const prototype = view.Response?.prototype;
  const original = prototype?.[name];
  if (!original) return () => {};
  const watched = function (this: Response) {
    const body = original.apply(this);
    begin();
    whenOver(body, end);
    return body;
  };
  return replaced(prototype, name, original, watched);
}

function watchXhr(view: View, begin: () => void, end: () => void): () => void {
  const prototype = view.XMLHttpRequest.prototype;
  const original = prototype.send;
  const watched: typeof original = function (this: XMLHttpRequest, ...args) {
    original.apply(this, args);
    begin();
    listen(this, "loadend", end, { once: true });
  };
  return replaced(prototype, "send", original, watched);
}

function replaced(owner: object, name: string, original: unknown, watched: unknown): () => void {
  const was = getOwnPropertyDescriptor(owner, name);
  if (!was?.configurable || was.value !== original) return () => {};
  defineProperty(owner, name, { ...was, value: watched });
  return () => {
    // Whoever replaced it in the meantime has ours inside, which only passes on.
    if (getOwnPropertyDescriptor(owner, name)?.value === watched) defineProperty(owner, name, was);
  };
}
