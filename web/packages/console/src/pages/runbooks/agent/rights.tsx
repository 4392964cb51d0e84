/** What the agent may do. Whatever widens that is confirmed by a person before the document runs. */

import type { CapabilitiesView } from "@pollux/protocol";
import type { VNode } from "preact";

type Right = keyof CapabilitiesView;

const RIGHTS = [
  ["readFiles", "Read files", "beneath its directory"],
  ["writeFiles", "Write files", "each is asked about"],
  ["executeCommands", "Run commands", "each is asked about"],
  ["alwaysAllowTools", "Ask about nothing", "whatever it asks leave for is allowed at once"],
] as const;

interface Props {
  readonly held: Readonly<Record<Right, boolean>>;
  readonly onPut: (right: Right, isHeld: boolean) => void;
}

export function Rights({ held, onPut }: Props): VNode {
  return (
    <fieldset class="agent-rights">
      <legend>Capabilities</legend>
      {RIGHTS.map(([right, name, about]) => (
        <label key={right} class="check">
          <input
            type="checkbox"
            checked={held[right]}
            onChange={({ currentTarget }) => onPut(right, currentTarget.checked)}
          />
          <span>
            {name} <small class="faint">{about}</small>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
