/** Wait, unless it is called off meanwhile; then it throws what the signal says. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
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
}

const FIRST_MS = 400;
const LONGEST_MS = 5_000;

/** How long to wait before one more try, longer each time. */
export function backoff(tries: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** tries);
}
