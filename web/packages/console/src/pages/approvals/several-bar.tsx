/** The way to several answers at once. It is there with the first question: were it to come later, all would move. */

import type { VNode } from "preact";
import type { Question } from "./question";

interface Props {
  readonly open: readonly Question[];
  readonly selected: readonly Question[];
  readonly onSelectAll: (isSelected: boolean) => void;
  readonly onAsk: (what: "approve" | "reject") => void;
  /** Shows older questions, where there are any. */
  readonly onOlder: (() => void) | null;
}

export function SeveralBar({ open, selected, onSelectAll, onAsk, onOlder }: Props): VNode {
  const isSome = selected.length > 0;
  const count = isSome ? ` ${selected.length}` : "";
  return (
    <div class={isSome ? "several chosen" : "several"}>
      <label class="check">
        <input
          type="checkbox"
          checked={isSome && selected.length === open.length}
          disabled={open.length === 0}
          ref={(box) => {
            if (box) box.indeterminate = isSome && selected.length < open.length;
          }}
          onChange={({ currentTarget }) => onSelectAll(currentTarget.checked)}
        />
        {labelFor(open.length)}
      </label>
      <span class="row">
        {onOlder && (
          <button type="button" onClick={onOlder}>
            Show older ones
          </button>
        )}
        <button type="button" class="primary" disabled={!isSome} onClick={() => onAsk("approve")}>
          Approve{count}…
        </button>
        <button type="button" class="danger" disabled={!isSome} onClick={() => onAsk("reject")}>
          Reject{count}…
        </button>
      </span>
    </div>
  );
}

function labelFor(count: number): string {
  if (count === 0) return "All that is shown has its answer";
  return count === 1 ? "Select the one that is shown" : `Select all ${count} that are shown`;
}
