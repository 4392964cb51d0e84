/** The approvals inbox: what waits for a person, live, and what became of what was answered here. */

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useRegularly } from "../../loading";
import { Empty, Notice, Problem } from "../../parts/notice";
import { type Place, replaceBy } from "../../place";
import { fateOf, latestOf, useFates } from "./answers";
import type { Fate } from "./fate";
import { isOpen, isUnderWay } from "./fate";
import { Help } from "./help";
import { usePageKeys } from "./keys";
import type { Question } from "./question";
import { type Queue, useQueue } from "./queue";
import { Row } from "./row";
import { ApproveSeveral, RejectSeveral } from "./several";
import { SeveralBar } from "./several-bar";

/** How long what became of a question is shown at least. */
const LINGERS_MS = 20_000;

type Asked =
  | { readonly what: "approve" | "reject"; readonly questions: readonly Question[] }
  | { what: "help" };

export function Approvals({ place }: { place: Place }): VNode {
  const queue = useQueue();
  const fates = useFates();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asked, setAsked] = useState<Asked | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const opened = openedOf(queue.questions, place.id);
  const open = queue.questions.filter((question) => isOpen(fates.get(latestOf(question).id)));
  const selected = open.filter(({ id }) => chosen.has(id));

  useFound(queue, place.id, opened);
  useCleared(queue, list);
  useMoves(list, () => setAsked({ what: "help" }));

  const select = (ids: readonly string[], isSelected: boolean) => {
    const next = new Set(chosen);
    for (const id of ids) isSelected ? next.add(id) : next.delete(id);
    setChosen(next);
  };
  const answered = (fate: Fate) => {
    // The address follows the question that took its place.
    if (fate.step === "replaced" && fate.by) replaceBy("approvals", fate.by.id);
  };
  const close = () => setAsked(null);
  const done = () => {
    setChosen(new Set());
    setAsked(null);
  };

  return (
    <>
      <div class="row ends">
        <h1>Approvals</h1>
        <button type="button" class="keys-button" onClick={() => setAsked({ what: "help" })}>
          Keys <kbd>?</kbd>
        </button>
      </div>
      <p class="lead">What the agent may not do without you. Nothing of it happens until you say so.</p>
      <Problem of={queue.problem} />
      {!queue.isRead && !queue.problem && (
        <p class="empty" aria-busy="true">
          Loading…
        </p>
      )}
      {place.id && !opened && queue.isRead && !queue.hasOlder && (
        <Notice tone="warn">
          That question does not wait any more: it was answered, withdrawn, or ran out.
        </Notice>
      )}
      {queue.questions.length > 0 && (
        <SeveralBar
          {...{ open, selected }}
          onSelectAll={(isSelected) =>
            select(
              open.map(({ id }) => id),
              isSelected,
            )
          }
          onAsk={(what) => setAsked({ what, questions: selected.map((each) => latestOf(each)) })}
          onOlder={queue.hasOlder ? queue.showOlder : null}
        />
      )}
      {queue.isRead && queue.questions.length === 0 && (
        <Empty>
          Nothing waits for you. When the agent wants to do something that needs your word, it is asked here.
        </Empty>
      )}
      <ul class="asks" ref={list}>
        {queue.questions.map((question) => (
          <Row
            key={question.id}
            question={question}
            isOpened={question === opened}
            isSelected={chosen.has(question.id)}
            onOpen={(isOpened) => replaceBy("approvals", isOpened ? latestOf(question).id : "")}
            onSelect={(isSelected) => select([question.id], isSelected)}
            onAnswered={answered}
          />
        ))}
      </ul>
      {asked?.what === "help" && <Help onClose={close} />}
      {asked?.what === "approve" && <ApproveSeveral {...asked} onClose={close} onDone={done} />}
      {asked?.what === "reject" && <RejectSeveral {...asked} onClose={close} onDone={done} />}
    </>
  );
}

function openedOf(questions: readonly Question[], id: string): Question | undefined {
  if (!id) return undefined;
  return questions.find((question) => question.id === id || latestOf(question).id === id);
}

/** Look for what the address names among older ones; and where there is but one question, open it. */
function useFound(queue: Queue, id: string, opened: Question | undefined): void {
  const wasRead = useRef(false);
  useEffect(() => {
    if (!queue.isRead) return;
    if (id && !opened && queue.hasOlder) queue.showOlder();
    const [only, ...others] = queue.questions;
    if (!wasRead.current && !id && only && others.length === 0) replaceBy("approvals", only.id);
    wasRead.current = true;
  }, [queue.isRead, queue.questions, id]);
}

/** What has had its answer goes after a while, but never while somebody is about in the list: it would move. */
function useCleared(queue: Queue, list: { readonly current: HTMLUListElement | null }): void {
  const since = useRef(new Map<string, number>());
  useRegularly(() => {
    const now = Date.now();
    const over = queue.questions.filter((question) => {
      const fate = fateOf(latestOf(question).id);
      return !isOpen(fate) && !isUnderWay(fate);
    });
    for (const { id } of over) if (!since.current.has(id)) since.current.set(id, now);
    const isAbout = list.current?.matches(":hover, :focus-within");
    const old = over.filter(({ id }) => now - (since.current.get(id) ?? now) > LINGERS_MS);
    if (!isAbout && old.length > 0) queue.drop(new Set(old.map(({ id }) => id)));
  }, 1_000);
}

/** From one question to the next by key. */
function useMoves(list: { readonly current: HTMLUListElement | null }, onHelp: () => void): void {
  usePageKeys((key, event) => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>("[data-question]") ?? [])];
    const at = rows.findIndex((row) => row.closest("li")?.contains(document.activeElement));
    const isOnRow = document.activeElement === rows[at];
    const step =
      key === "j" || (key === "ArrowDown" && isOnRow)
        ? 1
        : key === "k" || (key === "ArrowUp" && isOnRow)
          ? -1
          : 0;
    if (step !== 0) {
      event.preventDefault();
      const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step;
      rows[next]?.focus();
    } else if (key === "x") {
      rows[at]
        ?.closest("li")
        ?.querySelector<HTMLInputElement>("input[type=checkbox]:not(:disabled)")
        ?.click();
    } else if (key === "?") {
      onHelp();
    }
  });
}
