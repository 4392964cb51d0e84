/** A large question is listed by its beginning. Nobody approves it before all of it was read here. */

import type { PendingAnswer, PendingView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { door } from "../../door";
import { Problem } from "../../parts/notice";
import { useSignal } from "../../parts/signal";
import { changed, latestOf, note } from "./answers";
import type { Question } from "./question";

export interface Wholes {
  /** As they are known now. */
  readonly questions: readonly Question[];
  /** Whether all of each is known: until then they cannot be approved. */
  readonly areWhole: boolean;
  readonly problem: unknown;
  readonly again: () => void;
}

/** The questions, and what was missing of them once it is read. */
export function useWholes(asked: readonly Question[]): Wholes {
  const known = useSignal(changed);
  const questions = asked.map((question) => latestOf(question, known));
  const partial = questions.filter((question) => question.truncated).map(({ id }) => id);
  const [problem, setProblem] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isWanted = true;
    setProblem(null);
    void (async () => {
      try {
        // One after the other: each may be a megabyte.
        for (const id of partial) if (isWanted) note(id, await readWhole(id));
      } catch (found) {
        if (isWanted) setProblem(found);
      }
    })();
    return () => {
      isWanted = false;
    };
  }, [asked.map(({ id }) => id).join(" "), turn]);
  return {
    ...{ questions, problem, areWhole: partial.length === 0 },
    again: () => setTurn((count) => count + 1),
  };
}

/** What stands where the answers will be, until all of it is there. */
export function Partial({ of: { problem, again } }: { of: Pick<Wholes, "problem" | "again"> }): VNode {
  if (problem) return <Problem of={problem} again={again} />;
  return (
    <p class="faint" aria-busy="true">
      Loading the whole request…
    </p>
  );
}

/** The question with this id, whole. */
export async function readWhole(id: string): Promise<PendingView> {
  const path = `/api/agent/approvals/${encodeURIComponent(id)}`;
  return (await door.get<PendingAnswer>(path)).approval;
}
