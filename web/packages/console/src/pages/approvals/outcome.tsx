/** What became of a question, with the way to more. */

import type { VNode } from "preact";
import { Icon, type IconName } from "../../parts/icon";
import { Notice } from "../../parts/notice";
import { linkTo } from "../../place";
import { type Fate, type Tone, told } from "./fate";

const ICONS: Readonly<Record<Tone, IconName>> = {
  ...{ info: "approvals", good: "done", warn: "waiting", bad: "failed" },
};

export function Outcome({ fate }: { fate: Fate }): VNode {
  const { tone, text } = told(fate);
  const isUnknown = actionIn(fate)?.errorCode === "outcome_unknown";
  const runId = "runId" in fate ? fate.runId : undefined;
  return (
    <Notice tone={tone}>
      <span class="outcome">
        {fate.step !== "sending" && <Icon name={ICONS[tone]} />}
        <span dir="auto">{text}</span>
      </span>
      {isUnknown ? (
        <a href={linkTo("unknown")}>Say what happened</a>
      ) : (
        runId && <a href={linkTo("runs", runId)}>See the run</a>
      )}
    </Notice>
  );
}

function actionIn(fate: Fate) {
  if (fate.step === "closed") return fate.outcome?.action;
  return fate.step === "taken" || fate.step === "replaced" ? fate.action : undefined;
}
