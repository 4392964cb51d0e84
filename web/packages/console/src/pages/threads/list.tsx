/** All conversations, the one that changed last first. */

import type { ThreadView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { inbox } from "../../inbox";
import type { Listed } from "../../loading";
import { Badge } from "../../parts/badge";
import { Moment } from "../../parts/moment";
import { Empty, More, Shown } from "../../parts/notice";
import { useSignal } from "../../parts/signal";
import { linkTo } from "../../place";

interface Props {
  readonly threads: Listed<ThreadView>;
  readonly current: string | null;
}

/** Fewer than these are seen at a glance. */
const WORTH_SEARCHING = 6;

export function ThreadList({ threads, current }: Props): VNode {
  const [sought, setSought] = useState("");
  const items = threads.value ?? [];
  const isSearched = sought !== "" || items.length >= WORTH_SEARCHING;
  return (
    <div class="thread-rows">
      {isSearched && (
        <input
          type="search"
          aria-label="Search by title"
          placeholder="Search by title"
          value={sought}
          onInput={({ currentTarget }) => setSought(currentTarget.value)}
        />
      )}
      {/* That the server is gone is said above; what was read stays. */}
      <Shown of={{ ...threads, problem: threads.value ? null : threads.problem }}>
        {(all) => {
          const found = all.filter(({ title }) => fits(title, sought));
          if (all.length === 0) return <Empty>None yet. The first one begins with what you write.</Empty>;
          if (found.length === 0)
            return (
              <Empty>
                None of the {all.length} shown here has “{sought}” in its title.
              </Empty>
            );
          return (
            <ul>
              {found.map((thread) => (
                <Row key={thread.id} thread={thread} isCurrent={thread.id === current} />
              ))}
            </ul>
          );
        }}
      </Shown>
      <More {...threads} />
    </div>
  );
}

function Row({ thread, isCurrent }: { thread: ThreadView; isCurrent: boolean }): VNode {
  const { questions } = useSignal(inbox);
  const isAsking = questions.some(({ threadId }) => threadId === thread.id);
  return (
    <li>
      <a href={linkTo("threads", thread.id)} aria-current={isCurrent ? "true" : undefined}>
        <span class="title" dir="auto">
          {thread.title || "Untitled"}
        </span>
        <span class="when">
          <Moment at={thread.updatedAt} />
          {thread.openRun && <Badge state={isAsking ? "awaiting_confirmation" : "at work"} />}
        </span>
      </a>
    </li>
  );
}

function fits(title: string, sought: string): boolean {
  return title.toLocaleLowerCase().includes(sought.trim().toLocaleLowerCase());
}
