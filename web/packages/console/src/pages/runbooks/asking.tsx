/** Questions of a run's agents come forward one after another. Escape puts one back into the page, unanswered. */

import type { RunbookQuestion } from "@pollux/protocol";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog";
import { Question } from "./question";

interface Props {
  readonly runId: string;
  readonly questions: readonly RunbookQuestion[];
  readonly nameOf: (blockId: string) => string;
  readonly onAnswered: () => void;
}

export function Asking({ runId, questions, nameOf, onAnswered }: Props): VNode | null {
  const [putBack, setPutBack] = useState<ReadonlySet<string>>(new Set());
  /** Answered, though the run that we know is still the one before. */
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set());
  const open = questions.filter((question) => !answered.has(question.id));
  const agents = open.filter((question) => question.byAgent && !putBack.has(question.id));
  const first = agents[0];
  const others = open.filter((question) => question !== first);
  const asked = (question: RunbookQuestion, at: string) => ({
    ...{ question, runId, at, asker: nameOf(question.blockId) },
    onAnswered: (isDone: boolean) => {
      if (isDone) setAnswered(new Set([...answered, question.id]));
      onAnswered();
    },
  });
  return (
    <>
      {others.length > 0 && (
        <section class="stack" aria-label="Questions">
          {others.map((question, index) => (
            <article
              key={question.id}
              class="card asks-card"
              aria-label={`Question of ${nameOf(question.blockId)}`}
            >
              <Question {...asked(question, `${index}`)} />
            </article>
          ))}
        </section>
      )}
      {first && (
        <Dialog
          title={
            agents.length > 1 ? `May the agent do this? (1 of ${agents.length})` : "May the agent do this?"
          }
          onClose={() => setPutBack(new Set([...putBack, first.id]))}
        >
          <Fresh key={first.id}>
            <Question {...asked(first, "dialog")} />
          </Fresh>
        </Dialog>
      )}
    </>
  );
}

/** Another question in the same dialog: the focus goes to where it begins, away from the button just pressed. */
function Fresh({ children }: { children: VNode }): VNode {
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => top.current?.focus(), []);
  return (
    <div ref={top} tabIndex={-1} class="fresh-question">
      {children}
    </div>
  );
}
