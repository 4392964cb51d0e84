/** One call of a tool, from what the model asked for to what became of it, as the journal tells it. */

import type { Action, ApprovalView, ToolCall } from "@pollux/protocol";

export type StepState =
  | "planned"
  | "asked"
  | "executing"
  | "completed"
  | "failed"
  | "rejected"
  | "withdrawn"
  | "expired";

export interface Step {
  /** The call's, and so the same after its arguments were edited. */
  readonly id: string;
  readonly actionId: string;
  readonly tool: string;
  readonly args: { readonly [name: string]: unknown };
  readonly preview: string;
  readonly state: StepState;
  /** What the model read; undefined where there is nothing yet. */
  readonly result?: unknown;
  readonly code: string;
  readonly message: string;
  /** The question about it, also once it is answered. */
  readonly question: ApprovalView | null;
  /** The end of what the tool showed while it worked. */
  readonly output: string;
  /** What a foreign agent did by itself meanwhile. */
  readonly observed: readonly string[];
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

const MOST_OUTPUT = 4_000;
const MOST_OBSERVED = 50;

export function stepOf(call: ToolCall): Step {
  return {
    ...{ id: call.id, actionId: "", tool: call.name, args: call.args, preview: "", state: "planned" },
    ...{ code: "", message: "", question: null, output: "", observed: [], startedAt: null, endedAt: null },
  };
}

/** The step once the policy has spoken. */
export function decided(action: Action): Step {
  const { approval, outcome, decision } = action;
  return {
    ...stepOf(action.call),
    actionId: action.id,
    tool: action.tool,
    args: action.args,
    preview: approval?.preview || action.preview,
    state: outcome ? outcome.status : approval ? "asked" : decision?.mode === "deny" ? "rejected" : "planned",
    ...(outcome && { result: outcome.result, code: outcome.code, message: outcome.message }),
    ...(!outcome && decision?.mode === "deny" && { code: "policy_denied", message: decision.reason }),
    question: approval ? questionOf(action) : null,
  };
}

function questionOf(action: Action): ApprovalView | null {
  const { approval } = action;
  return (
    approval && {
      id: approval.id,
      tool: action.tool,
      reason: approval.reason,
      preview: approval.preview || action.preview,
      args: action.args,
      argsHash: action.args_hash,
      expiresAt: new Date(approval.expires_at * 1000).toISOString(),
      subjects: action.subjects,
      provenance: action.provenance,
      scopes: approval.scopes,
    }
  );
}

export function withOutput(step: Step, text: string): Step {
  return { ...step, output: (step.output + text).slice(-MOST_OUTPUT) };
}

export function withObserved(step: Step, text: string): Step {
  return { ...step, observed: [...step.observed, text].slice(-MOST_OBSERVED) };
}

/** Whether nothing more will come of it. */
export function isOver({ state }: Step): boolean {
  return !["planned", "asked", "executing"].includes(state);
}
