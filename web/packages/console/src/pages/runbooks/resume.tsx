/** After a run has stopped: the block that did not succeed again, or without it, or simply on. */

import type { BlockProgress, DocumentView, ResumeBody, RunbookRunView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { door } from "../../door";
import { useDeed } from "../../loading";
import { Notice, Problem } from "../../parts/notice";
import { say } from "../../parts/said";
import { linkTo } from "../../place";
import { nameOf } from "./kinds";
import { goToRun } from "./links";
import { Value } from "./value";
import { missingIn, type Wanted } from "./variables";

interface Props {
  readonly run: RunbookRunView;
  /** The document, where it is still the one that ran. */
  readonly document: DocumentView | null;
}

export function Resume({ run, document }: Props): VNode | null {
  const deed = useDeed();
  const failed = run.blocks.find((block) => block.state === "failed");
  const isLeft = run.blocks.some((block) => block.state === "next" || block.state === "pending");
  if (!failed && !isLeft) return null;
  const resume = (way: ResumeBody) =>
    deed.run(async () => {
      const path = `/api/runbooks/runs/${encodeURIComponent(run.runId)}/resume`;
      const gone = await door.post<RunbookRunView>(path, way);
      say("It goes on.");
      goToRun(gone.runId);
    });
  const wanted = failed ? [] : missingIn(run, document?.blocks ?? []);
  if (wanted.length > 0)
    return (
      <WithValues
        wanted={wanted}
        isBusy={deed.isBusy}
        problem={deed.problem}
        onGo={(variables) => void resume({ variables })}
      />
    );
  return (
    <Notice tone={failed ? "warn" : "info"}>
      <span>{failed ? about(failed, run) : "What was done is not done again."}</span>
      <span class="row">
        {failed ? (
          <>
            <button type="button" disabled={deed.isBusy} onClick={() => void resume({ retry: failed.id })}>
              Try {nameOf(failed)} again
            </button>
            <button type="button" disabled={deed.isBusy} onClick={() => void resume({ skip: failed.id })}>
              Go on without it
            </button>
          </>
        ) : (
          <button type="button" disabled={deed.isBusy} onClick={() => void resume({})}>
            Go on
          </button>
        )}
      </span>
      <Problem of={deed.problem} />
    </Notice>
  );
}

/** On, with the values that were missing. */
function WithValues(props: {
  wanted: readonly Wanted[];
  isBusy: boolean;
  problem: unknown;
  onGo: (values: Record<string, string>) => void;
}): VNode {
  const [values, setValues] = useState<Record<string, string>>({});
  const isMissing = props.wanted.some(({ name, isNeeded }) => isNeeded && !values[name]);
  return (
    <form
      class="card stack"
      aria-label="Values to go on with"
      onSubmit={(event) => {
        event.preventDefault();
        props.onGo(Object.fromEntries(Object.entries(values).filter(([, value]) => value)));
      }}
    >
      <p>It stopped since a value was missing. What was done is not done again.</p>
      {props.wanted.map((each) => (
        <Value
          key={each.name}
          wanted={each}
          value={values[each.name] ?? ""}
          onInput={(value) => setValues({ ...values, [each.name]: value })}
        />
      ))}
      <Problem of={props.problem} />
      <div class="row">
        <button type="submit" class="primary" disabled={props.isBusy || isMissing}>
          Go on
        </button>
      </div>
    </form>
  );
}

function about(block: BlockProgress, run: RunbookRunView) {
  const name = nameOf(block);
  if (block.code === "outcome_unknown")
    return (
      <>
        {name} was interrupted, and may have acted. Look before you try it again.{" "}
        <a href={linkTo("unknown")}>Unknown outcomes</a>
      </>
    );
  if (run.code === "rejected") return `${name} was not allowed, and has not run.`;
  return `${name} did not succeed. What was done before it is not done again.`;
}
