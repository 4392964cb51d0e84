/** What a page says of itself: that something went wrong, that it waits, that there is nothing. */

import type { ComponentChildren, VNode } from "preact";
import { wordsOf } from "../door";
import type { Loaded } from "../loading";

type Tone = "info" | "good" | "warn" | "bad";

/** A remark. Trouble is read out at once, the rest when there is time. */
export function Notice({ tone = "info", children }: { tone?: Tone; children: ComponentChildren }): VNode {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      {children}
    </div>
  );
}

/** A problem in words, if there is one. */
export function Problem({ of: problem, again }: { of: unknown; again?: () => void }): VNode | null {
  if (problem === null || problem === undefined) return null;
  return (
    <Notice tone="bad">
      <span>{wordsOf(problem)}</span>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </Notice>
  );
}

export function Empty({ children }: { children: ComponentChildren }): VNode {
  return <p class="empty">{children}</p>;
}

/** What was read, once it was read; until then, or where it cannot be had, a word about that. */
export function Shown<T>({
  of: loaded,
  children,
}: {
  of: Loaded<T>;
  children: (value: T) => ComponentChildren;
}): VNode {
  return (
    <>
      <Problem of={loaded.problem} again={loaded.again} />
      {loaded.value !== null
        ? children(loaded.value)
        : !loaded.problem && (
            <p class="empty" aria-busy="true">
              Loading…
            </p>
          )}
    </>
  );
}

/** The way to the rest of a list. */
export function More({ hasMore, more }: { hasMore: boolean; more: () => void }): VNode | null {
  if (!hasMore) return null;
  return (
    <button type="button" class="more" onClick={more}>
      Show more
    </button>
  );
}
