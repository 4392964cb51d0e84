/** One run: what it is, where its time went, and everything that happened in it. */

import type { RunView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refusal } from "../../door";
import { useLoaded } from "../../loading";
import { count, money, several } from "../../parts/amounts";
import { Badge } from "../../parts/badge";
import { CopyButton } from "../../parts/copy";
import { Facts } from "../../parts/facts";
import { Moment, span, useNow } from "../../parts/moment";
import { Notice, Problem } from "../../parts/notice";
import { say } from "../../parts/said";
import { linkTo } from "../../place";
import { Event } from "./event";
import { type Journal, useJournal } from "./journal";
import { Live } from "./live";
import { Overview } from "./overview";
import { Stop } from "./stop";
import { type Story, storyOf } from "./story";

const PAGE = 200;

export function Timeline({ id }: { id: string }): VNode {
  const journal = useJournal(id);
  const story = useMemo(() => storyOf(journal.facts), [journal.facts]);
  const run = useRun(id, journal);
  const now = useNow(journal.isOver ? 60_000 : 1_000);
  const isNowhere = journal.problem instanceof Refusal && journal.problem.status === 404;
  return (
    <>
      <p>
        <a href={linkTo("runs")}>All runs</a>
      </p>
      {isNowhere ? (
        <>
          <h1>No such run</h1>
          <p>There is none with this id, or what was said in it was erased.</p>
        </>
      ) : (
        <>
          <Head id={id} run={run} story={story} journal={journal} now={now} />
          <Overview story={story} now={now} />
          <Events journal={journal} story={story} />
        </>
      )}
    </>
  );
}

/** What the server says of the run, read again when something has happened in it. */
function useRun(id: string, journal: Journal): RunView | null {
  const run = useLoaded<RunView>(`/api/agent/runs/${encodeURIComponent(id)}`);
  const last = journal.facts.at(-1)?.seq ?? 0;
  const isFirst = useRef(true);
  const state = run.value?.state;
  useEffect(() => {
    if (last > 0) run.again();
  }, [last]);
  const said = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (!state) return;
    // Only what changes while somebody looks.
    if (!isFirst.current && said.current !== state) say(`The run is ${STATES[state] ?? state}.`);
    isFirst.current = false;
    said.current = state;
  }, [state]);
  return run.value;
}

const STATES: Readonly<Record<string, string>> = {
  awaiting_confirmation: "waiting for a person",
  executing: "at work",
};

interface HeadProps {
  readonly id: string;
  readonly run: RunView | null;
  readonly story: Story;
  readonly journal: Journal;
  readonly now: number;
}

function Head({ id, run, story, journal, now }: HeadProps): VNode {
  const isOpen = run !== null && !["completed", "failed", "cancelled"].includes(run.state);
  return (
    <>
      <div class="row ends">
        <h1 class="row">Run {run && <Badge state={run.state} refused={run.refused} />}</h1>
        <div class="row">
          <CopyButton text={id} what="the run’s id">
            Copy the id
          </CopyButton>
          {isOpen && <Stop id={id} />}
        </div>
      </div>
      {run && (
        <Facts
          of={[
            ["Model", run.model],
            ["Profile", run.profile],
            ["Tokens", run.usage.total ? count(run.usage.total) : "none"],
            ["Cost", run.usage.total ? money(run.cost) : ""],
            ["Began", <Moment key="began" at={run.createdAt} />],
            ["Took", story.began ? span((story.ended ?? now) - story.began) : ""],
            ["Why it failed", run.errorCode?.replaceAll("_", " ") ?? ""],
          ]}
        />
      )}
      {run && (
        <p class="row links">
          {run.profile === "runbook" ? (
            <a href={linkTo("runbooks", `runs/${id}`)}>Runbook</a>
          ) : (
            <a href={linkTo("threads", run.threadId)}>Conversation</a>
          )}
          <a href={linkTo("audit", "", { runId: id })}>Audit of this run</a>
          {run.approvals.map((approval) => (
            <a key={approval.id} href={linkTo("approvals", approval.id)}>
              {approval.tool} waits for you
            </a>
          ))}
        </p>
      )}
      {journal.problem !== null &&
        (journal.facts.length > 0 ? (
          <Notice tone="warn">The connection broke. It is tried again; what is here may be old.</Notice>
        ) : (
          <Problem of={journal.problem} />
        ))}
    </>
  );
}

/** The newest of them; the earlier ones when somebody asks. */
function Events({ journal, story }: { journal: Journal; story: Story }): VNode {
  const [shown, setShown] = useState(PAGE);
  const hidden = Math.max(0, story.entries.length - shown);
  if (story.entries.length === 0) {
    return (
      <p class="empty" aria-busy="true">
        {journal.problem === null ? "Loading…" : ""}
      </p>
    );
  }
  return (
    <section class="stack" aria-labelledby="happened">
      <h2 id="happened">What happened</h2>
      {hidden > 0 && (
        <button type="button" class="more" onClick={() => setShown(shown + PAGE)}>
          Show {Math.min(PAGE, hidden)} earlier of {several(hidden, "more event", "more events")}
        </button>
      )}
      {hidden === 0 && journal.leftOut > 0 && (
        <Notice>{several(journal.leftOut, "event")} after the first are too many to show here.</Notice>
      )}
      <ol class="events">
        {story.entries.slice(hidden).map((entry) => (
          <Event key={entry.seq} entry={entry} began={story.began} />
        ))}
        <Live journal={journal} story={story} />
      </ol>
    </section>
  );
}
