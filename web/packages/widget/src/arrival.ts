/**
 * A page that opens while the agent is at work: the agent came to it. It is looked at when it has loaded and its own
 * requests have their answers; after three seconds as it is, since some pages never stop asking.
 */

import { watchRequests } from "@pollux/automation";

const LONGEST_MS = 3_000;
const STEP_MS = 20;
/** Looks in a row that find nothing pending. Counted, not timed: a busy machine is late with everything. */
const QUIET_STEPS = 3;

/** To be called while the script first runs: a request that began before it is not seen. */
export async function arrival(view: Window & typeof globalThis): Promise<void> {
  const { then } = view.Promise.prototype;
  const requests = watchRequests(
    view,
    (answer, over) => void then.call(answer as Promise<unknown>, over, over),
  );
  const end = view.performance.now() + LONGEST_MS;
  for (let quiet = 0; quiet < QUIET_STEPS && view.performance.now() < end; ) {
    await new Promise((resolve) => view.setTimeout(resolve, STEP_MS));
    const isQuiet = view.document.readyState === "complete" && requests.pending() === 0;
    quiet = isQuiet ? quiet + 1 : 0;
  }
  requests.stop();
}
