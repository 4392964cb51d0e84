/** The vocabulary of the audit in plain words. */

import type { AuditView } from "@pollux/protocol";

/** Every kind of entry, by what it says of the tool it names. */
export const KINDS: readonly (readonly [kind: string, word: string])[] = [
  ["decided", "Decided by the policy"],
  ["approved", "Approved"],
  ["rejected", "Rejected"],
  ["superseded", "Replaced by other arguments"],
  ["granted", "Always allowed"],
  ["revoked", "Grant taken back"],
  ["started", "Begun"],
  ["completed", "Done"],
  ["failed", "Failed"],
  ["not_done", "Found not done"],
  ["settled", "Settled by a person"],
  ["observed", "Done unasked by an agent"],
  ["erased", "Conversation erased"],
  ["connected", "Account connected"],
  ["disconnected", "Account given back"],
];

export const STATUSES: readonly (readonly [status: string, word: string])[] = [
  ["planned", "Planned"],
  ["awaiting_confirmation", "Waiting for a person"],
  ["executing", "At work"],
  ["completed", "Completed"],
  ["failed", "Failed"],
  ["rejected", "Rejected"],
];

const WORDS = new Map(KINDS);

const TONES: Readonly<Record<string, string>> = {
  ...{ completed: "good", awaiting_confirmation: "warn", failed: "bad", rejected: "bad" },
};
const STATES = new Map(STATUSES);

/** How things stood when the entry was written. That is over: nothing of it goes on or waits now. */
export function stateWords(status: string): { readonly tone: string; readonly word: string } {
  return {
    tone: TONES[status] ?? "still",
    word: (STATES.get(status) ?? status.replaceAll("_", " ")).toLowerCase(),
  };
}

/** An entry in a few words. */
export function entryWords({ kind, policyDecision }: AuditView): string {
  if (kind === "decided") {
    if (policyDecision === "allow") return "Allowed by the policy";
    if (policyDecision === "deny") return "Refused by the policy";
    return "The policy asks a person";
  }
  return WORDS.get(kind) ?? kind.replaceAll("_", " ");
}

const DECISIONS: Readonly<Record<string, string>> = {
  allow: "allowed",
  deny: "refused",
  require_approval: "a person has to approve",
};

export function policyWords(decision: string): string {
  return DECISIONS[decision] ?? decision.replaceAll("_", " ");
}
