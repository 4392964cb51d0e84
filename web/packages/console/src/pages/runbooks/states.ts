/** How far runs, blocks and agents have come, each in a word and with a sign that says the same. */

import type { AgentProgress, BlockProgress, RunbookRunView } from "@pollux/protocol";
import type { SignName } from "./sign";

export type AgentStatus = AgentProgress["status"];
export type BlockState = BlockProgress["state"];
export type RunState = RunbookRunView["state"];

type Tone = "good" | "warn" | "bad" | "busy" | "still";

export interface Word {
  readonly text: string;
  readonly sign: SignName;
  readonly tone: Tone;
}

const word = (text: string, sign: SignName, tone: Tone): Word => ({ text, sign, tone });

const OF_AGENTS: Readonly<Record<AgentStatus, Word>> = {
  idle: word("not begun", "circle", "still"),
  initializing: word("is being started", "plug", "busy"),
  waiting: word("is thinking", "clock", "busy"),
  streaming: word("is answering", "lines", "busy"),
  pendingToolApproval: word("waits for you", "hand", "warn"),
  executingTool: word("is using a tool", "wrench", "busy"),
  completed: word("done", "done", "good"),
  failed: word("failed", "cross", "bad"),
  cancelled: word("cancelled", "stop", "still"),
  timedOut: word("took too long", "timer", "bad"),
};

const OF_BLOCKS: Readonly<Record<BlockState, Word>> = {
  pending: word("to come", "circle", "still"),
  next: word("comes next", "right", "still"),
  waiting: word("waits for you", "hand", "warn"),
  running: word("is running", "play", "busy"),
  done: word("done", "done", "good"),
  failed: word("failed", "cross", "bad"),
  skipped: word("passed over", "skip", "still"),
};

const OF_RUNS: Readonly<Record<RunState, Word>> = {
  queued: word("is about to begin", "clock", "busy"),
  planning: word("is running", "play", "busy"),
  executing: word("is running", "play", "busy"),
  awaiting_confirmation: word("waits for you", "hand", "warn"),
  completed: word("done", "done", "good"),
  failed: word("stopped", "cross", "bad"),
  cancelled: word("cancelled", "stop", "still"),
};

/** A block's state. Of an agent there is more to say while it works, and how it ended. */
export function wordOfBlock(state: BlockState, agent: AgentStatus | null): Word {
  const isPast = state === "skipped" || state === "next" || state === "waiting";
  if (agent && !isPast && !(agent === "idle" && state !== "pending")) return OF_AGENTS[agent];
  return OF_BLOCKS[state];
}

export function wordOfRun(state: RunState, asks = 0): Word {
  const isOver = state === "completed" || state === "failed" || state === "cancelled";
  return asks && !isOver ? OF_RUNS.awaiting_confirmation : OF_RUNS[state];
}

export function isOver(state: RunState): boolean {
  return state === "completed" || state === "failed" || state === "cancelled";
}
