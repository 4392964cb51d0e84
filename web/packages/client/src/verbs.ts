/** What a page asks of the server besides talking: answer a question, see what waits, stop a run. */

import type { PendingPage, Question, ResolveBody } from "@pollux/protocol";
import type { Door } from "./door";
import { clean, memberText, written } from "./json";
import { patiently, type Wait } from "./patience";
import { CUT, Trouble } from "./trouble";
import type { Decision } from "./types";

const STOP_PATIENCE = 10_000;

export interface Trying {
  readonly wait: Wait;
  readonly signal: AbortSignal;
}

/** Tell the server what a person decided. Throws Trouble; 404 and 409 say that the question does not stand any more. */
export async function decide(
  door: Door,
  question: Question,
  { decision, feedback }: { decision: Decision; feedback: string },
  { wait, signal }: Trying,
): Promise<void> {
  const { id: approvalId, argsHash } = question;
  const body: ResolveBody = {
    approvalId,
    decision,
    argsHash,
    ...(feedback && { feedback: clean(feedback) }),
  };
  // What follows is told by a stream.
  const asked = { path: "/api/agent/approvals/resolve?wait=0", body: written(body), signal };
  let isRepeated = false;
  const onTrouble = () => {
    isRepeated = true;
  };
  try {
    await patiently(() => door.text(asked), { wait, signal, onTrouble });
  } catch (problem) {
    // Then it was taken the first time.
    const isTaken = isRepeated && problem instanceof Trouble && problem.code === "already_resolved";
    if (!isTaken) throw problem;
  }
}

/** The ids of the questions that still stand. */
export async function standing(door: Door, { wait, signal }: Trying): Promise<ReadonlySet<string>> {
  const asked = { path: "/api/agent/approvals/pending?limit=25", signal };
  const text = await patiently(() => door.text(asked), { wait, signal, onTrouble: () => undefined });
  try {
    const page: PendingPage = JSON.parse(text);
    return new Set(page.items.map(({ id }) => id));
  } catch {
    throw new Trouble(CUT, "what came is no list of questions");
  }
}

/** Stop a run, if the server can be reached: whether it could. One try: whoever stops does not wait. */
export async function cancelRun(door: Door, runId: string): Promise<boolean> {
  const path = `/api/agent/runs/${encodeURIComponent(runId)}/cancel?wait=5`;
  const { signal } = new AbortController();
  try {
    await door.text({ path, body: "{}", signal, patience: STOP_PATIENCE });
  } catch (problem) {
    return problem instanceof Trouble && problem.status > 0;
  }
  return true;
}

/** The history after a message whose run has ended; undefined where it cannot be had. */
export async function historyAfter(door: Door, sending: string): Promise<string | undefined> {
  const { signal } = new AbortController();
  const asked = { path: "/api/page/send-message", body: sending, signal, patience: STOP_PATIENCE };
  const answer = await door.text(asked).catch(() => "");
  return answer ? memberText(answer, "history") : undefined;
}
