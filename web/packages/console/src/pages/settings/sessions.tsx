/** The browsers in which the user is signed in, each of which can be signed out from here. */

import type { SessionItem } from "@pollux/protocol";
import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { door } from "../../door";
import { useDeed, useListed } from "../../loading";
import { Moment } from "../../parts/moment";
import { Problem, Shown } from "../../parts/notice";
import { say } from "../../parts/said";

const MADE_BY: Readonly<Record<SessionItem["madeBy"], string>> = {
  token: "a token",
  link: "a login link",
  jwt: "an identity provider",
};

export function Sessions(): VNode {
  const sessions = useListed<SessionItem>("/api/sessions", {}, { every: 30_000 });
  const deed = useDeed();
  const list = useRef<HTMLDivElement>(null);
  const revoke = async ({ id }: SessionItem) => {
    const isDone = await deed.run(() => door.delete(`/api/sessions/${encodeURIComponent(id)}`));
    // The button goes away with its row: the focus stays near.
    list.current?.focus();
    if (isDone) say("Session revoked. That browser is signed out.");
    sessions.again();
  };
  return (
    <section class="stack" aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      <p class="faint">Browsers where you are signed in. Revoke a session to sign that browser out.</p>
      <Problem of={deed.problem} />
      <Shown of={sessions}>
        {(items) => (
          <div class="scroll" ref={list} tabIndex={-1}>
            <table class="list">
              <thead>
                <tr>
                  <th scope="col">Signed in with</th>
                  <th scope="col">Since</th>
                  <th scope="col">Expires</th>
                  <th scope="col">
                    <span class="unseen">Revoke</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((session) => (
                  <tr key={session.id}>
                    <th scope="row">{MADE_BY[session.madeBy]}</th>
                    <td>
                      <Moment at={session.createdAt} />
                    </td>
                    <td>
                      <Moment at={session.expiresAt} />
                    </td>
                    <td>
                      {session.current ? (
                        "This browser"
                      ) : (
                        <button
                          type="button"
                          class="danger"
                          disabled={deed.isBusy}
                          aria-label={`Revoke the session opened with ${MADE_BY[session.madeBy]}`}
                          onClick={() => void revoke(session)}
                        >
                          Revoke
                        </button>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Shown>
    </section>
  );
}
