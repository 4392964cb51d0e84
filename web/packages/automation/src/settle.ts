/**
 * Do something to the page and wait until it has come to rest: nothing in it changes, what it asked the network for has
 * come, two frames were drawn; at most two seconds. Whoever leaves the page has come to rest too.
 */

import { isElement, listen, parentElementOf, unlisten, windowOf } from "./dom";
import { rootsOf, topOf } from "./frames";
import { natives, type View } from "./natives";
import { watchRequests } from "./requests";
import { isOwn } from "./visible";

const LONGEST_MS = 2_000;
const STEP_MS = 20;
/** Looks at the page in a row that find nothing new. Counted, not timed: a busy machine is late with everything. */
const QUIET_STEPS = 3;
/** Not `style`: what moves all the time would never be quiet. */
const ATTRIBUTES = (
  "class hidden disabled open checked value src href data-state aria-busy aria-checked aria-disabled aria-expanded " +
  "aria-hidden aria-invalid aria-pressed aria-selected"
).split(" ");

export interface Settled<T> {
  readonly result: T;
  /** Where the page is going, if it is being left. */
  readonly leavesFor: string | null;
}

export async function settled<T>(
  document: Document,
  act: () => T | Promise<T>,
  signal?: AbortSignal,
): Promise<Settled<T>> {
  const view = windowOf(document) as View;
  const changes = watchChanges(document);
  const requests = watchRequests(view, natives().whenOver);
  const leaving = watchLeaving(view);
  try {
    const result = await act();
    const { now } = natives();
    const end = now(view) + LONGEST_MS;
    await untilFirst(drawn(view), leaving.whenGone);
    for (
      let quiet = 0, last = -1;
      quiet < QUIET_STEPS && now(view) < end && !signal?.aborted && !leaving.isGone();
    ) {
      const isQuiet = changes.count() === last && requests.pending() === 0 && !leaving.to();
      quiet = isQuiet ? quiet + 1 : 0;
      last = changes.count();
      await untilFirst(after(view, STEP_MS), leaving.whenGone);
    }
    if (!leaving.isGone()) await untilFirst(drawn(view));
    return { result, leavesFor: leaving.to() };
  } finally {
    changes.stop();
    requests.stop();
    leaving.stop();
  }
}

type Moment = (come: () => void) => void;

/** Until the first of these has come. Not `Promise.race`: that is the page's. */
export function untilFirst(...moments: readonly Moment[]): Promise<void> {
  return natives().promised((done) => {
    for (const moment of moments) moment(done);
  });
}

/** Two frames, or as long as two would take: a page in the background draws none. */
export function drawn(view: View): Moment {
  const { onFrame } = natives();
  return (come) => {
    onFrame(view, () => onFrame(view, come));
    after(view, 100)(come);
  };
}

function after(view: View, milliseconds: number): Moment {
  return (come) => {
    natives().later(view, come, milliseconds);
  };
}

function watchChanges(document: Document) {
  let count = 0;
  const observer = natives().observer((records) => {
    if (records.some(({ target }) => isOfPage(target))) count++;
  });
  const options = { subtree: true, childList: true, characterData: true, attributeFilter: ATTRIBUTES };
  for (const root of rootsOf(topOf(document))) observer.observe(root, options);
  return { count: () => count, stop: () => observer.disconnect() };
}

function isOfPage(node: Node): boolean {
  const element = isElement(node) ? (node as Element) : parentElementOf(node);
  return element === null || !isOwn(element);
}

/** Whether an address leads to another page: what begins with `mailto:` or `tel:` is for other programs. */
export function isOfPages(address: string): boolean {
  return /^(https?|file|about|blob|data|javascript|view-source|[a-z]+-extension):/i.test(address);
}

const STAYING = ["currententrychange", "navigatesuccess", "navigateerror"];

interface Navigate extends Event {
  readonly downloadRequest: string | null;
  readonly destination: { readonly url: string; readonly sameDocument: boolean };
}

function watchLeaving(view: View) {
  const navigation = (view as { navigation?: EventTarget }).navigation;
  let destination: string | null = null;
  let isGone = false;
  const waiting: (() => void)[] = [];
  const onNavigate = (event: Event) => {
    const { downloadRequest, destination: to } = event as Navigate;
    if (!to.sameDocument && downloadRequest === null && isOfPages(to.url)) destination = to.url;
  };
  // A page that draws its other pages itself has arrived; what failed, or brought a file, never left.
  const onStay = () => {
    destination = null;
  };
  const onHide = () => {
    isGone = true;
    destination ??= "another page";
    for (const come of waiting) come();
  };
  if (navigation) {
    listen(navigation, "navigate", onNavigate);
    for (const type of STAYING) listen(navigation, type, onStay);
  }
  listen(view, "pagehide", onHide);
  return {
    whenGone: (come: () => void) => {
      if (isGone) come();
      else waiting.push(come);
    },
    isGone: () => isGone,
    to: () => destination,
    stop: () => {
      if (navigation) {
        unlisten(navigation, "navigate", onNavigate);
        for (const type of STAYING) unlisten(navigation, type, onStay);
      }
      unlisten(view, "pagehide", onHide);
    },
  };
}
