/** What was done in the page and at the server. What is under way is told beside Stop. */

import type { Activity } from "@pollux/client";
import type { VNode } from "preact";
import { filled, type Strings, stepIn } from "../strings";
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
      {over.slice(-SHOWN).map((step) => (
        <li key={step.id} class={step.status}>
          <Icon name={step.status} />
          <span dir="auto">{stepIn(strings, step)}</span>
          <span class="unseen">, {strings[step.status]}</span>
        </li>
      ))}
    </ul>
  );
}

function isOver(step: Activity): step is Activity & { readonly status: "done" | "failed" } {
  return step.status !== "running";
}
