/** What the server was told: agents that runbooks know, what new blocks begin with, the model. Its operator's to change. */

import type { RunbookSettings } from "@pollux/protocol";
import type { VNode } from "preact";
import { useLoaded } from "../../loading";
import { Shown } from "../../parts/notice";
import { isNotServed, NotServed } from "../runbooks/not-served";
import { Agents } from "./agents";
import { Defaults } from "./defaults";
import { Machine } from "./machine";
import { Sessions } from "./sessions";

export function Settings(): VNode {
  const settings = useLoaded<RunbookSettings>("/api/runbooks/settings", {}, { every: 30_000 });
  return (
    <>
      <h1>Settings</h1>
      <p class="lead">
        They say what may run here, so they are read from the server's own configuration file, and whoever
        operates it changes them there: fill in what you want, put the lines into that file (below a{" "}
        <code>[runbooks]</code> that it has already, if it has one), and start the server again.
      </p>
      <Machine />
      <Sessions />
      {isNotServed(settings.problem) ? (
        <NotServed />
      ) : (
        <Shown of={settings}>
          {(value) => (
            <>
              <Agents agents={value.agents} />
              <Defaults settings={value} />
            </>
          )}
        </Shown>
      )}
    </>
  );
}
