/** What to say where the server has no runbooks for this person, and what would change that. */

import type { SessionView } from "@pollux/protocol";
import type { VNode } from "preact";
import { Refusal } from "../../door";
import { useLoaded } from "../../loading";
import { Snippet } from "./snippet";

/** Whether a problem is that there is nothing at this address for us. */
export function isNotServed(problem: unknown): boolean {
  return problem instanceof Refusal && problem.status === 404;
}

export function NotServed(): VNode {
  const { value } = useLoaded<SessionView>("/api/session");
  return (
    <section class="card" aria-labelledby="not-served">
      <h2 id="not-served">Runbooks are not served to you here</h2>
      <p>
        A runbook runs commands on the server, so there is nothing of them until its operator names a folder
        and who may use it. Put this into the server's configuration file, and start it again:
      </p>
      <Snippet
        label="What to set"
        text={`[runbooks]\nfolder = "/srv/runbooks"\nusers = [${JSON.stringify(value?.user ?? "ada")}]\neditable = true   # whether documents can be changed here`}
      />
      <p class="faint">
        The file is the one that <code>POLLUX_CONFIG</code> names, else{" "}
        <code>~/.config/pollux/config.toml</code>.
      </p>
    </section>
  );
}
