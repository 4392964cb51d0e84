/** A question that waits for a person, as pages know it: in the inbox, or in the midst of a conversation. */

import type { ApprovalView, PendingView } from "@pollux/protocol";
import { visible } from "@pollux/widget";

/** The inbox knows where it comes from; a conversation, which has it from a run, knows that by itself. */
export type Question = ApprovalView & Partial<Pick<PendingView, Where>>;
type Where = "runId" | "actionId" | "threadId" | "prompt" | "createdAt" | "truncated";

/** The tools through which foreign agents ask. They go on as if what they named was judged: no other arguments. */
const FOREIGN: ReadonlySet<string> = new Set([
  ...["agent_permission", "agent_read_file", "agent_write_file", "agent_terminal"],
]);
const LONGEST_TITLE = 160;

/** Milliseconds until it runs out. A question that does not say when has run out. */
export function timeLeft({ expiresAt }: Question, now: number): number {
  return Math.max(0, Date.parse(expiresAt) - now || 0);
}

/** What would be done, in a line. */
export function titleOf({ preview, tool }: Question): string {
  const line = visible(preview.trim() || tool).split("\n", 1)[0] ?? "";
  return line.length > LONGEST_TITLE ? `${line.slice(0, LONGEST_TITLE)}…` : line;
}

/** What would be done, where a line does not hold it and the arguments do not say the same. */
export function wholePreview(question: Question): string | null {
  const whole = question.preview.trim();
  if (!whole || visible(whole) === titleOf(question)) return null;
  const rest = whole.split("\n").slice(1).join("\n").trim();
  const isTold = rest !== "" && Object.values(question.args).some((value) => value === rest);
  return isTold ? null : visible(whole);
}

/** The foreign agent that asks, if it is one. */
export function agentOf({ tool, args }: Question): string | null {
  if (!FOREIGN.has(tool)) return null;
  return typeof args.agent === "string" && args.agent ? visible(args.agent) : "a foreign agent";
}

/** Whose words, beside those of whoever asked, the agent had read when it wanted this. */
export function strangersOf({ provenance }: Question): string[] {
  return provenance.filter((source) => source !== "user").map(sourceInWords);
}

function sourceInWords(source: string): string {
  if (source === "page") return "the web page that was open";
  if (source === "attachment") return "an attached file";
  if (source === "tool:?") return "what a tool answered";
  if (source.startsWith("tool:")) return `what ${visible(source.slice("tool:".length))} answered`;
  return visible(source);
}

/** Several things in a sentence. */
export function listed(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
