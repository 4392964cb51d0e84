/** The title of a conversation, and what can be done with the whole of it: another title, and the end. */

import type { ThreadAnswer, ThreadView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { door } from "../../door";
import { useDeed } from "../../loading";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { Problem } from "../../parts/notice";
import { say } from "../../parts/said";

interface Props {
  readonly thread: ThreadView;
  readonly onRenamed: (thread: ThreadView) => void;
  readonly onErased: () => void;
}

export function Manage({ thread, onRenamed, onErased }: Props): VNode {
  const [asked, setAsked] = useState<"title" | "erase" | null>(null);
  const leave = () => setAsked(null);
  return (
    <header class="talk-head">
      <h2 dir="auto" title={thread.title}>
        {thread.title || "Untitled"}
      </h2>
      <button type="button" class="plain" title="Rename" onClick={() => setAsked("title")}>
        <Icon name="edit" />
        <span class="unseen">Rename</span>
      </button>
      <button type="button" class="plain" title="Erase" onClick={() => setAsked("erase")}>
        <Icon name="bin" />
        <span class="unseen">Erase</span>
      </button>
      {asked === "title" && <Rename {...{ thread, onRenamed, leave }} />}
      {asked === "erase" && <Erase {...{ thread, onErased, leave }} />}
    </header>
  );
}

type Asked<T> = T & { readonly thread: ThreadView; readonly leave: () => void };

function Rename({ thread, onRenamed, leave }: Asked<Pick<Props, "onRenamed">>): VNode {
  const [title, setTitle] = useState(thread.title);
  const deed = useDeed();
  const save = async (event: Event) => {
    event.preventDefault();
    let renamed = thread;
    const isDone = await deed.run(async () => {
      renamed = (await door.patch<ThreadAnswer>(pathOf(thread), { title: title.trim() })).thread;
    });
    if (!isDone) return;
    onRenamed(renamed);
    say("Renamed.");
    leave();
  };
  return (
    <Dialog title="Rename this conversation" onClose={leave}>
      <form class="stack" onSubmit={(event) => void save(event)}>
        <label class="field">
          Title
          <input
            required
            maxLength={200}
            dir="auto"
            value={title}
            onInput={({ currentTarget }) => setTitle(currentTarget.value)}
          />
        </label>
        <Problem of={deed.problem} />
        <div class="row">
          <button type="submit" class="primary" disabled={deed.isBusy || !title.trim()}>
            Save
          </button>
          <button type="button" onClick={leave}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Erase({ thread, onErased, leave }: Asked<Pick<Props, "onErased">>): VNode {
  const deed = useDeed();
  const erase = async () => {
    if (!(await deed.run(() => door.delete(pathOf(thread))))) return;
    say("Erased.");
    leave();
    onErased();
  };
  return (
    <Dialog title="Erase this conversation?" onClose={leave}>
      <p>
        What was said and done in <b dir="auto">{thread.title || "it"}</b> is gone for good, with its files.
        The audit keeps what was decided and done, without the words.
      </p>
      <Problem of={deed.problem} />
      <div class="row">
        <button type="button" class="danger" disabled={deed.isBusy} onClick={() => void erase()}>
          Erase
        </button>
        <button type="button" onClick={leave}>
          Keep it
        </button>
      </div>
    </Dialog>
  );
}

function pathOf({ id }: ThreadView): string {
  return `/api/agent/threads/${encodeURIComponent(id)}`;
}
