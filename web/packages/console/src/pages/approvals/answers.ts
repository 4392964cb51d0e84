/** Answers to questions, and what became of them. The whole console knows them: a question is shown in several places. */

import type { ApprovalView, Edited, Resolved, RunView } from "@pollux/protocol";
import { door, Refusal } from "../../door";
import { readInbox } from "../../inbox";
import { signalled, useSignal } from "../../parts/signal";
import { type Decision, type Fate, fateIn, hasEnded, isClosing, isOpen } from "./fate";
import type { Question } from "./question";

/** How often we look whether what was approved has been done, and how long. */
const LOOKS_MS = [150, 250, 400, 700, 1_000];
const FOLLOWED_MS = 10 * 60_000;
const MOST_KEPT = 500;

type Fates = ReadonlyMap<string, Fate>;

const fates = signalled<Fates>(new Map());
/** What a question asks about now, where that is not what it asked about when it was read. */
export const changed = signalled<ReadonlyMap<string, ApprovalView>>(new Map());

export function useFates(): Fates {
  return useSignal(fates);
}

export function fateOf(id: string): Fate | undefined {
  return fates.get().get(id);
}

/** The question as it stands now: edited here, or with arguments that the server has told us since. */
export function useLatest(question: Question): Question {
  return latestOf(question, useSignal(changed));
}

export function latestOf(
  question: Question,
  by: ReadonlyMap<string, ApprovalView> = changed.get(),
): Question {
  let latest = question;
  const seen = new Set<string>();
  while (!seen.has(latest.id)) {
    seen.add(latest.id);
    const next = by.get(latest.id);
    if (next) latest = { ...latest, ...next };
  }
  return latest;
}

/** Answer it: exactly as it was shown, or not at all. Settles when the answer is taken, or could not be. */
export async function answer(question: Question, decision: Decision, feedback = ""): Promise<Fate> {
  if (!isOpen(fateOf(question.id))) return fateOf(question.id) as Fate;
  if (question.truncated && decision !== "reject") throw new Error("only its beginning was shown");
  put(question.id, { step: "sending", decision });
  const { id: approvalId, argsHash } = question;
  try {
    const body = { approvalId, decision, argsHash, ...(feedback && { feedback }) };
    const { run } = await door.post<Resolved>("/api/agent/approvals/resolve?wait=0", body);
    put(approvalId, taken(run, approvalId, decision));
    void follow(run.runId, approvalId, decision);
  } catch (problem) {
    put(approvalId, await fateAfter(problem, question));
  }
  void readInbox();
  return fateOf(approvalId) as Fate;
}

/** Ask about other arguments instead. Throws where they are refused: the old ones still wait then. */
export async function edit(question: Question, args: { [name: string]: unknown }): Promise<Fate> {
  const path = `/api/agent/approvals/${encodeURIComponent(question.id)}/edit`;
  let fate: Fate;
  try {
    const { approval, action } = await door.post<Edited>(path, { args });
    const runId = question.runId;
    fate = { step: "replaced", by: approval, action, ...(runId && { runId }) };
    if (approval) note(question.id, approval);
    else if (runId) void followAction(runId, action.id, question.id);
  } catch (problem) {
    if (!(problem instanceof Refusal && isClosing(problem))) throw problem;
    fate = closed(problem);
  }
  put(question.id, fate);
  void readInbox();
  return fate;
}

/** See what became of a question that waits no more, or not. */
export async function lookUp(question: Question): Promise<void> {
  if (!question.runId || !isOpen(fateOf(question.id))) return;
  try {
    const run = await door.get<RunView>(`/api/agent/runs/${encodeURIComponent(question.runId)}`);
    const fate = fateIn(run, question.id);
    if (!fate || !isOpen(fateOf(question.id))) return;
    put(question.id, fate);
    const action = fate.step === "closed" ? fate.outcome?.action : undefined;
    if (action && !hasEnded(action)) void followAction(run.runId, action.id, question.id);
  } catch (problem) {
    if (problem instanceof Refusal && problem.status === 404) put(question.id, closed(problem));
    // Else it is looked up again.
  }
}

async function fateAfter(problem: unknown, question: Question): Promise<Fate> {
  if (!(problem instanceof Refusal)) return { step: "refused", problem };
  if (isClosing(problem)) {
    const fate = closed(problem);
    const action = problem.detail.outcome?.action;
    if (action && problem.detail.runId && !hasEnded(action))
      void followAction(problem.detail.runId, action.id, question.id);
    return fate;
  }
  if (problem.code === "args_changed") await readAgain(question, problem.detail.runId ?? question.runId);
  return { step: "refused", problem };
}

/** The arguments that the server has. */
async function readAgain(question: Question, runId: string | undefined): Promise<void> {
  if (!runId) return;
  const run = await door.get<RunView>(`/api/agent/runs/${encodeURIComponent(runId)}`).catch(() => null);
  const now = run?.approvals.find(({ id }) => id === question.id);
  if (now) note(question.id, now);
}

function closed({ code, detail: { outcome, runId } }: Refusal): Fate {
  return { step: "closed", code, ...(outcome && { outcome }), ...(runId && { runId }) };
}

function taken(run: RunView, approvalId: string, decision: Decision): Fate {
  const action = run.actions.find((each) => each.approvalId === approvalId);
  return { step: "taken", decision, runId: run.runId, ...(action && { action }) };
}

async function follow(runId: string, approvalId: string, decision: Decision): Promise<void> {
  for await (const run of looks(runId)) {
    const fate = taken(run, approvalId, decision);
    put(approvalId, fate);
    if (fate.step !== "taken" || !fate.action || hasEnded(fate.action)) return;
  }
}

/** Follow an action to its end, for a question that others answered or that was not asked. */
async function followAction(runId: string, actionId: string, approvalId: string): Promise<void> {
  for await (const run of looks(runId)) {
    const action = run.actions.find(({ id }) => id === actionId);
    const fate = fateOf(approvalId);
    if (!action || !fate) return;
    if (fate.step === "replaced") put(approvalId, { ...fate, action });
    else if (fate.step === "closed" && fate.outcome)
      put(approvalId, { ...fate, outcome: { ...fate.outcome, action } });
    if (hasEnded(action)) return;
  }
}

/** The run again and again, ever less often. */
async function* looks(runId: string): AsyncGenerator<RunView> {
  const end = Date.now() + FOLLOWED_MS;
  for (let count = 0; Date.now() < end; count++) {
    await new Promise((go) => setTimeout(go, LOOKS_MS[count] ?? 2_000));
    try {
      yield await door.get<RunView>(`/api/agent/runs/${encodeURIComponent(runId)}`);
    } catch (problem) {
      // A server that is away comes back; what is gone does not.
      if (problem instanceof Refusal && [401, 404].includes(problem.status)) return;
    }
  }
}

function put(id: string, fate: Fate): void {
  const kept = [...fates.get()].filter(([known]) => known !== id).slice(-MOST_KEPT);
  fates.set(new Map([...kept, [id, fate]]));
}

/** Keep what the server has told us of a question since. */
export function note(id: string, now: ApprovalView): void {
  changed.set(new Map([...changed.get()].slice(-MOST_KEPT)).set(id, now));
}
