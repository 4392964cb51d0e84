/** The agents that blocks may name. */

import type { KnownAgent } from "@pollux/protocol";
import type { VNode } from "preact";
import { Empty } from "../../parts/notice";
import { Status } from "../runbooks/sign";
import { Adding } from "./adding";

const FOUND = { text: "installed", sign: "done", tone: "good" } as const;
const MISSING = { text: "not installed", sign: "circle", tone: "still" } as const;

export function Agents({ agents }: { agents: readonly KnownAgent[] }): VNode {
  return (
    <section class="stack" aria-labelledby="agents">
      <h2 id="agents">Agents</h2>
      <p class="faint">
        Agent blocks may name these. <code>gemini</code>, <code>claude</code> and <code>codex</code> are known
        by themselves; the rest is from the configuration.
      </p>
      {agents.length === 0 ? (
        <Empty>No agent is known by name.</Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by those without a pointer.
        <section class="scroll" tabIndex={0} aria-label="List of agents">
          <table class="list agents-list">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Starts</th>
                <th scope="col">What it is</th>
                <th scope="col">On the server</th>
              </tr>
            </thead>
            <tbody>
              {agents.map(({ name, command, args, description, isInstalled }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td>
                    <code>{[command, ...args].join(" ")}</code>
                  </td>
                  <td>{description}</td>
                  <td>
                    <Status word={isInstalled ? FOUND : MISSING} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      <Adding />
    </section>
  );
}
