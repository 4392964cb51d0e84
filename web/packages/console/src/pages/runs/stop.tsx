/** Stop a run, once somebody has said that they mean it. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { door } from "../../door";
import { useDeed } from "../../loading";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { Problem } from "../../parts/notice";
import { say } from "../../parts/said";

export function Stop({ id }: { id: string }): VNode {
  const [isAsking, setIsAsking] = useState(false);
  const deed = useDeed();
  const stop = async () => {
    const isDone = await deed.run(() => door.post(`/api/agent/runs/${encodeURIComponent(id)}/cancel?wait=0`));
    if (!isDone) return;
    setIsAsking(false);
    say("It is to stop. What is under way ends first.");
  };
  return (
    <>
      <button type="button" class="danger" onClick={() => setIsAsking(true)}>
        <Icon name="stop" />
        Stop
      </button>
      {isAsking && (
        <Dialog title="Stop this run?" onClose={() => setIsAsking(false)}>
          <p>
            What has not begun never will, and questions about it are withdrawn. What is under way ends first:
            it may already have happened. This cannot be taken back.
          </p>
          <Problem of={deed.problem} />
          <div class="row">
            <button type="button" class="danger" disabled={deed.isBusy} onClick={() => void stop()}>
              Stop the run
            </button>
            <button type="button" onClick={() => setIsAsking(false)}>
              Let it go on
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
