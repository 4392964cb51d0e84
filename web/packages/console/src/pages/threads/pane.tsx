/** One conversation: its title, what was said and done, and where to write. Files may be dropped anywhere on it. */

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isStopped, Refusal } from "../../door";
import { useDeed, useRegularly } from "../../loading";
import { Notice, Problem } from "../../parts/notice";
import { useSignal } from "../../parts/signal";
import { linkTo, replaceBy } from "../../place";
import { Composer } from "./composer";
import { draftOf, keepDraft, NEW } from "./draft";
import { type Picked, picked } from "./files";
import { Log } from "./log";
import { Manage } from "./manage";
import { Busy } from "./refused";
import type { Talk } from "./talk";
import { Welcome } from "./welcome";

interface Props {
  readonly talk: Talk;
  readonly profiles: readonly string[];
  readonly isNewcomer: boolean;
  readonly onChanged: () => void;
  readonly onErased: () => void;
}

const LOOK_MS = 3_000;

export function Pane({ talk, profiles, isNewcomer, onChanged, onErased }: Props): VNode {
  const state = useSignal(talk.state);
  const field = useRef<HTMLTextAreaElement>(null);
  const [draft, setDraft] = useDraft(talk);
  const [files, setFiles] = useState<readonly Picked[]>([]);
  const [refused, setRefused] = useState<readonly string[]>([]);
  const [chosen, setChosen] = useState("");
  const last = state.stories.at(-1)?.profile ?? "";
  const profile = chosen || (profiles.includes(last) ? last : "");
  const stopping = useDeed();
  useRegularly(() => void talk.look(), LOOK_MS);
  const endings = state.stories.filter(({ ending }) => ending).length;
  useEffect(() => {
    if (state.stories.length > 0) onChanged();
  }, [endings, state.stories.length]);

  const add = (given: readonly File[]) => {
    const { all, refused } = picked(files, given);
    setFiles(all);
    setRefused(refused);
    field.current?.focus();
  };
  const send = async (text: string, supersede = false) => {
    if (!text.trim() || state.isSending) return;
    const isNew = talk.threadId === null;
    field.current?.focus();
    if (!(await talk.send({ text, files, profile, supersede }))) return;
    // Whatever was typed while it was on its way stays.
    const typed = field.current?.value ?? "";
    setDraft(typed.startsWith(text) ? typed.slice(text.length).trimStart() : typed, isNew ? NEW : undefined);
    setFiles([]);
    setRefused([]);
    if (isNew && talk.threadId) replaceBy("threads", talk.threadId);
  };
  const open = state.stories.findLast(({ ending }) => !ending);
  const isGone = state.problem instanceof Refusal && state.problem.status === 404;
  const isBusy = state.refusal instanceof Refusal && state.refusal.code === "thread_busy";
  if (isGone)
    return (
      <section class="talk">
        <Notice tone="warn">
          There is no such conversation. It may have been erased.
          <a href={linkTo("threads")}>All conversations</a>
        </Notice>
      </section>
    );
  return (
    <section
      class="talk"
      aria-label="Conversation"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        add([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      {state.thread && (
        <Manage
          thread={state.thread}
          onRenamed={(thread) => {
            talk.rename(thread);
            onChanged();
          }}
          onErased={onErased}
        />
      )}
      <Problem of={state.problem} again={() => void talk.look()} />
      {talk.threadId === null && state.stories.length === 0 ? (
        <Welcome isNewcomer={isNewcomer} onTry={(text) => void send(text)} />
      ) : (
        <Log talk={talk} state={state} />
      )}
      <div class="below">
        {state.isLost && <Notice tone="warn">The connection broke. Trying again…</Notice>}
        <Problem of={stopping.problem} />
        {isBusy ? (
          <Busy
            of={state.refusal as Refusal}
            onSupersede={() => void send(draft, true)}
            onLeave={() => {
              talk.forgetRefusal();
              field.current?.focus();
            }}
          />
        ) : (
          !isStopped(state.refusal) && <Problem of={state.refusal} />
        )}
        <Composer
          {...{ draft, files, refused, field, add }}
          isSending={state.isSending}
          {...{ profiles, profile }}
          onProfile={setChosen}
          onDraft={setDraft}
          onRemove={(gone) => {
            setFiles(files.filter(({ id }) => id !== gone));
            field.current?.focus();
          }}
          onSend={() => void send(draft)}
          {...(open && {
            isStopping: open.isStopping || stopping.isBusy,
            onStop: () => {
              void stopping.run(() => talk.stop(open.runId));
              field.current?.focus();
            },
          })}
        />
      </div>
    </section>
  );
}

/** What is written and not yet sent, kept for when somebody comes back. */
function useDraft(talk: Talk): [string, (text: string, threadId?: string) => void] {
  const [text, setText] = useState(() => draftOf(talk.threadId ?? NEW));
  const change = (next: string, threadId = talk.threadId ?? NEW) => {
    setText(next);
    keepDraft(threadId, next);
  };
  return [text, change];
}
