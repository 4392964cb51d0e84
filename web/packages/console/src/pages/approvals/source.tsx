/** Where a question comes from: who asked for what, what the policy said, and whose words the agent had read. */

import type { RunbookRunView, RunView } from "@pollux/protocol";
import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useLoaded } from "../../loading";
import { Facts } from "../../parts/facts";
import { Moment } from "../../parts/moment";
import { linkTo } from "../../place";
import { lookalikesIn } from "./lookalikes";
import { agentOf, listed, type Question, strangersOf } from "./question";

const LONGEST_PROMPT = 400;

export function Source({ question }: { question: Question }): VNode {
  const { runId, threadId, prompt = "" } = question;
  // Only the inbox does not know the run already.
  const path = threadId && runId ? `/api/agent/runs/${encodeURIComponent(runId)}` : null;
  const run = useLoaded<RunView>(path).value;
  const isRunbook = run?.profile === "runbook" && runId;
  const book = useLoaded<RunbookRunView>(
    isRunbook ? `/api/runbooks/runs/${encodeURIComponent(runId)}` : null,
  ).value;
  return (
    <Facts
      of={[
        ["Recipients", question.subjects.length > 0 ? <Subjects of={question.subjects} /> : null],
        ["Tool", <code>{visible(question.tool)}</code>],
        ["Policy", <span dir="auto">{visible(question.reason) || "It asks before this is done."}</span>],
        ["Words come from", <Words question={question} />],
        ["Asked by", askedBy(question, run, book)],
        ["For the prompt", prompt && <q dir="auto">{shortened(visible(prompt))}</q>],
        ["Asked", question.createdAt && <Moment at={question.createdAt} />],
        ["See", threadId && <Links question={question} run={run} />],
      ]}
    />
  );
}

/** Whom it is about. */
export function Subjects({ of: subjects }: { of: readonly string[] }): VNode {
  const doubtful = subjects.filter((subject) => lookalikesIn(subject).length > 0);
  return (
    <span class="subjects">
      {subjects.map((subject) => (
        <span key={subject} class="subject" dir="auto">
          {visible(subject)}
        </span>
      ))}
      {doubtful.map((subject) => (
        <span key={`of ${subject}`} class="strangers">
          <bdi>{visible(subject)}</bdi> is not what it looks like: {listed(lookalikesIn(subject).map(named))}{" "}
          only look Latin.
        </span>
      ))}
    </span>
  );
}

function named(letter: string): string {
  return `${letter} (U+${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")})`;
}

function Words({ question }: { question: Question }): VNode {
  const strangers = strangersOf(question);
  if (strangers.length === 0) return <span>only what was asked</span>;
  return (
    <span class="strangers">
      the agent had also read {listed(strangers)}. That may be a stranger’s text: look twice.
    </span>
  );
}

function askedBy(question: Question, run: RunView | null, book: RunbookRunView | null): string {
  const agent = agentOf(question);
  if (!run) return agent ?? "";
  // Behind a colon stands what the configuration gives it.
  switch (run.profile.split(":")[0]) {
    case "runbook":
      return `${agent ? `${agent}, in ` : ""}${blockIn(book, question)}`;
    case "runbook-agent":
      return `an agent block of a runbook (${visible(run.model)})`;
    default:
      return `the agent “${visible(run.profile)}” (${visible(run.model)})`;
  }
}

function blockIn(book: RunbookRunView | null, { id }: Question): string {
  const blockId = book?.approvals.find((each) => each.id === id)?.blockId;
  const name = book?.blocks.find((block) => block.id === blockId)?.name;
  const block = name ? `the block “${visible(name)}”` : "a block";
  return `${block} of ${book ? `the runbook “${visible(book.name || book.path)}”` : "a runbook"}`;
}

function Links({ question, run }: { question: Question; run: RunView | null }): VNode {
  const { runId = "", threadId = "" } = question;
  return (
    <span class="row">
      {run?.profile === "runbook" ? (
        <a href={linkTo("runbooks", `runs/${runId}`)}>Runbook</a>
      ) : (
        <a href={linkTo("threads", threadId)}>Conversation</a>
      )}
      <a href={linkTo("runs", runId)}>Run</a>
    </span>
  );
}

function shortened(text: string): string {
  return text.length > LONGEST_PROMPT ? `${text.slice(0, LONGEST_PROMPT)}…` : text;
}
