/** What a new agent block begins with. Blocks that are there already are not changed by it. */

import type { CapabilitiesView, RunbookSettings } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Facts } from "../../parts/facts";
import { Rights } from "../runbooks/agent/rights";
import { Snippet } from "../runbooks/snippet";
import { defaultLines, faultOfTimeout, type NewDefaults, RIGHTS } from "./toml";

const WORDS: Readonly<Record<keyof CapabilitiesView, string>> = {
  readFiles: "read files",
  writeFiles: "write files",
  executeCommands: "run commands",
  alwaysAllowTools: "ask about nothing",
};

export function Defaults({ settings }: { settings: RunbookSettings }): VNode {
  const { defaultTimeout, defaultCapabilities, model, editable } = settings;
  const held = RIGHTS.filter((name) => defaultCapabilities[name]);
  return (
    <section class="stack" aria-labelledby="defaults">
      <h2 id="defaults">New agent blocks</h2>
      <div class="card">
        <Facts
          of={[
            ["Time-out", `${defaultTimeout} seconds`],
            ["Capabilities", held.length > 0 ? held.map((name) => WORDS[name]).join(", ") : "none"],
            ["Model", model ?? "none: a block has to name its own"],
            ["Documents", editable ? "may be changed here" : "are only read and run here"],
          ]}
        />
        <Changing settings={settings} />
      </div>
    </section>
  );
}

function Changing({ settings }: { settings: RunbookSettings }): VNode {
  const [changes, setChanges] = useState<Partial<NewDefaults>>({});
  const defaults: NewDefaults = {
    model: settings.model ?? "",
    timeout: String(settings.defaultTimeout),
    rights: settings.defaultCapabilities,
    ...changes,
  };
  const put = (change: Partial<NewDefaults>) => setChanges({ ...changes, ...change });
  const fault = faultOfTimeout(defaults.timeout);
  return (
    <details>
      <summary>Change it</summary>
      <div class="stack composed">
        <div class="side-by-side">
          <label class="field">
            Time-out
            <input
              type="text"
              inputMode="numeric"
              value={defaults.timeout}
              onInput={({ currentTarget }) => put({ timeout: currentTarget.value })}
            />
            <small>In seconds.</small>
          </label>
          <label class="field">
            Model
            <input
              type="text"
              autoComplete="off"
              value={defaults.model}
              onInput={({ currentTarget }) => put({ model: currentTarget.value })}
            />
            <small>
              For every run that names none, not of runbooks alone. <code>model</code> stands at the top of
              the file.
            </small>
          </label>
        </div>
        <Rights
          held={defaults.rights}
          onPut={(right, isHeld) => put({ rights: { ...defaults.rights, [right]: isHeld } })}
        />
        {fault ? (
          <p class="faint">{fault}</p>
        ) : (
          <Snippet text={defaultLines(defaults)} label="What new blocks begin with" />
        )}
      </div>
    </details>
  );
}
