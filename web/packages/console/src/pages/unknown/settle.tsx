/** A person's word on what became of an action. It is final, so what follows from it is said first. */

import type { UnknownView } from "@pollux/protocol";
import type { VNode } from "preact";
import { Refusal } from "../../door";
import { useDeed } from "../../loading";
import { Dialog } from "../../parts/dialog";
import { Notice, Problem } from "../../parts/notice";
import { titleOf } from "./lost";

export type Settlement = "done" | "not_done";

interface Props {
  readonly action: Pick<UnknownView, "preview" | "tool">;
  readonly settlement: Settlement;
  readonly onSettle: () => Promise<void>;
  readonly onClose: () => void;
}

export function Settle({ action, settlement, onSettle, onClose }: Props): VNode {
  const deed = useDeed();
  const isDone = settlement === "done";
  return (
    <Dialog title={isDone ? "It happened?" : "It did not happen?"} onClose={onClose}>
      <p dir="auto">
        <b>{titleOf(action)}</b>
      </p>
      <p>
        {isDone
          ? "The records will say that it was done, on your word. It is not done again."
          : "The records will say that it was not done, on your word. It is not tried again by itself: ask the agent anew if you still want it. Should it have happened after all, that would do it twice."}
      </p>
      <p class="faint">The run has ended and stays as it is. This cannot be taken back.</p>
      {isSettled(deed.problem) ? (
        <Notice tone="bad">Somebody has settled it meanwhile. What they said stands; the run tells.</Notice>
      ) : (
        <Problem of={deed.problem} />
      )}
      <div class="row">
        <button
          type="button"
          class="primary"
          aria-disabled={deed.isBusy}
          onClick={() => !deed.isBusy && void deed.run(onSettle)}
        >
          {isDone ? "Yes, it happened" : "No, it did not happen"}
        </button>
        <button type="button" onClick={onClose}>
          I am not sure
        </button>
      </div>
    </Dialog>
  );
}

function isSettled(problem: unknown): boolean {
  return problem instanceof Refusal && problem.code === "already_resolved";
}
