/** A state in a word, with a colour that says the same. */

import type { VNode } from "preact";

const TONES: Readonly<Record<string, string>> = {
  ...{ completed: "good", success: "good", approved: "good", ready: "good", alive: "good", allow: "good" },
  ...{
    awaiting_confirmation: "warn",
    awaiting_approval: "warn",
    ask: "warn",
    pending: "warn",
    waiting: "warn",
  },
  ...{ failed: "bad", error: "bad", rejected: "bad", deny: "bad", timed_out: "bad", outcome_unknown: "bad" },
  ...{ cancelled: "still", skipped: "still", idle: "still", expired: "still", withdrawn: "still" },
};

const WORDS: Readonly<Record<string, string>> = {
  awaiting_confirmation: "waits for you",
  outcome_unknown: "outcome unknown",
};

export function Badge({ state, title }: { state: string; title?: string }): VNode {
  return (
    <span class={`badge ${TONES[state] ?? "busy"}`} title={title}>
      {WORDS[state] ?? state.replaceAll("_", " ")}
    </span>
  );
}
