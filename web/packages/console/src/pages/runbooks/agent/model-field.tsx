/** Which model a block asks: the settings' own, one of those on offer, or another one by its name. */

import type { RunbookModels, RunbookSettings } from "@pollux/protocol";
import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import { useLoaded } from "../../../loading";

interface Props {
  readonly value: string;
  readonly settings: RunbookSettings;
  readonly onInput: (model: string) => void;
}

/** No model is called so: names have no spaces. */
const ANOTHER = "another one";

export function ModelField({ value, settings, onInput }: Props): VNode {
  const id = useId();
  const offered = useLoaded<RunbookModels>("/api/runbooks/models").value?.items ?? [];
  const [isTyped, setIsTyped] = useState(false);
  const isAnother = isTyped || !(value === "" || offered.includes(value));
  const choose = (chosen: string) => {
    setIsTyped(chosen === ANOTHER);
    if (chosen !== ANOTHER) onInput(chosen);
  };
  return (
    <div class="field">
      <label for={id}>Model</label>
      <select
        id={id}
        value={isAnother ? ANOTHER : value}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        <option value="">
          {settings.model ? `As the settings say: ${settings.model}` : "As the settings say"}
        </option>
        {offered.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
        <option value={ANOTHER}>Another one, by its name</option>
      </select>
      {isAnother && (
        <input
          type="text"
          autoComplete="off"
          aria-label="Name of the model"
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </div>
  );
}
