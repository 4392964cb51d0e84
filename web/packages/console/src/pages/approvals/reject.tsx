/** A no, and why. The agent is told, and may do better. */

import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useBegun } from "./begun";

const LONGEST = 10_000;

interface Props {
  /** What is rejected: what was written stays with it. */
  readonly of: string;
  readonly onReject: (feedback: string) => void;
  readonly onLeft: () => void;
  readonly label?: string;
}

export function RejectForm({ of: name, onReject, onLeft, label = "Reject" }: Props): VNode {
  const { value: feedback, put: setFeedback, forget } = useBegun(`reject ${name}`, () => "");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    forget();
    onReject(feedback.trim());
  };
  return (
    <form class="answer stack" aria-label="Reject" onSubmit={submit}>
      <label class="field">
        Why not? The agent reads it. You may leave it empty.
        <textarea
          ref={field}
          dir="auto"
          rows={2}
          maxLength={LONGEST}
          value={feedback}
          onInput={({ currentTarget }) => setFeedback(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing)
              submit(event);
          }}
        />
      </label>
      <div class="row">
        <button type="submit" class="danger">
          {label}
        </button>
        <button type="button" onClick={onLeft}>
          Do not answer yet
        </button>
      </div>
    </form>
  );
}
