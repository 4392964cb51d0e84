/** What the agent may do. Whatever widens that is confirmed by a person before the document runs. */

import type { VNode } from "preact";
import type { Draft } from "./draft";
import type { Put } from "./panel";

const RIGHTS = [
  ["readFiles", "Read files", "beneath its directory"],
  ["writeFiles", "Write files", "each is asked about"],
  ["executeCommands", "Run commands", "each is asked about"],
  ["alwaysAllowTools", "Ask about nothing", "whatever it asks leave for is allowed at once"],
] as const;

export function Rights({ draft, put }: { draft: Draft; put: Put }): VNode {
  return (
    <fieldset class="agent-rights">
      <legend>Capabilities</legend>
      {RIGHTS.map(([field, name, about]) => (
        <label key={field} class="check">
          <input
            type="checkbox"
            checked={draft[field]}
            onChange={({ currentTarget }) => put(field, currentTarget.checked)}
          />
          <span>
            {name} <small class="faint">{about}</small>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
