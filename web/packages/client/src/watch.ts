/**
 * How long a request may be silent. A machine that slept has connections that are dead, and nobody says so: what does
 * not speak soon after it woke is given up.
 */

export interface Watch {
  /** Ends with the signal that it follows, and by itself after too long a silence. */
  readonly signal: AbortSignal;
  heard(): void;
  over(): void;
}

const LOOK = 2_000;
/** Timers of a page in the background come once a minute. One that is later than this says that the machine slept. */
const SLEPT = 90_000;
const AFTER_SLEEP = 3_000;

export function watched(signal: AbortSignal, silence: number, now: () => number): Watch {
  const control = new AbortController();
  const stop = () => control.abort(signal.reason);
  let left = silence;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    const pause = Math.min(LOOK, left);
    const at = now();
    timer = setTimeout(() => {
      const slept = now() - at > SLEPT;
      left = slept ? Math.min(left, AFTER_SLEEP) : left - Math.max(pause, now() - at);
      if (left <= 0) control.abort();
      else wait();
    }, pause);
  };
  if (signal.aborted) stop();
  else {
    signal.addEventListener("abort", stop, { once: true });
    wait();
  }
  return {
    signal: control.signal,
    heard: () => {
      left = silence;
    },
    over: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    },
  };
}
