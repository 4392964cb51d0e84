/** How far each block of a run has come, read off the stream line by line. */

import type { BlockFinished, RunbookFinished, RunbookLine, TokenUsage } from "@pollux/protocol";
import { Tail } from "./plain-text";
import type { AgentStatus, BlockState } from "./states";

/** Something that an agent did, with leave or without asking. */
export interface Observed {
  readonly tool: string;
  readonly title: string;
  readonly status: string;
}

/** What is known of one block. */
export interface Place {
  state: BlockState;
  agent: AgentStatus | null;
  tokens: TokenUsage | null;
  output: Tail;
  observed: Observed[];
  /** Questions of its agent, by approval, and what became of each. */
  asked: Map<string, { what: string; fate: string }>;
  /** When it began, while it runs. */
  since: number | null;
  finished: BlockFinished | null;
  /** Whether this run has told of it, and not an earlier go at the document. */
  isOurs: boolean;
}

const MOST_OBSERVED = 200;

export class Board {
  readonly places = new Map<string, Place>();
  ending: RunbookFinished | null = null;

  /** `isOurs` is not so for an earlier go at the document that is shown. */
  constructor(
    readonly runId: string,
    readonly isOurs = true,
  ) {}

  /** The stream begins again from the beginning, with the end of what a block at work has shown. */
  restart(): void {
    this.places.clear();
  }

  /** Take in a line. `now` is when it came, by the clock here; null where it is of the past. */
  read(line: RunbookLine, now: number | null = null): void {
    if (line.type === "error") return;
    if (line.data.within !== undefined) {
      this.#readPart(line, line.data.within);
      return;
    }
    switch (line.type) {
      case "runbookStarted":
        break;
      case "runbookFinished":
        if (line.data.runId === this.runId) this.ending = line.data;
        break;
      case "blockApprovalRequired":
        this.places.set(line.data.blockId, { ...this.#fresh(), state: "waiting" });
        break;
      case "blockApprovalResponse":
        if (line.data.approved) this.#at(line.data.blockId).state = "running";
        break;
      case "blockStarted":
        this.places.set(line.data.blockId, { ...this.#fresh(), since: now ?? line.data.startedAt * 1000 });
        break;
      case "blockOutput":
        this.#at(line.data.blockId).output.add((line.data.stdout ?? "") + (line.data.stderr ?? ""));
        break;
      case "blockFinished": {
        const place = this.#at(line.data.blockId);
        place.state = line.data.success ? "done" : "failed";
        place.finished = line.data;
        place.since = null;
        break;
      }
      case "agentStateChanged": {
        const place = this.#at(line.data.blockId);
        place.agent = line.data.state.status;
        place.tokens = line.data.state.tokenUsage ?? place.tokens;
        break;
      }
      case "agentToolObserved": {
        const { blockId, toolName, title, status } = line.data;
        this.#observe(this.#at(blockId), { tool: toolName, title, status });
        break;
      }
      case "agentToolApprovalRequired": {
        const { blockId, approvalId, preview, toolName } = line.data;
        const what = preview.split("\n", 1)[0] || toolName;
        this.#ask(this.#at(blockId), approvalId, { what, fate: "waits for an answer" });
        break;
      }
      case "agentToolApprovalResponse": {
        const known = this.#at(line.data.blockId).asked.get(line.data.approvalId ?? "");
        if (known) known.fate = fateOf(line.data);
        break;
      }
      default:
        line satisfies never;
    }
  }

  /** Of a runbook inside this one: here it is one block, which shows how its own are getting on. */
  #readPart(line: Exclude<RunbookLine, { type: "error" }>, within: string): void {
    const place = this.places.get(within);
    if (!place) return;
    if (line.type === "blockStarted") place.output.add(`▶ ${line.data.name || line.data.blockType}\n`);
    if (line.type === "blockOutput") place.output.add((line.data.stdout ?? "") + (line.data.stderr ?? ""));
    if (line.type === "blockFinished") {
      const { success, name, blockType, error } = line.data;
      place.output.add(`${success ? "✓" : "✗"} ${name || blockType}${error && `: ${error}`}\n`);
    }
  }

  #observe(place: Place, observed: Observed): void {
    if (place.observed.length < MOST_OBSERVED) place.observed.push(observed);
  }

  #ask(place: Place, id: string, question: { what: string; fate: string }): void {
    if (place.asked.size < MOST_OBSERVED) place.asked.set(id, question);
  }

  #at(id: string): Place {
    const known = this.places.get(id);
    if (known) return known;
    const fresh = this.#fresh();
    this.places.set(id, fresh);
    return fresh;
  }

  #fresh(): Place {
    return {
      ...{ state: "running", agent: null, tokens: null, output: new Tail(), observed: [] },
      ...{ asked: new Map(), since: null, finished: null, isOurs: this.isOurs },
    };
  }
}

function fateOf({ approved, remember, by }: { approved: boolean; remember: boolean; by: string }): string {
  if (!by) return "nobody answered in time";
  return approved ? `allowed by ${by}${remember ? ", from now on" : ""}` : `denied by ${by}`;
}
