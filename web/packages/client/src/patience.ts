/** Waiting: for a while, for the network, and for the same request to succeed at last. All of it ends when stopped. */

import { CUT, Trouble } from "./trouble";

export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

const MOST_TRIES = 6;
/** Of a server elsewhere that was never heard of: most likely it will not answer pages of this site at all. */
const FIRST_TRIES = 3;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
/** Who is told to come again later than this is told so, instead of being kept waiting. */
const LONGEST_TOLD_WAIT = 60_000;
const OFFLINE_WAIT = 120_000;

export const sleep: Wait = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", stop, { once: true });
  });

export interface Patience {
  readonly wait: Wait;
  readonly signal: AbortSignal;
  /** Told before each wait; `isOffline` where the browser says that there is no network at all. */
  readonly onTrouble: (trouble: Trouble, isOffline: boolean) => void;
}

/**
 * The attempt's result, tried again while its trouble may pass. An attempt that says it came further than those before
 * has all its tries again.
 */
export async function patiently<T>(
  attempt: (further: () => void) => Promise<T>,
  patience: Patience,
): Promise<T> {
  const { wait, signal, onTrouble } = patience;
  let tries = 0;
  for (;;) {
    try {
      return await attempt(() => {
        tries = 0;
      });
    } catch (problem) {
      signal.throwIfAborted();
      if (!(problem instanceof Trouble) || !problem.mayPass) throw problem;
      const offline = isOffline();
      const most = problem.isFirst && !offline ? FIRST_TRIES : MOST_TRIES;
      if (++tries >= most || (problem.retryAfter ?? 0) > LONGEST_TOLD_WAIT) {
        throw offline ? new Trouble("offline", "there is no network") : problem;
      }
      onTrouble(problem, offline);
      if (offline && problem.code === CUT) await online(wait, signal);
      else await wait(problem.retryAfter ?? backoff(tries), signal);
    }
  }
}

/** Longer each time, and not at the same moment as everybody else. */
function backoff(tries: number): number {
  return Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
}

function isOffline(): boolean {
  return globalThis.navigator?.onLine === false;
}

/** Until the browser says that the network is back, or for so long. */
async function online(wait: Wait, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const end = () => over.abort();
  globalThis.addEventListener?.("online", end, { once: true });
  signal.addEventListener("abort", end, { once: true });
  try {
    if (isOffline()) await wait(OFFLINE_WAIT, over.signal);
  } catch {
    signal.throwIfAborted();
  } finally {
    globalThis.removeEventListener?.("online", end);
    signal.removeEventListener("abort", end);
  }
}
