/** Waiting between tries. */

export { sleep as pause } from "@pollux/client";

const FIRST_MS = 400;
const LONGEST_MS = 5_000;

/** How long to wait before one more try, longer each time. */
export function backoff(tries: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** tries);
}
