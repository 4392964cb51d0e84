/** Another agent for the registry, as the lines that make it one. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ListField } from "../runbooks/agent/list-field";
import { Snippet } from "../runbooks/snippet";
import { agentLines, faultOfAgent, type NewAgent } from "./toml";

const BEGUN: NewAgent = {
  name: "mine",
  command: "my-agent",
  args: ["--acp"],
  description: "An agent of our own",
};
const FIELDS = [
  ["name", "Name"],
  ["command", "Command"],
  ["description", "What it is"],
] as const;

export function Adding(): VNode {
  const [agent, setAgent] = useState(BEGUN);
  const fault = faultOfAgent(agent);
  return (
    <details>
      <summary>Add one</summary>
      <div class="stack composed">
        <div class="side-by-side">
          {FIELDS.map(([field, label]) => (
            <label key={field} class="field">
              {label}
              <input
                type="text"
                autoComplete="off"
                spellcheck={false}
                value={agent[field]}
                onInput={({ currentTarget }) => setAgent({ ...agent, [field]: currentTarget.value })}
              />
            </label>
          ))}
        </div>
        <ListField
          legend="Arguments"
          item="Argument"
          value={agent.args}
          onChange={(args) => setAgent({ ...agent, args })}
        />
        {fault ? <p class="faint">{fault}</p> : <Snippet text={agentLines(agent)} label="The new agent" />}
        <p class="faint">
          Files of the ACP registry are named by <code>registries = ["agents.json"]</code> in{" "}
          <code>[runbooks]</code>.
        </p>
      </div>
    </details>
  );
}
