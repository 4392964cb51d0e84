/** One run of a document, live: its blocks, what it asks, and how to go on where it stopped. */

import type { DocumentView, RunbookRunView, RunRowView } from "@pollux/protocol";
import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { door } from "../../door";
import { type Loaded, useDeed, useLoaded } from "../../loading";
import { Facts, Id } from "../../parts/facts";
import { Clock } from "../../parts/moment";
import { Notice, Problem, Shown } from "../../parts/notice";
import { say } from "../../parts/said";
import { Asking } from "./asking";
import { BlockCard } from "./block-card";
import type { Board } from "./board";
import { type Following, useEarlier, useFollowing } from "./following";
import { Goes } from "./goes";
import { nameOf } from "./kinds";
import { linkToDocument } from "./links";
import { isNotServed } from "./not-served";
import { bodyOf, Prose } from "./prose";
import { Resume } from "./resume";
import { Status } from "./sign";
import { isOver, wordOfRun } from "./states";

const MOST_GOES = 25;
/** Of so many earlier goes the outputs are shown too. */
const MOST_EARLIER = 5;

export function RunPage({ id }: { id: string }): VNode {
  const path = `/api/runbooks/runs/${encodeURIComponent(id)}`;
  const [isLive, setIsLive] = useState(true);
  const run = useLoaded<RunbookRunView>(path, {}, { every: isLive ? 5_000 : 0 });
  useEffect(() => setIsLive(!run.value || !isOver(run.value.state)), [run.value]);
  const following = useFollowing(id, useSoon(run.again));
  if (isNotServed(run.problem) && !run.value)
    return (
      <>
        <h1>Runbooks</h1>
        <p>There is no such run of a runbook.</p>
      </>
    );
  return (
    <>
      {!run.value && <h1>Run of a runbook</h1>}
      <Shown of={run}>{(value) => <Run run={value} loaded={run} following={following} />}</Shown>
    </>
  );
}

interface Props {
  readonly run: RunbookRunView;
  readonly loaded: Loaded<RunbookRunView>;
  readonly following: Following;
}

function Run({ run, loaded, following: { board, problem } }: Props): VNode {
  const goes = useLoaded<{ items: readonly RunRowView[] }>("/api/agent/runs", {
    threadId: run.threadId,
    limit: MOST_GOES,
  });
  const all = goes.value?.items ?? null;
  const earlier = useEarlier(all ? before(all, run.runId) : []);
  const found = useLoaded<DocumentView>(run.path ? "/api/runbooks/documents" : null, { path: run.path });
  const document = found.value?.digest === run.digest ? found.value : null;
  const isLast = !all || all[0]?.runId === run.runId;
  const named = (blockId: string) => {
    const block = run.blocks.find((each) => each.id === blockId);
    return block ? visible(nameOf(block)) : "this runbook";
  };
  useTold(run);
  return (
    <>
      <Head run={run} onStopped={loaded.again} />
      {problem !== null && !isOver(run.state) && (
        <Notice tone="warn">What happens is not heard at present. It is tried again.</Notice>
      )}
      <Asking runId={run.runId} questions={run.approvals} nameOf={named} onAnswered={loaded.again} />
      {isOver(run.state) && <Ending run={run} />}
      {isOver(run.state) && run.state !== "completed" && isLast && <Resume run={run} document={document} />}
      {found.value && !document && (
        <p class="faint">The document has changed since. These are the blocks that ran.</p>
      )}
      <Blocks run={run} document={document} board={board} earlier={earlier} />
      {all && all.length > 1 && <Goes all={all} present={run} />}
    </>
  );
}

function Head({ run, onStopped }: { run: RunbookRunView; onStopped: () => void }): VNode {
  const deed = useDeed();
  const stop = async () => {
    const isDone = await deed.run(() => door.post(`/api/agent/runs/${encodeURIComponent(run.runId)}/cancel`));
    if (isDone) say("Cancelled.");
    onStopped();
  };
  return (
    <>
      <div class="row ends">
        <h1 dir="auto">{visible(run.name) || "Run of a runbook"}</h1>
        {!isOver(run.state) && (
          <button type="button" class="danger" disabled={deed.isBusy} onClick={() => void stop()}>
            Cancel the run
          </button>
        )}
      </div>
      <Problem of={deed.problem} />
      <Facts
        of={[
          ["State", <Status word={wordOfRun(run.state, run.approvals.length)} />],
          ["Document", run.path && <a href={linkToDocument(run.path)}>{visible(run.path)}</a>],
          ["Begun", <Clock at={run.createdAt} />],
          ["Trust", run.trusted ? "as it stood" : "asks about each block"],
          ["Run", <Id of={run.runId} />],
        ]}
      />
    </>
  );
}

function Ending({ run }: { run: RunbookRunView }): VNode {
  if (run.state === "completed") return <Notice tone="good">{run.summary || "It ran to its end."}</Notice>;
  return (
    <Notice tone="bad">
      <span>{run.state === "cancelled" ? "It was cancelled." : `It stopped: ${run.error || run.code}`}</span>
    </Notice>
  );
}

/** The document with what has become of its blocks; only these where the document has changed since. */
function Blocks(props: {
  run: RunbookRunView;
  document: DocumentView | null;
  board: Board;
  earlier: Board;
}): VNode {
  const { run, document, board, earlier } = props;
  const progress = new Map(run.blocks.map((block) => [block.id, block]));
  return (
    <section class="stack block-list" aria-labelledby="blocks">
      <h2 id="blocks" class="unseen">
        Blocks
      </h2>
      {(document ? bodyOf(document) : run.blocks).map((block) => {
        const going = progress.get(block.id);
        const written = "props" in block ? block : undefined;
        if (!going) return written && <Prose key={block.id} block={written} />;
        const place = board.places.get(block.id) ?? earlier.places.get(block.id);
        return (
          <BlockCard key={block.id} block={block} written={written} going={{ progress: going, place }} />
        );
      })}
    </section>
  );
}

/** Earlier goes at the document, oldest first. The list has the newest first. */
function before(all: readonly RunRowView[], id: string): string[] {
  const at = all.findIndex((go) => go.runId === id);
  return all
    .slice(at < 0 ? all.length : at + 1, at + 1 + MOST_EARLIER)
    .map((go) => go.runId)
    .reverse();
}

const SOON_MS = 150;

/** The same, but once for many calls that come together. */
function useSoon(call: () => void): () => void {
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      call();
    }, SOON_MS);
  };
}

/** Say what happens, for those who do not see it. */
function useTold(run: RunbookRunView): void {
  const former = useRef(run);
  useEffect(() => {
    const asked = former.current.approvals.map((question) => question.id);
    if (run.approvals.some((question) => !asked.includes(question.id))) say("The run waits for you.");
    else if (isOver(run.state) && !isOver(former.current.state))
      say(`The run: ${wordOfRun(run.state).text}.`);
    former.current = run;
  }, [run]);
}
