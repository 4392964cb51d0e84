/** Send a prompt, once. A request that is lost on its way goes again under the same key: the server begins one run. */

import type { RunBody, RunLine } from "@pollux/protocol";
import { door, Refusal } from "../../door";
import { backoff, pause } from "./pause";

export interface Begun {
  readonly runId: string;
  readonly threadId: string;
}

const MOST_TRIES = 5;

interface Sent {
  readonly body: RunBody;
  /** The same for the same prompt, however often it is tried. */
  readonly key: string;
  readonly signal: AbortSignal;
  /** Told before each further try. */
  readonly onTrouble: () => void;
}

/** The run that it began. Throws Refusal. */
export async function begin({ body, key, signal, onTrouble }: Sent): Promise<Begun> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await once(body, key, signal);
    } catch (problem) {
      if (!mayPass(problem) || tries + 1 >= MOST_TRIES) throw problem;
      onTrouble();
      await pause(backoff(tries), signal);
    }
  }
}

/** Only the first line is read here. The journal tells all that follows, and more of it: who hangs up stops nothing. */
async function once(body: RunBody, key: string, signal: AbortSignal): Promise<Begun> {
  const headers = { "idempotency-key": key };
  const lines = door.lines<RunLine>("/api/agent/run/stream", { body, headers, signal });
  for await (const line of lines) {
    if (line.type === "status") return { runId: line.runId, threadId: line.threadId };
  }
  throw new Refusal(0, "unreachable", "The connection broke.");
}

/** Nobody answered, or it was one who is about to stop. */
function mayPass(problem: unknown): boolean {
  return problem instanceof Refusal && (problem.status === 0 || problem.status >= 502);
}
