/** What an agent block is told: whom it asks, what, with which rights, how long and where. */

import type { BlockView, DocumentView, RunbookSettings } from "@pollux/protocol";
import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { door } from "../../../door";
import { useDeed } from "../../../loading";
import { Notice } from "../../../parts/notice";
import { say } from "../../../parts/said";
import { nameOf } from "../kinds";
import { Changed } from "../source";
import { namesFor } from "./completion";
import {
  type Changes,
  changed,
  contested,
  type Draft,
  draftOf,
  FIELD_NAMES,
  type Field,
  faultsOf,
  pending,
  propsOf,
  shownOf,
} from "./draft";
import { PromptField } from "./prompt-field";
import { Rights } from "./rights";
import { SourceFields } from "./source-fields";

interface Props {
  readonly document: DocumentView;
  readonly block: BlockView;
  readonly settings: RunbookSettings;
  readonly onSaved: (document: DocumentView) => void;
  readonly onReload: () => void;
  readonly onClose: () => void;
}

export type Put = <F extends Field>(field: F, value: Draft[F]) => void;

/** What was typed and not saved, by document and block, as long as this page is open. */
const typed = new Map<string, Changes>();

export function AgentPanel({ document, block, settings, onSaved, onReload, onClose }: Props): VNode {
  const key = `${document.path} ${block.id}`;
  const [changes, setChanges] = useState<Changes>(typed.get(key) ?? {});
  const deed = useDeed();
  const form = useRef<HTMLFormElement>(null);
  // With the form itself, as in an approval: a fast typist is in another field already when the next frame is painted.
  useLayoutEffect(() => form.current?.querySelector("input")?.focus(), []);
  const keep = (next: Changes) => {
    if (Object.keys(next).length > 0) typed.set(key, next);
    else typed.delete(key);
    setChanges(next);
  };
  const base = draftOf(block, settings.agents);
  const ours = pending(base, changes);
  const draft = shownOf(base, ours);
  const put: Put = (field, value) => keep(changed(base, ours, field, value));
  const isChanged = Object.keys(ours).length > 0;
  const faults = faultsOf(draft);
  const theirs = contested(base, ours);
  const undo = () => {
    deed.forget();
    keep({});
  };
  const reload = () => {
    deed.forget();
    onReload();
  };
  const save = async () => {
    const isDone = await deed.run(async () => {
      const query = new URLSearchParams({ path: document.path });
      const path = `/api/runbooks/documents/blocks/${encodeURIComponent(block.id)}?${query}`;
      const props = propsOf(block, base, draft);
      onSaved(await door.patch<DocumentView>(path, { props, digest: document.digest }));
    });
    if (!isDone) return;
    keep({});
    say("Saved.");
  };
  const name = nameOf(block);
  return (
    <form
      ref={form}
      class="stack agent-panel"
      aria-label={`Configuration of ${name}`}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <fieldset class="stack bare" disabled={!document.editable}>
        <label class="field">
          Name
          <input
            type="text"
            value={draft.name}
            onInput={({ currentTarget }) => put("name", currentTarget.value)}
          />
        </label>
        <SourceFields draft={draft} put={put} settings={settings} />
        <PromptField
          label="Prompt"
          hint="Type {{ for the names of variables and of blocks before this one."
          value={draft.prompt}
          names={namesFor(document.blocks, block.id)}
          onInput={(value) => put("prompt", value)}
        />
        <PromptField
          label="System prompt"
          hint="How the agent should go about it. It may stay empty."
          value={draft.systemPrompt}
          names={namesFor(document.blocks, block.id)}
          onInput={(value) => put("systemPrompt", value)}
        />
        <Rights held={draft} onPut={put} />
        <div class="side-by-side">
          <label class="field">
            Time-out
            <input
              type="text"
              inputMode="numeric"
              value={draft.timeout}
              onInput={({ currentTarget }) => put("timeout", currentTarget.value)}
            />
            <small>In seconds. Empty: none.</small>
          </label>
          <label class="field">
            Working directory
            <input
              type="text"
              value={draft.directory}
              onInput={({ currentTarget }) => put("directory", currentTarget.value)}
            />
            <small>Empty: the document's own. Names in {"{{ }}"} are filled in.</small>
          </label>
        </div>
      </fieldset>
      {theirs.length > 0 && (
        <Notice tone="warn">
          Somebody changed this meanwhile too: {theirs.map((field) => FIELD_NAMES[field]).join(", ")}. Yours
          is shown; saving it replaces theirs.
        </Notice>
      )}
      {isChanged && faults.map((fault) => <Notice key={fault}>{fault}</Notice>)}
      <Changed problem={deed.problem} onReload={reload} />
      {document.editable ? (
        <div class="row">
          <button type="submit" class="primary" disabled={deed.isBusy || !isChanged || faults.length > 0}>
            Save {name}
          </button>
          {isChanged && (
            <button type="button" onClick={undo}>
              Undo all
            </button>
          )}
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      ) : (
        <p class="faint">Documents are not changed here: the server's operator has not allowed it.</p>
      )}
    </form>
  );
}
