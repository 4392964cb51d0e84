/** What became of a question, and that in words. */

import type { ActionView, ApprovalView, OutcomeView, ResolveBody, RunView } from "@pollux/protocol";
import { visible } from "@pollux/widget";
import { Refusal, wordsOf } from "../../door";

export type Decision = ResolveBody["decision"];

export type Fate =
  /** Our answer is on its way. */
  | { readonly step: "sending"; readonly decision: Decision }
  /** It was not taken, and the question still waits. */
  | { readonly step: "refused"; readonly problem: unknown }
  /** Our answer was taken. */
  | {
      readonly step: "taken";
      readonly decision: Decision;
      readonly runId: string;
      readonly action?: ActionView;
    }
  /** It cannot be answered any more, by nobody's doing here. */
  | {
      readonly step: "closed";
      readonly code: string;
      readonly outcome?: OutcomeView;
      readonly runId?: string;
    }
  /** Other arguments took its place. Without a question about them, these were allowed at once. */
  | {
      readonly step: "replaced";
      readonly by: ApprovalView | null;
      readonly action: ActionView;
      readonly runId?: string;
    };

export type Tone = "info" | "good" | "warn" | "bad";

export interface Told {
  readonly tone: Tone;
  readonly text: string;
  /** In a word or two, for lists. */
  readonly short: string;
}

/** Codes of refusals that close a question. */
const CLOSING: ReadonlySet<string> = new Set([
  ...["already_resolved", "expired", "withdrawn", "superseded", "not_found"],
]);

export function isClosing({ status, code }: Refusal): boolean {
  return (status === 409 || status === 404) && CLOSING.has(code);
}

/** Whether it can still be answered. */
export function isOpen(fate: Fate | undefined): boolean {
  return fate === undefined || fate.step === "refused";
}

/** Whether more is still to be heard of it. */
export function isUnderWay(fate: Fate | undefined): boolean {
  if (fate?.step === "taken") return !hasEnded(fate.action);
  return fate?.step === "sending" || (fate?.step === "replaced" && !fate.by && !hasEnded(fate.action));
}

export function hasEnded(action: ActionView | undefined): boolean {
  return action !== undefined && ["completed", "failed", "rejected"].includes(action.state);
}

/** The fate of a question by its run, where somebody else answered it or nobody did; null while it waits. */
export function fateIn(run: RunView, approvalId: string): Fate | null {
  if (run.approvals.some(({ id }) => id === approvalId)) return null;
  const action = run.actions.find((each) => each.approvalId === approvalId);
  if (!action) return { step: "closed", code: "not_found", runId: run.runId };
  const isGone = action.state === "rejected" || action.errorCode === "cancelled";
  const code = isGone ? (action.errorCode ?? "rejected") : "already_resolved";
  const status = isGone ? code : "approved";
  return { step: "closed", code, outcome: { status, action }, runId: run.runId };
}

export function told(fate: Fate): Told {
  switch (fate.step) {
    case "sending":
      return { tone: "info", text: "Your answer is on its way…", short: "sending" };
    case "refused":
      return { tone: "bad", text: refusal(fate.problem), short: "not answered" };
    case "taken":
      return fate.decision === "reject"
        ? { tone: "info", text: "Rejected. Nothing was done.", short: "rejected" }
        : afterApproval("Approved", fate.action);
    case "replaced":
      return fate.by
        ? { tone: "info", text: "Other arguments took its place. They ask anew.", short: "changed" }
        : afterApproval("Other arguments were allowed without a question", fate.action);
    case "closed":
      return closing(fate.code, fate.outcome);
  }
}

function afterApproval(begun: string, action: ActionView | undefined): Told {
  if (action?.state === "completed")
    return { tone: "good", text: `${begun}, and done.`, short: "approved, done" };
  if (action?.errorCode === "outcome_unknown")
    return {
      tone: "bad",
      text: `${begun} and begun, but nobody knows whether it happened.`,
      short: "outcome unknown",
    };
  if (action?.errorCode === "cancelled")
    return { tone: "warn", text: `${begun}, but the run was stopped before it was done.`, short: "stopped" };
  if (action?.state === "failed" || action?.state === "rejected")
    return {
      tone: "bad",
      text: `${begun}, but it failed: ${visible(action.message ?? action.errorCode ?? "no reason was given")}`,
      short: "approved, failed",
    };
  return { tone: "info", text: `${begun}. It is being done…`, short: "approved" };
}

function closing(code: string, outcome: OutcomeView | undefined): Told {
  const by = outcome?.by ? ` by ${visible(outcome.by)}` : "";
  switch (code) {
    case "already_resolved":
      return outcome?.status === "rejected"
        ? { tone: "info", text: `Already rejected${by}. Nothing was done.`, short: "rejected" }
        : afterApproval(`Already approved${by}`, outcome?.action);
    case "rejected":
      return { tone: "info", text: `Already rejected${by}. Nothing was done.`, short: "rejected" };
    case "expired":
      return {
        tone: "warn",
        text: "It ran out before anybody answered. Nothing was done.",
        short: "ran out",
      };
    case "superseded":
      return { tone: "info", text: `Other arguments took its place${by}. They ask anew.`, short: "changed" };
    case "withdrawn":
    case "cancelled":
      return { tone: "info", text: "Withdrawn: its run was stopped. Nothing was done.", short: "withdrawn" };
    default:
      return {
        tone: "warn",
        text: "There is no such question any more. Its conversation may have been erased.",
        short: "gone",
      };
  }
}

function refusal(problem: unknown): string {
  if (problem instanceof Refusal && problem.code === "args_changed")
    return "Nothing was approved: the arguments were not the ones you were shown. Here are the present ones.";
  if (problem instanceof Refusal && problem.code === "unreachable")
    return "The server cannot be reached, so nobody knows whether your answer arrived. Answer again: it counts once.";
  return wordsOf(problem);
}
