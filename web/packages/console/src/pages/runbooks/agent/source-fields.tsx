/** Whom a block asks: our own agent with a model, one of the registry, or any program that speaks the protocol. */

import type { RunbookSettings } from "@pollux/protocol";
import type { VNode } from "preact";
import { type Draft, INTERNAL, OWN, registered } from "./draft";
import { ListField, PairsField } from "./list-field";
import { ModelField } from "./model-field";
import type { Put } from "./panel";

interface Props {
  readonly draft: Draft;
  readonly put: Put;
  readonly settings: RunbookSettings;
}

export function SourceFields({ draft, put, settings }: Props): VNode {
  const known = settings.agents.find((agent) => registered(agent.name) === draft.source);
  return (
    <>
      <label class="field">
        Agent
        <select value={draft.source} onChange={({ currentTarget }) => put("source", currentTarget.value)}>
          <option value={INTERNAL}>Our own</option>
          {settings.agents.map(({ name, description, isInstalled }) => (
            <option key={name} value={registered(name)}>
              {description ? `${name}: ${description}` : name}
              {isInstalled ? "" : " (not installed)"}
            </option>
          ))}
          <option value={OWN}>A program of your own</option>
        </select>
        {known && (
          <small>
            Starts <code>{[known.command, ...known.args].join(" ")}</code>
            {known.isInstalled ? "" : ", which is not installed on the server"}
          </small>
        )}
      </label>
      {draft.source === INTERNAL ? (
        <ModelField value={draft.model} settings={settings} onInput={(model) => put("model", model)} />
      ) : (
        <>
          {draft.source === OWN && (
            <label class="field">
              Command
              <input
                type="text"
                class="mono"
                autoComplete="off"
                spellcheck={false}
                value={draft.command}
                onInput={({ currentTarget }) => put("command", currentTarget.value)}
              />
              <small>A program that speaks the Agent Client Protocol. It is started without a shell.</small>
            </label>
          )}
          <ListField
            legend={known ? "Further arguments" : "Arguments"}
            item="Argument"
            value={draft.args}
            onChange={(value) => put("args", value)}
          />
          <PairsField legend="Environment" value={draft.env} onChange={(value) => put("env", value)} />
        </>
      )}
    </>
  );
}
