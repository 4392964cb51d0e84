/** A run's journal as it is told: what was written before, then what happens, over however many connections it takes. */

import type { JournalLine } from "@pollux/protocol";
import { useEffect, useState } from "preact/hooks";
import { door, Refusal } from "../../door";

/** A fact of the journal, by its number. */
export type Fact = Extract<JournalLine, { seq: number }>;

export interface Journal {
  readonly facts: readonly Fact[];
  /** How many facts are not among them, because there are too many. */
  readonly leftOut: number;
  /** What the model says at the moment. */
  readonly text: string;
  readonly thoughts: string;
  /** What tools at work have shown, by action. */
  readonly output: ReadonlyMap<string, string>;
  readonly isOver: boolean;
  /** Why it is not followed at the moment. */
  readonly problem: unknown;
}

export const NOTHING: Journal = {
  ...{ facts: [], leftOut: 0, text: "", thoughts: "", output: new Map(), isOver: false, problem: null },
};

/** The first fact and the newest ones: as many as a browser bears. */
export const MOST_FACTS = 5_000;
const MOST_OUTPUT = 8_000;
const SHOWN_EVERY_MS = 60;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const ENDINGS: readonly string[] = ["RunCompleted", "RunFailed", "RunCancelled"];
/** After these, what the model had said so far counts no more, or stands in the fact. */
const TURNS: readonly string[] = ["ModelCalled", "ModelReplied", "ModelFailed", ...ENDINGS];

/** Gathers the lines. Kept apart from what is shown: hundreds of lines a second make a few pictures a second. */
export class Reader {
  #first: Fact | null = null;
  #rest: Fact[] = [];
  #leftOut = 0;
  #text = "";
  #thoughts = "";
  #output = new Map<string, string>();
  #isOver = false;
  problem: unknown = null;
  last = 0;

  read(line: JournalLine): void {
    if ("seq" in line) this.#fact(line);
    else if (line.type === "delta") this.#text += line.delta;
    else if (line.type === "thought_delta") this.#thoughts += line.delta;
    else if (line.type === "turn_restarted") this.forgetTurn();
    else if (line.type === "tool_output") {
      const all = (this.#output.get(line.actionId) ?? "") + line.text;
      this.#output.set(line.actionId, all.slice(-MOST_OUTPUT));
    }
  }

  /** Text on its way is told from its beginning to whoever comes anew. */
  forgetTurn(): void {
    this.#text = this.#thoughts = "";
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get journal(): Journal {
    return {
      ...{ facts: this.#first ? [this.#first, ...this.#rest] : [], leftOut: this.#leftOut },
      ...{ text: this.#text, thoughts: this.#thoughts, output: new Map(this.#output) },
      ...{ isOver: this.#isOver, problem: this.problem },
    };
  }

  #fact(fact: Fact): void {
    // Said once more by a server that was asked once more.
    if (fact.seq <= this.last) return;
    this.last = fact.seq;
    if (TURNS.includes(fact.type)) this.forgetTurn();
    if (ENDINGS.includes(fact.type)) this.#isOver = true;
    if (!this.#first) this.#first = fact;
    else this.#rest.push(fact);
    if (this.#rest.length >= MOST_FACTS + 500) {
      this.#leftOut += this.#rest.length - MOST_FACTS;
      this.#rest = this.#rest.slice(-MOST_FACTS);
    }
  }
}

/** Follow a run until it has ended, and tell of each change. */
export async function follow(
  runId: string,
  { reader, tell, signal }: { reader: Reader; tell: () => void; signal: AbortSignal },
): Promise<void> {
  let pause = FIRST_PAUSE_MS;
  for (;;) {
    const before = reader.last;
    const wasOver = reader.isOver;
    reader.forgetTurn();
    try {
      const path = `/api/agent/runs/${encodeURIComponent(runId)}/events?after=${before}`;
      for await (const line of door.lines<JournalLine>(path, { signal })) {
        if (line.type === "error") throw new Refusal(503, line.code, line.error);
        reader.read(line);
        reader.problem = null;
        pause = FIRST_PAUSE_MS;
        tell();
      }
      // A person may have settled something after the end: that is told to those who ask once more.
      if (wasOver && reader.last === before) return;
      if (reader.isOver) continue;
    } catch (problem) {
      if (signal.aborted) return;
      reader.problem = problem;
      tell();
      if (problem instanceof Refusal && isFinal(problem)) return;
    }
    await slept(pause, signal);
    if (signal.aborted) return;
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

/** Whether asking again would bring the same. Who asked too often is answered later. */
function isFinal({ status }: Refusal): boolean {
  return status >= 400 && status < 500 && status !== 429;
}

export function useJournal(runId: string): Journal {
  const [journal, setJournal] = useState(NOTHING);
  useEffect(() => {
    const control = new AbortController();
    const reader = new Reader();
    let timer = 0;
    const tell = () => {
      timer ||= window.setTimeout(() => {
        timer = 0;
        setJournal(reader.journal);
      }, SHOWN_EVERY_MS);
    };
    void follow(runId, { reader, tell, signal: control.signal });
    return () => {
      control.abort();
      clearTimeout(timer);
      setJournal(NOTHING);
    };
  }, [runId]);
  return journal;
}

function slept(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    setTimeout(done, milliseconds);
    signal.addEventListener("abort", () => done(), { once: true });
  });
}
