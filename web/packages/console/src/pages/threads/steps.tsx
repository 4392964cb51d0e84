/** What the agent did: each call in a line that unfolds to its arguments and what came of it. Where one waits for an
answer, the question stands for it. */

import type { RunView } from "@pollux/protocol";
import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { door } from "../../door";
import { Arguments, JsonView, Pre } from "../../parts/arguments";
import { Icon, type IconName } from "../../parts/icon";
import { span } from "../../parts/moment";
import { readUnsure } from "../../unsure";
import { Settle, type Settlement } from "../unknown/settle";
import type { Step, StepState } from "./step";

const SHOWN: Readonly<Record<StepState, readonly [words: string, tone: string, icon: IconName]>> = {
  planned: ["about to run", "busy", "wrench"],
  asked: ["waits for you", "warn", "waiting"],
  executing: ["at work", "busy", "wrench"],
  completed: ["done", "good", "done"],
  failed: ["failed", "bad", "failed"],
  rejected: ["not allowed", "bad", "failed"],
  withdrawn: ["not done", "still", "close"],
  expired: ["ran out of time", "still", "waiting"],
};
const MOST_TEXT = 20_000;

export function Steps({ steps }: { steps: readonly Step[] }): VNode | null {
  if (steps.length === 0) return null;
  return (
    <ul class="deeds" aria-label="What was done">
      {steps.map((step) => (
        <li key={step.id} hidden={step.state === "asked"}>
          <StepView step={step} />
          {step.code === "outcome_unknown" && step.actionId && <Unknown step={step} />}
        </li>
      ))}
    </ul>
  );
}

function StepView({ step }: { step: Step }): VNode {
  const [words, tone, icon] = SHOWN[step.state];
  const isUnknown = step.code === "outcome_unknown";
  const line = visible(step.preview).split("\n", 1)[0];
  const summary = useFocusAfter(step.state === "asked");
  return (
    <details class="deed">
      <summary ref={summary}>
        <Icon name={icon} />
        <code>{visible(step.tool)}</code>
        <span class="preview" dir="auto">
          {line}
        </span>
        <span class={`badge ${isUnknown ? "bad" : tone}`}>{isUnknown ? "outcome unknown" : words}</span>
      </summary>
      <div class="inside">
        <Arguments args={step.args} />
        <Outcome step={step} />
      </div>
    </details>
  );
}

/** Whether it happened a person finds out, and says it here. */
function Unknown({ step }: { step: Step }): VNode {
  const [asked, setAsked] = useState<Settlement | null>(null);
  const [settled, setSettled] = useState<Settlement | null>(null);
  if (settled)
    return <p class="faint">Resolved as {settled === "done" ? "done" : "not done"}, on your word.</p>;
  const settle = async (outcome: Settlement): Promise<void> => {
    await door.post<RunView>(`/api/agent/actions/${encodeURIComponent(step.actionId)}/settle`, { outcome });
    setSettled(outcome);
    setAsked(null);
    void readUnsure();
  };
  return (
    <div class="notice warn">
      <span>
        It started, and may or may not have completed. Look where it would show, then say what you found.
      </span>
      <button type="button" onClick={() => setAsked("done")}>
        It happened
      </button>
      <button type="button" onClick={() => setAsked("not_done")}>
        It did not happen
      </button>
      {asked && (
        <Settle
          action={step}
          settlement={asked}
          onSettle={() => settle(asked)}
          onClose={() => setAsked(null)}
        />
      )}
    </div>
  );
}

function Outcome({ step }: { step: Step }): VNode {
  const { message, output, observed, result, startedAt, endedAt } = step;
  return (
    <>
      {message && <p dir="auto">{visible(message)}</p>}
      {output && <Pre text={visible(output)} label="What it showed" />}
      {observed.length > 0 && (
        <ul class="observed" aria-label="What the agent did by itself">
          {observed.map((what, index) => (
            <li key={index} dir="auto">
              {visible(what)}
            </li>
          ))}
        </ul>
      )}
      {result !== undefined && result !== null && <Result of={result} />}
      {startedAt !== null && endedAt !== null && (
        <p class="faint">Took {span((endedAt - startedAt) * 1000)}.</p>
      )}
    </>
  );
}

function Result({ of: result }: { of: unknown }): VNode {
  const text = typeof result === "string" ? result : JSON.stringify(result, null, 2);
  const isLong = text.length > MOST_TEXT;
  return (
    <>
      <p class="faint">What came back</p>
      <JsonView value={visible(isLong ? text.slice(0, MOST_TEXT) : text)} label="Result" />
      {isLong && <p class="faint">This is its beginning. The run's timeline has the whole.</p>}
    </>
  );
}

/** Whoever has just answered the question below has lost what they had in focus: they find it here again. */
function useFocusAfter(isAsked: boolean): { current: HTMLElement | null } {
  const summary = useRef<HTMLElement>(null);
  const wasAsked = useRef(isAsked);
  useEffect(() => {
    const isNobody = document.activeElement === document.body || document.activeElement === null;
    if (wasAsked.current && !isAsked && isNobody) summary.current?.focus({ preventScroll: true });
    wasAsked.current = isAsked;
  }, [isAsked]);
  return summary;
}
