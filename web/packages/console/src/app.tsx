/** The frame around every page: who is signed in, the way to the pages, and the one that is shown. */

import type { SessionView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { door, Refusal } from "./door";
import { inbox, useInboxKept } from "./inbox";
import { Nav, told } from "./nav";
import { PAGES, pageNamed } from "./pages";
import { Boundary } from "./parts/boundary";
import { Empty, Notice, Problem } from "./parts/notice";
import { Remarks } from "./parts/said";
import { useSignal } from "./parts/signal";
import { linkTo, type Place, usePlace } from "./place";
import { SignIn } from "./sign-in";
import { unsure, useUnsureKept } from "./unsure";

type Who = SessionView | "nobody" | null;

export function App(): VNode {
  const [who, setWho] = useState<Who>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const look = () => {
    setProblem(null);
    door.session().then(setWho, (trouble: unknown) => {
      if (trouble instanceof Refusal && trouble.status === 401) setWho("nobody");
      else setProblem(trouble);
    });
  };
  useEffect(() => {
    look();
    return door.onSignedOut(() => setWho("nobody"));
  }, []);
  if (problem) {
    return (
      <main class="alone">
        <Problem of={problem} again={look} />
      </main>
    );
  }
  if (who === null)
    return (
      <main class="alone">
        <Empty>Loading…</Empty>
      </main>
    );
  if (who === "nobody") return <SignIn onSignedIn={setWho} />;
  return <Frame who={who} />;
}

function Frame({ who }: { who: SessionView }): VNode {
  useInboxKept();
  useUnsureKept();
  const place = usePlace();
  const { questions, hasMore, problem } = useSignal(inbox);
  const tally = { count: questions.length, hasMore };
  const waiting = told(tally);
  const lost = useSignal(unsure);
  const page = pageNamed(place.page);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const title = page?.title ?? "Nothing here";

  useEffect(() => {
    document.title = `${waiting && `(${waiting}) `}${title} · Pollux`;
  }, [title, waiting]);
  // Before anything can be pressed: a focus that comes later would take the place of the one that a person chose.
  useLayoutEffect(() => {
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [place.page]);

  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <Nav pages={PAGES} place={place} user={who.user} counts={{ approvals: tally, unknown: lost }} />
      <main id="main" ref={main} tabIndex={-1}>
        {problem instanceof Refusal && problem.code === "unreachable" && (
          <Notice tone="warn">The server cannot be reached. What is shown may be old.</Notice>
        )}
        <Boundary key={place.page}>{page ? <page.View place={place} /> : <Nowhere place={place} />}</Boundary>
      </main>
      <Remarks />
    </div>
  );
}

function Nowhere({ place }: { place: Place }): VNode {
  return (
    <>
      <h1>Nothing here</h1>
      <p>
        There is no page “{place.page}”. Go to <a href={linkTo("threads")}>the conversations</a>.
      </p>
    </>
  );
}
