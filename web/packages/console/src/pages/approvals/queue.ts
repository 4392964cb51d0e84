/** The questions as the page has them: in the order in which they came. New ones come last, so that nothing moves under
a pointer; what was answered keeps its place for a while. */

import type { PendingPage, PendingView } from "@pollux/protocol";
import { useEffect, useState } from "preact/hooks";
import { door, Refusal } from "../../door";
import { inbox } from "../../inbox";
import { say } from "../../parts/said";
import { useSignal } from "../../parts/signal";
import { fateOf, latestOf, lookUp } from "./answers";
import { isOpen } from "./fate";
import { type Question, titleOf } from "./question";

const PAGE = 25;

/** What is shown once these wait, newest first. What is there stays where it is. */
export function merged(
  shown: readonly Question[],
  waiting: readonly PendingView[],
  latest: (question: Question) => Question = latestOf,
): readonly Question[] {
  const known = new Set(shown.flatMap((question) => [question.id, latest(question).id]));
  const fresh = waiting.filter(({ id }) => !known.has(id) && isOpen(fateOf(id))).reverse();
  return fresh.length > 0 ? [...shown, ...fresh] : shown;
}

/** Those that should be among the waiting and are not. Older ones than the inbox reaches back to may be. */
export function gone(
  shown: readonly Question[],
  waiting: readonly PendingView[],
  hasMore: boolean,
): readonly Question[] {
  const ids = new Set(waiting.map(({ id }) => id));
  const reach = hasMore ? (waiting.at(-1)?.createdAt ?? "") : "";
  return shown.filter(({ id, createdAt = "" }) => !ids.has(id) && createdAt >= reach);
}

export interface Queue {
  readonly questions: readonly Question[];
  readonly isRead: boolean;
  readonly problem: unknown;
  /** Whether older ones wait that are not shown. */
  readonly hasOlder: boolean;
  readonly showOlder: () => void;
  /** Show these no longer. */
  readonly drop: (ids: ReadonlySet<string>) => void;
}

export function useQueue(): Queue {
  const { questions: waiting, hasMore, isRead, problem } = useSignal(inbox);
  const [shown, setShown] = useState<readonly Question[]>(() => merged([], waiting));
  const [older, setOlder] = useState<{ next: string | null } | null>(null);
  const [trouble, setTrouble] = useState<unknown>(null);
  /** Whether what was read is among what is shown: until then nobody can say that there is nothing. */
  const [isShown, setIsShown] = useState(isRead);

  useEffect(() => {
    if (!isRead) return;
    const next = merged(shown, waiting);
    if (next !== shown) setShown(next);
    if (isShown) announce(next.slice(shown.length));
    setIsShown(true);
    for (const question of gone(
      next.map((each) => latestOf(each)),
      waiting,
      hasMore,
    ))
      void lookUp(question);
  }, [waiting, hasMore, isRead]);

  const showOlder = () => {
    const before = older ? older.next : waiting.at(-1)?.id;
    if (!before) return;
    door
      .get<PendingPage>("/api/agent/approvals/pending", { limit: PAGE, before })
      .then(({ items, next }) => {
        setTrouble(null);
        setOlder({ next: next ?? null });
        setShown((now) => {
          const known = new Set(now.map(({ id }) => id));
          return [...items.filter(({ id }) => !known.has(id)).reverse(), ...now];
        });
      })
      .catch(setTrouble);
  };
  return {
    ...{ isRead: isShown, showOlder, questions: shown, problem: trouble ?? told(problem) },
    hasOlder: older ? older.next !== null : hasMore,
    drop: (ids) => setShown((now) => now.filter(({ id }) => !ids.has(id))),
  };
}

/** That the server cannot be reached stands above every page already. */
function told(problem: unknown): unknown {
  return problem instanceof Refusal && problem.code === "unreachable" ? null : problem;
}

function announce(fresh: readonly Question[]): void {
  const [first] = fresh;
  if (!first) return;
  say(
    fresh.length === 1
      ? `A new question waits for you: ${titleOf(first)}`
      : `${fresh.length} new questions wait.`,
  );
}
