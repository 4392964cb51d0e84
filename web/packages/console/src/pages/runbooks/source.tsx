/** A document's text, to be read, and changed where the server allows it. What was typed is never thrown away. */

import type { DocumentView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { door, Refusal } from "../../door";
import { useDeed } from "../../loading";
import { Pre } from "../../parts/arguments";
import { Notice, Problem } from "../../parts/notice";
import { say } from "../../parts/said";

interface Props {
  readonly document: DocumentView;
  readonly onSaved: (document: DocumentView) => void;
  readonly onReload: () => void;
}

/** Unsaved texts by path, with the one that each was begun from, as long as this page is open. */
const drafts = new Map<string, { text: string; from: string }>();

export function Source({ document, onSaved, onReload }: Props): VNode {
  const { path, source, digest, editable } = document;
  const [draft, setDraft] = useState(drafts.get(path) ?? null);
  const deed = useDeed();
  const keep = (next: { text: string; from: string } | null) => {
    if (next) drafts.set(path, next);
    else drafts.delete(path);
    setDraft(next);
  };
  if (!editable) return <Pre text={source} label="Source" />;
  const text = draft?.text ?? source;
  const isContested = draft !== null && draft.from !== source;
  const undo = () => {
    deed.forget();
    keep(null);
  };
  const reload = () => {
    deed.forget();
    onReload();
  };
  const save = async () => {
    const isDone = await deed.run(async () => {
      const query = new URLSearchParams({ path });
      onSaved(await door.put<DocumentView>(`/api/runbooks/documents?${query}`, { source: text, digest }));
    });
    if (!isDone) return;
    keep(null);
    say("Saved.");
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label class="field">
        Source
        <textarea
          class="mono source-text"
          spellcheck={false}
          dir="ltr"
          rows={24}
          value={text}
          onInput={({ currentTarget: { value } }) =>
            keep(value === source ? null : { text: value, from: draft?.from ?? source })
          }
        />
      </label>
      {isContested && (
        <Notice tone="warn">
          <span>Somebody changed it meanwhile. Yours is above; saving it replaces theirs.</span>
          <details>
            <summary>Theirs</summary>
            <Pre text={source} label="Source as it stands now" />
          </details>
        </Notice>
      )}
      <Changed problem={deed.problem} onReload={reload} />
      <div class="row">
        <button type="submit" class="primary" disabled={deed.isBusy || draft === null}>
          Save
        </button>
        {draft && (
          <button type="button" onClick={undo}>
            Undo all
          </button>
        )}
      </div>
    </form>
  );
}

/** Why it was not saved. Where somebody was faster: theirs can be read, and nothing that was typed is lost. */
export function Changed({ problem, onReload }: { problem: unknown; onReload: () => void }): VNode {
  if (!(problem instanceof Refusal && problem.code === "document_changed")) return <Problem of={problem} />;
  return (
    <Notice tone="warn">
      <span>Not saved: somebody changed the document meanwhile. What you typed stays.</span>
      <button type="button" onClick={onReload}>
        Read theirs
      </button>
    </Notice>
  );
}
