/** Conversations: the list of them, and beside it the one that is open or about to begin. */

import type { ThreadView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useListed } from "../../loading";
import { Icon } from "../../parts/icon";
import { goTo, linkTo, type Place } from "../../place";
import { NEW } from "./draft";
import { ThreadList } from "./list";
import { Pane } from "./pane";
import { useProfiles } from "./profile";
import { Talk } from "./talk";

export function Threads({ place }: { place: Place }): VNode {
  const wanted = place.id && place.id !== NEW ? place.id : null;
  const talk = useTalk(wanted);
  const threads = useListed<ThreadView>("/api/agent/threads", { limit: 30 }, { every: 4_000 });
  const profiles = useProfiles();
  const isEmpty = threads.value?.length === 0;
  // On a narrow screen there is room for one of the two.
  const isTalking = place.id !== "" || isEmpty;
  return (
    <div class={isTalking ? "threads talking" : "threads"}>
      <section class="thread-list" aria-label="All conversations">
        <header>
          <h1>
            <a href={linkTo("threads")}>
              <Icon name="right" />
              Conversations
            </a>
          </h1>
          <a class="button primary" href={linkTo("threads", NEW)}>
            <Icon name="plus" />
            New<span class="unseen"> conversation</span>
          </a>
        </header>
        <ThreadList threads={threads} current={wanted} />
      </section>
      <Pane
        key={talk.key}
        {...{ talk, profiles }}
        isNewcomer={isEmpty}
        onChanged={threads.again}
        onErased={() => {
          threads.again();
          goTo("threads");
        }}
      />
    </div>
  );
}

/** The conversation at this place. One that was begun here stays the same when it gets its own address. */
function useTalk(wanted: string | null): Talk {
  const held = useRef<{ talk: Talk; place: string | null } | null>(null);
  const isOurs = held.current && [held.current.place, held.current.talk.threadId].includes(wanted);
  if (!held.current || !isOurs) {
    held.current?.talk.close();
    held.current = { talk: new Talk(wanted), place: wanted };
  } else held.current.place = wanted;
  const { talk } = held.current;
  useEffect(() => void talk.open(), [talk]);
  useEffect(() => () => held.current?.talk.close(), []);
  return talk;
}
