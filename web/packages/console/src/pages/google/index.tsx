/** The Google account of whoever is signed in: whether it is connected, what for, and the way to change that. */

import type { Disconnected, GoogleStatus } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { door } from "../../door";
import { useDeed, useLoaded } from "../../loading";
import { Dialog } from "../../parts/dialog";
import { Facts } from "../../parts/facts";
import { Notice, Problem, Shown } from "../../parts/notice";
import { say } from "../../parts/said";
import { Setup } from "./setup";
import { scopeWords, toolWords } from "./words";

const CONNECT = "/api/google/connect";

export function Google(): VNode {
  const status = useLoaded<GoogleStatus>("/api/google/status", {}, { every: 10_000 });
  return (
    <>
      <h1>Google</h1>
      <p class="lead">
        With a connected account an agent may ask to send a mail or to make an event. You approve each one,
        with all its recipients, before anything leaves.
      </p>
      <Shown of={status}>
        {(value) =>
          !value.configured ? (
            <Setup />
          ) : value.connected ? (
            <Account status={value} again={status.again} />
          ) : (
            <Offer status={value} />
          )
        }
      </Shown>
    </>
  );
}

function Offer({ status }: { status: GoogleStatus }): VNode {
  return (
    <section class="card" aria-labelledby="account">
      <h2 id="account">No account is connected</h2>
      {status.problem && <Notice tone="warn">{status.problem}</Notice>}
      <p>
        Google asks you what to allow, and sends you back here. You may agree to less than is asked; what is
        left out is asked for when it is needed. Tokens are kept sealed and are shown nowhere.
      </p>
      <div class="row">
        <a class="button primary" href={CONNECT}>
          Connect a Google account
        </a>
      </div>
    </section>
  );
}

function Account({ status, again }: { status: GoogleStatus; again: () => void }): VNode {
  const { email, tools = [], scopes = [], problem } = status;
  return (
    <section class="card" aria-labelledby="account">
      <h2 id="account">{email ?? "A Google account"} is connected</h2>
      {problem && (
        <Notice tone="warn">
          <span>{problem}</span>
          <a class="button" href={CONNECT}>
            Connect again
          </a>
        </Notice>
      )}
      <Facts
        of={[
          [
            "The agent may ask to",
            tools.length > 0 ? (
              <ul key="tools" class="plain-list">
                {tools.map((tool) => (
                  <li key={tool}>
                    {toolWords(tool)} <code>{tool}</code>
                  </li>
                ))}
              </ul>
            ) : (
              "nothing yet: you agreed to less than any tool needs"
            ),
          ],
          [
            "You allowed",
            scopes.length > 0 && (
              <ul key="scopes" class="plain-list">
                {scopes.map((scope) => (
                  <li key={scope}>{scopeWords(scope)}</li>
                ))}
              </ul>
            ),
          ],
        ]}
      />
      <div class="row">
        <a class="button" href={CONNECT}>
          Change what is allowed
        </a>
        <Disconnect email={email ?? "the account"} again={again} />
      </div>
    </section>
  );
}

function Disconnect({ email, again }: { email: string; again: () => void }): VNode {
  const [isAsking, setIsAsking] = useState(false);
  const [said, setSaid] = useState<Disconnected | null>(null);
  const deed = useDeed();
  const disconnect = async () => {
    const isDone = await deed.run(async () =>
      setSaid(await door.post<Disconnected>("/api/google/disconnect")),
    );
    if (!isDone) return;
    setIsAsking(false);
    say(`${email} is no longer connected.`);
    again();
  };
  return (
    <>
      <button type="button" class="danger" onClick={() => setIsAsking(true)}>
        Disconnect
      </button>
      {said && !said.atGoogle && <Notice tone="warn">{said.message}</Notice>}
      {isAsking && (
        <Dialog title={`Disconnect ${email}?`} onClose={() => setIsAsking(false)}>
          <p>
            The access is given back to Google and forgotten here. Mails and events that wait for approval
            then fail until an account is connected again.
          </p>
          <Problem of={deed.problem} />
          <div class="row">
            <button type="button" class="danger" disabled={deed.isBusy} onClick={() => void disconnect()}>
              Disconnect the account
            </button>
            <button type="button" onClick={() => setIsAsking(false)}>
              Keep it
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
