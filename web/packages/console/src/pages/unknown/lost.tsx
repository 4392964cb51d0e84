/** One action whose outcome is unknown: what it was, and why nobody knows. */

import type { UnknownView } from "@pollux/protocol";
import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { Arguments } from "../../parts/arguments";
import { Badge } from "../../parts/badge";
import { Facts } from "../../parts/facts";
import { Clock, Moment } from "../../parts/moment";
import { linkTo } from "../../place";
import { Subjects } from "../approvals/source";
import type { Settlement } from "./settle";

interface Props {
  readonly action: UnknownView;
  readonly onSettle: (settlement: Settlement) => void;
}

export function Lost({ action, onSettle }: Props): VNode {
  const title = titleOf(action);
  return (
    <li class="ask open lost">
      <div class="ask-head">
        <h2 dir="auto">{title}</h2>
        <Badge state="outcome_unknown" />
      </div>
      <div class="ask-body question">
        <Arguments args={action.args} />
        <Facts
          of={[
            ["Recipients", action.subjects.length > 0 ? <Subjects of={action.subjects} /> : null],
            ["Tool", <code>{visible(action.tool)}</code>],
            ["Why nobody knows", <span dir="auto">{visible(action.message)}</span>],
            ["Begun", action.startedAt && <Clock at={action.startedAt} />],
            ["Lost", <Moment at={action.endedAt} />],
            ["For the prompt", action.prompt && <q dir="auto">{visible(action.prompt)}</q>],
            [
              "See",
              <span class="row">
                <a href={linkTo("threads", action.threadId)}>Conversation</a>
                <a href={linkTo("runs", action.runId)}>Run</a>
              </span>,
            ],
          ]}
        />
        <div class="choices">
          <button type="button" onClick={() => onSettle("done")} aria-label={`It happened: ${title}`}>
            It happened
          </button>
          <button
            type="button"
            onClick={() => onSettle("not_done")}
            aria-label={`It did not happen: ${title}`}
          >
            It did not happen
          </button>
        </div>
      </div>
    </li>
  );
}

export function titleOf({ preview, tool }: Pick<UnknownView, "preview" | "tool">): string {
  return visible(preview.trim() || tool).split("\n", 1)[0] ?? "";
}
