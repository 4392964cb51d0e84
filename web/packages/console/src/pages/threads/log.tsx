/** What was said and done: the messages from before, and the runs since. */

import type { AttachmentView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { Empty } from "../../parts/notice";
import { type Entry, entriesOf } from "./history";
import { Said } from "./said";
import { Scrolled } from "./scrolled";
import { Steps } from "./steps";
import { isResting, type Story } from "./story";
import type { Talk, TalkState } from "./talk";
import { Told } from "./told";

export function Log({ talk, state }: { talk: Talk; state: TalkState }): VNode {
  const { past, stories, isLoaded } = state;
  const head = stories[0]?.head ?? null;
  const entries = useMemo(
    () => entriesOf(head === null ? past.messages : past.messages.filter(({ number }) => number <= head)),
    [past.messages, head],
  );
  const isBusy = stories.some((story) => !story.ending && !isResting(story));
  const threadId = talk.threadId ?? "";
  return (
    <Scrolled
      isBusy={isBusy}
      grown={`${stories.map(({ seq, turns }) => `${seq} ${turns.at(-1)?.length} ${turns.at(-1)?.thoughtLength}`)}`}
      top={entries[0]?.number ?? 0}
      own={state.own}
    >
      {!isLoaded && stories.length === 0 && !state.problem && <Empty>Loading…</Empty>}
      {isLoaded && past.next && (
        <button type="button" class="more" onClick={() => void talk.earlier()}>
          Show earlier
        </button>
      )}
      {isLoaded && entries.length === 0 && stories.length === 0 && <Empty>Nothing was said here yet.</Empty>}
      {entries.map((entry) => (
        <PastEntry key={entry.number} entry={entry} threadId={threadId} />
      ))}
      {stories.map((story) => (
        <Told
          key={story.runId}
          {...{ story, threadId }}
          run={state.ended[story.runId]}
          files={filesIn(story, state)}
          onAnswered={() => talk.goOn(story.runId)}
        />
      ))}
    </Scrolled>
  );
}

function PastEntry({ entry, threadId }: { entry: Entry; threadId: string }): VNode {
  const { kind, text, steps, files } = entry;
  return useMemo(
    () => (
      <>
        {(text || files.length > 0) && <Said {...{ kind, text, files, threadId }} />}
        <Steps steps={steps} />
      </>
    ),
    [entry, threadId],
  );
}

/** The files of a prompt, as the messages name them, or as the run does until those are read. */
function filesIn({ head, files }: Story, { past }: TalkState): readonly AttachmentView[] {
  if (files.length === 0 || head === null) return [];
  const message = past.messages.find(({ number }) => number === head + 1);
  if (message) return message.attachments;
  return files.map(({ name, mimeType }) => ({ id: "", name, mimeType, size: null }));
}
