/** Follow a run by its journal, through broken connections, until it has ended or waits for a person. */

import type { JournalLine } from "@pollux/protocol";
import { door, Refusal } from "../../door";
import { backoff, pause } from "./pause";
import { isResting, type Story, told } from "./story";

/** A run that waits for a person may do so for a day. Browsers have few connections, so it is let go of after this. */
const REST_MS = 1_500;

interface Followed {
  readonly signal: AbortSignal;
  /** The story so far; told again after each line. */
  readonly onTold: (story: Story) => void;
  /** Whether the connection is lost at present. */
  readonly onLost: (isLost: boolean) => void;
}

/** Settles with the story once there is nothing to hear. Throws Refusal where it can never be heard. */
export async function follow(begun: Story, { signal, onTold, onLost }: Followed): Promise<Story> {
  let story = begun;
  for (let tries = 0; ; tries += 1) {
    const rest = new Rest(signal);
    try {
      rest.look(story);
      for await (const line of linesAfter(story, rest.signal)) {
        onLost(false);
        tries = 0;
        // This process stops, or has other troubles: another connection may have none.
        if (line.type === "error") break;
        story = told(story, line);
        onTold(story);
        rest.look(story);
      }
    } catch (problem) {
      if (signal.aborted) throw problem;
      if (rest.isOver) return story;
      if (!mayPass(problem)) throw problem;
    } finally {
      rest.stop();
    }
    if (story.ending) return story;
    onLost(true);
    await pause(backoff(tries), signal);
  }
}

function linesAfter({ runId, seq }: Story, signal: AbortSignal): AsyncGenerator<JournalLine> {
  return door.lines(`/api/agent/runs/${encodeURIComponent(runId)}/events?after=${seq}`, { signal });
}

function mayPass(problem: unknown): boolean {
  return !(problem instanceof Refusal) || [0, 429].includes(problem.status) || problem.status >= 500;
}

/** Lets go of a connection on which nothing is to be expected. */
class Rest {
  readonly #control = new AbortController();
  readonly #stop = () => this.#control.abort();
  #timer = 0;

  constructor(private readonly outer: AbortSignal) {
    if (outer.aborted) this.#stop();
    outer.addEventListener("abort", this.#stop, { once: true });
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  /** Whether it was let go of, rather than stopped from outside. */
  get isOver(): boolean {
    return this.#control.signal.aborted && !this.outer.aborted;
  }

  look(story: Story): void {
    clearTimeout(this.#timer);
    if (isResting(story)) this.#timer = window.setTimeout(this.#stop, REST_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.outer.removeEventListener("abort", this.#stop);
  }
}
