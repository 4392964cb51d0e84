/** What was done in the page and at the server. What is under way is told beside Stop. */

import type { Activity } from "@pollux/client";
import type { VNode } from "preact";
import { filled, type Strings } from "../strings";
import { Icon } from "./icons";

/** As many as are worth seeing at once. */
const SHOWN = 5;

interface Props {
  readonly activity: readonly Activity[];
  readonly strings: Strings;
}

export function Steps({ activity, strings }: Props): VNode | null {
  const over = activity.filter(isOver);
  if (over.length === 0) return null;
  const earlier = over.length - SHOWN;
  return (
    <ul class="steps" aria-label={strings.steps}>
      {earlier > 0 && <li class="earlier">{filled(strings.earlier, earlier)}</li>}
      {over.slice(-SHOWN).map(({ id, status, text, tool }) => (
        <li key={id} class={status}>
          <Icon name={status} />
          <span dir="auto">{text || tool}</span>
          <span class="unseen">, {strings[status]}</span>
        </li>
      ))}
    </ul>
  );
}

function isOver(step: Activity): step is Activity & { readonly status: "done" | "failed" } {
  return step.status !== "running";
}
