/** Calls that the page executes: in order, each once, and each written down before it is done. */

import type { PendingCall } from "@pollux/protocol";
import type { Did, Owing } from "./kept";
import { ANOTHER, LATE, LOST, OVERDUE } from "./trouble";
import type { PagePort } from "./types";

/** How many seconds the server waits for a result, where it does not say. */
const PATIENCE = 60;
/** What came of it must still get there: a tenth of the time is for that, up to so many milliseconds. */
const WAY_BACK = 2_000;
/** Timers know no longer time, and would be over at once. */
const LONGEST_TIMER = 2 ** 31 - 1;
/** What a result may have. The server cuts what is longer. */
const LONGEST_RESULT = 31_900;

/** What to do about a call that the server waits for. */
export type Due = "done" | "lost" | "late" | "due";

export function dueOf(call: PendingCall, owing: Owing, now: number): Due {
  const did = owing.did.find((each) => each.callId === call.id);
  if (did) return did.result === undefined ? "lost" : "done";
  return now >= deadlineOf(call, owing) ? "late" : "due";
}

/** What to say of a call that is not executed: nobody can tell any more, nobody waits, or it became another one. */
export function unexecuted(call: PendingCall, why: keyof typeof WHY): Did {
  return { callId: call.id, result: WHY[why], isError: true };
}

const WHY = { lost: LOST, late: LATE, another: ANOTHER } as const;

/** Execute a call, for as long as the server waits for it. Rejects only where `signal` ends it. */
export async function execute(
  page: PagePort,
  call: PendingCall,
  milliseconds: number,
  signal: AbortSignal,
): Promise<Did> {
  const control = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop = () => {};
  const overdue = new Promise<{ result: string; isError: boolean }>((resolve, reject) => {
    stop = () => reject(signal.reason);
    const timeout = Math.min(milliseconds, LONGEST_TIMER);
    timer = setTimeout(() => resolve({ result: OVERDUE, isError: true }), timeout);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    signal.throwIfAborted();
    const { result, isError } = await Promise.race([attempt(page, call, control.signal), overdue]);
    return { callId: call.id, result: cut(`${result}`), ...(isError && { isError }) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    control.abort();
  }
}

/** Until when the page may be at it, by the clock here. */
export function deadlineOf({ expiresIn }: PendingCall, owing: Owing): number {
  // An older server does not say.
  const seconds = typeof expiresIn === "number" && expiresIn >= 0 ? expiresIn : PATIENCE;
  return owing.at + seconds * 1000 - Math.min(seconds * 100, WAY_BACK);
}

async function attempt(page: PagePort, call: PendingCall, signal: AbortSignal) {
  try {
    return await page.execute(call, signal);
  } catch (problem) {
    return {
      result: `The page failed to do this: ${problem instanceof Error ? problem.message : problem}`,
      isError: true,
    };
  }
}

function cut(result: string): string {
  const more = result.length - LONGEST_RESULT;
  return more <= 0 ? result : `${result.slice(0, LONGEST_RESULT)}… (${more} more characters cut)`;
}
