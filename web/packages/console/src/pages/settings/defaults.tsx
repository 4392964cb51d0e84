/** What a new agent block begins with. Blocks that are there already are not changed by it. */

import type { CapabilitiesView, RunbookSettings } from "@pollux/protocol";
import type { VNode } from "preact";
import { Facts } from "../../parts/facts";
import { Snippet } from "../runbooks/snippet";

const RIGHTS: readonly (readonly [keyof CapabilitiesView, string])[] = [
  ["readFiles", "read files"],
  ["writeFiles", "write files"],
  ["executeCommands", "run commands"],
  ["alwaysAllowTools", "ask about nothing"],
];

export function Defaults({ settings }: { settings: RunbookSettings }): VNode {
  const { defaultTimeout, defaultCapabilities, model, editable } = settings;
  const held = RIGHTS.filter(([name]) => defaultCapabilities[name]);
  const text = `[runbooks]
default_timeout = ${defaultTimeout}
default_capabilities = [${held.map(([name]) => JSON.stringify(name)).join(", ")}]
editable = ${editable}`;
  return (
    <section class="stack" aria-labelledby="defaults">
      <h2 id="defaults">New agent blocks</h2>
      <div class="card">
        <Facts
          of={[
            ["Time-out", `${defaultTimeout} seconds`],
            ["Capabilities", held.length > 0 ? held.map(([, words]) => words).join(", ") : "none"],
            ["Model", model ?? "none: a block has to name its own"],
            ["Documents", editable ? "may be changed here" : "are only read and run here"],
          ]}
        />
        <details>
          <summary>Change it</summary>
          <Snippet text={text} label="What new blocks begin with" />
          <p class="faint">
            The model is <code>model</code> at the top of the file, or <code>POLLUX_MODEL</code>.
          </p>
        </details>
      </div>
    </section>
  );
}
