/**
 * One tab at a time. A duplicated tab has a copy of all that is kept, and would do what the first one is doing.
 * Claims are held only while something is under way: a page that holds a lock cannot be kept for the back button.
 */

export type Release = () => void;

export interface Claims {
  /** What gives the claim back; null where somebody else has it. */
  take(name: string): Promise<Release | null>;
}

/** How long another tab, or the page that is being left, has to let go or to answer. */
const LOCK_WAIT = 1_000;
const CHANNEL_WAIT = 100;

/** By locks where there are any; else by asking around; else alone. */
export function claimsHere(): Claims {
  const locks = globalThis.navigator?.locks;
  if (locks) return { take: (name) => takeLock(locks, name) };
  if (globalThis.BroadcastChannel) return { take: askAround };
  return { take: async () => () => undefined };
}

function takeLock(locks: LockManager, name: string): Promise<Release | null> {
  return new Promise((resolve) => {
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(), LOCK_WAIT);
    const held = locks.request(name, { signal: patience.signal }, () => {
      clearTimeout(timer);
      return new Promise<void>((release) => resolve(release));
    });
    held.catch((problem: unknown) => {
      clearTimeout(timer);
      // Where locks are forbidden (an opaque origin), nothing is kept that could be copied.
      resolve(patience.signal.aborted && isAbort(problem) ? null : () => undefined);
    });
  });
}

/** Without locks, as on pages without TLS: whoever has it says so. */
function askAround(name: string): Promise<Release | null> {
  return new Promise((resolve) => {
    const channel = new BroadcastChannel(name);
    let isHeld = false;
    const timer = setTimeout(() => {
      isHeld = true;
      resolve(() => channel.close());
    }, CHANNEL_WAIT);
    channel.onmessage = ({ data }) => {
      if (data === "whose?" && isHeld) channel.postMessage("mine");
      if (data !== "mine" || isHeld) return;
      clearTimeout(timer);
      channel.close();
      resolve(null);
    };
    channel.postMessage("whose?");
  });
}

function isAbort(problem: unknown): boolean {
  return (problem as { name?: unknown } | null)?.name === "AbortError";
}
