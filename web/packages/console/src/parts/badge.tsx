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

interface Props {
  readonly state: string;
  readonly title?: string;
  /** What was not done of something that completed, in words: it is no plain success. */
  readonly refused?: string;
}

export function Badge({ state, title, refused = "" }: Props): VNode {
  const word = WORDS[state] ?? state.replaceAll("_", " ");
  return (
    <span class={`badge ${refused ? "warn" : (TONES[state] ?? "busy")}`} title={title}>
      {refused ? `${word}, ${refused}` : word}
    </span>
  );
}
