/** The way to the entries that somebody looks for. Each change counts at once and stands in the address. */

import type { VNode } from "preact";
import { replaceBy } from "../../place";
import { changed, type Filter } from "./filter";
import { KINDS, STATUSES } from "./words";

export function Filters({ filter }: { filter: Filter }): VNode {
  const change = (name: keyof Filter) => (event: { currentTarget: { value: string } }) =>
    replaceBy("audit", "", changed(filter, name, event.currentTarget.value));
  return (
    <search>
      <form class="filters" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
        <Choice label="What" value={filter.kind} of={KINDS} onChange={change("kind")} />
        <Choice label="State" value={filter.status} of={STATUSES} onChange={change("status")} />
        <label class="field">
          Tool
          <input value={filter.tool ?? ""} autocomplete="off" spellcheck={false} onChange={change("tool")} />
        </label>
        <label class="field wide">
          Run
          <input
            value={filter.runId ?? ""}
            autocomplete="off"
            spellcheck={false}
            onChange={change("runId")}
          />
        </label>
        <label class="field">
          From (UTC)
          <input type="date" value={filter.since ?? ""} onChange={change("since")} />
        </label>
        <label class="field">
          To (UTC)
          <input type="date" value={filter.until ?? ""} onChange={change("until")} />
        </label>
        {Object.keys(filter).length > 0 && (
          <button type="button" onClick={() => replaceBy("audit")}>
            Show everything
          </button>
        )}
      </form>
    </search>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly of: readonly (readonly [value: string, word: string])[];
  readonly onChange: (event: { currentTarget: { value: string } }) => void;
}

function Choice({ label, value = "", of: choices, onChange }: ChoiceProps): VNode {
  // Somebody may have written another one into the address.
  const all =
    value && !choices.some(([known]) => known === value) ? [...choices, [value, value] as const] : choices;
  return (
    <label class="field">
      {label}
      <select value={value} onChange={onChange}>
        <option value="">Everything</option>
        {all.map(([each, word]) => (
          <option key={each} value={each}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}
