/** Every go at the same document in one thread: what an earlier one has done, a later one does not do again. */

import type { RunRowView } from "@pollux/protocol";
import type { VNode } from "preact";
import { Moment } from "../../parts/moment";
import { linkToRun } from "./links";
import { Status } from "./sign";
import { type RunState, wordOfRun } from "./states";

interface Props {
  readonly all: readonly RunRowView[];
  /** The one that is shown, as it is now. */
  readonly present: { readonly runId: string; readonly state: RunState };
}

export function Goes({ all, present }: Props): VNode {
  return (
    <section class="stack" aria-labelledby="goes">
      <h2 id="goes">Goes at it</h2>
      <ol class="goes" reversed>
        {all.map((go) => (
          <li key={go.runId} value={all.length - all.indexOf(go)}>
            <a href={linkToRun(go.runId)} aria-current={go.runId === present.runId ? "true" : undefined}>
              <Status word={wordOfRun(go.runId === present.runId ? present.state : go.state)} />
              <Moment at={go.createdAt} />
            </a>
          </li>
        ))}
      </ol>
    </section>
  );
}
