/** Somebody wants to say something while the agent is still at what was said before. */

import type { VNode } from "preact";
import type { Refusal } from "../../door";
import { several } from "../../parts/amounts";

interface Props {
  readonly of: Refusal;
  readonly onSupersede: () => void;
  readonly onLeave: () => void;
}

export function Busy({ of: { detail }, onSupersede, onLeave }: Props): VNode {
  const waiting = detail.approvals?.length ?? 0;
  return (
    <div class="notice warn" role="alert">
      <span>
        {waiting > 0
          ? `The agent waits for your answer to ${several(waiting, "question")} here. `
          : "The agent is still at work here. "}
        Nothing was sent.
      </span>
      <span class="row">
        <button type="button" onClick={onSupersede}>
          Stop it and send
        </button>
        <button type="button" onClick={onLeave}>
          Not now
        </button>
      </span>
    </div>
  );
}
