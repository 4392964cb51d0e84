/** A run in the conversation: what was asked, what the agent said, thought and did, what it asks, and how it ended. */

import type { AttachmentView, RunView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { count, money, several } from "../../parts/amounts";
import { Markdown } from "../../parts/markdown";
import { span } from "../../parts/moment";
import { linkTo } from "../../place";
import { QuestionCard } from "../approvals/card";
import { Said } from "./said";
import { isOver } from "./step";
import { Steps } from "./steps";
import { isResting, questionsOf, type Story } from "./story";
import type { Turn } from "./turn";

interface Props {
  readonly story: Story;
  readonly threadId: string;
  readonly files: readonly AttachmentView[];
  /** What the server says of it, once it has ended. */
  readonly run: RunView | undefined;
  readonly onAnswered: () => void;
}

export function Told(props: Props): VNode {
  const { story, run, files, threadId } = props;
  return useMemo(() => <ToldNow {...props} />, [story, run, threadId, JSON.stringify(files)]);
}

function ToldNow({ story, threadId, files, run, onAnswered }: Props): VNode {
  return (
    <>
      {story.prompt && <Said kind="user" text={story.prompt} {...{ files, threadId }} />}
      {story.turns.map((turn) => (
        <TurnView key={turn.number} turn={turn} />
      ))}
      {questionsOf(story).map(
        ({ id, question }, index) =>
          question && (
            <div key={id} class="card asked">
              <QuestionCard
                question={{ ...question, runId: story.runId }}
                at={`${index}`}
                onAnswered={onAnswered}
              />
            </div>
          ),
      )}
      <Present story={story} />
      <End story={story} run={run} />
    </>
  );
}

function TurnView({ turn }: { turn: Turn }): VNode {
  const { text, thoughts, steps, isOpen } = turn;
  return (
    <>
      {thoughts && (
        <details class="thoughts">
          <summary>{isOpen && !text ? "Thinking…" : "Thoughts"}</summary>
          <Markdown text={thoughts} isStreaming={isOpen} />
        </details>
      )}
      {text && <Said kind="assistant" text={text} isStreaming={isOpen} />}
      <Steps steps={steps} />
    </>
  );
}

/** What it is at, while nothing else shows it. */
function Present({ story }: { story: Story }): VNode | null {
  if (story.ending || isResting(story)) return null;
  const last = story.turns.at(-1);
  if (last?.isOpen && last.text) return null;
  const words = story.isStopping
    ? "Stopping…"
    : story.trouble
      ? `The model did not answer (${story.trouble}). It is asked again…`
      : last?.steps.some((step) => !isOver(step))
        ? "At work…"
        : "Thinking…";
  return <p class="present">{words}</p>;
}

function End({ story, run }: { story: Story; run: RunView | undefined }): VNode {
  const { ending, runId, startedAt } = story;
  return (
    <footer class="ending">
      {ending && ending.state !== "completed" && (
        <div class={`notice ${ending.state === "failed" ? "bad" : "info"}`}>
          <span dir="auto">
            {ending.state === "cancelled"
              ? "It was stopped."
              : run?.summary || ending.message || "It failed."}
          </span>
          {ending.connectUrl && <a href={ending.connectUrl}>Connect the account</a>}
        </div>
      )}
      {run?.incomplete && (
        <div class="notice warn">
          <span>
            {run.cut
              ? "The answer was longer than its limit. It was cut and is incomplete."
              : "The answer reached the output limit and is incomplete."}
          </span>
        </div>
      )}
      <p class="spent">
        {run && (
          <span title={`${count(run.usage.input)} in, ${count(run.usage.output)} out`}>
            {several(run.usage.total, "token")}
          </span>
        )}
        {run && <span>{run.cost === null ? "cost unknown" : money(run.cost)}</span>}
        {ending && <span>{span((ending.at - startedAt) * 1000)}</span>}
        <a href={linkTo("runs", runId)}>Timeline</a>
      </p>
    </footer>
  );
}
