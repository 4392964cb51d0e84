/** Every run of this person, newest first. */

import type { RunRowView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useListed } from "../../loading";
import { count, money } from "../../parts/amounts";
import { Badge } from "../../parts/badge";
import { Moment } from "../../parts/moment";
import { Empty, More, Shown } from "../../parts/notice";
import { linkTo, type Place, replaceBy } from "../../place";
import { documentName, documentWords } from "./document";

const STATES: readonly (readonly [state: string, word: string])[] = [
  ["", "All"],
  ["queued", "Queued"],
  ["planning", "Planning"],
  ["awaiting_confirmation", "Waiting for a person"],
  ["executing", "At work"],
  ["completed", "Completed"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
];

export function RunList({ place }: { place: Place }): VNode {
  const asked = place.query.get("state") ?? "";
  const state = STATES.some(([known]) => known === asked) ? asked : "";
  const runs = useListed<RunRowView>("/api/agent/runs", { state }, { every: 5_000 });
  return (
    <>
      <div class="row ends">
        <h1>Runs</h1>
        <label class="row">
          Show
          <select
            value={state}
            onChange={({ currentTarget: { value } }) => replaceBy("runs", "", value ? { state: value } : {})}
          >
            {STATES.map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </select>
        </label>
      </div>
      <p class="lead">Each prompt makes a run. Open one to see everything that happened in it, and when.</p>
      <Shown of={runs}>
        {(items) =>
          items.length === 0 ? (
            <Empty>
              {state
                ? "No run is in this state."
                : "Nothing was asked yet. A prompt in a conversation makes a run."}
            </Empty>
          ) : (
            <table class="list runs">
              <thead>
                <tr>
                  <th scope="col">Asked</th>
                  <th scope="col">State</th>
                  <th scope="col">Model</th>
                  <th scope="col" class="number">
                    Tokens
                  </th>
                  <th scope="col" class="number">
                    Cost
                  </th>
                  <th scope="col">When</th>
                </tr>
              </thead>
              <tbody>
                {items.map((run) => (
                  <Row key={run.runId} run={run} />
                ))}
              </tbody>
            </table>
          )
        }
      </Shown>
      <More {...runs} />
    </>
  );
}

function Row({ run }: { run: RunRowView }): VNode {
  return (
    <tr>
      <th scope="row">
        <a href={linkTo("runs", run.runId)} dir="auto">
          {askedFor(run.prompt)}
        </a>
        {run.parentRunId && <small class="faint"> in another run</small>}
      </th>
      <td>
        <Badge state={run.state} refused={run.refused} />
        {run.errorCode && run.state === "failed" && (
          <small class="faint"> {run.errorCode.replaceAll("_", " ")}</small>
        )}
      </td>
      <td>{run.model}</td>
      <td class="number" data-name="tokens">
        {count(run.tokens)}
      </td>
      <td class={run.cost === null ? "number unsure" : "number"}>
        {run.tokens === 0 ? "" : money(run.cost)}
      </td>
      <td>
        <Moment at={run.createdAt} />
      </td>
    </tr>
  );
}

function askedFor(prompt: string): string {
  const document = documentName(prompt);
  return document === null ? prompt || "What was asked is gone" : `Run ${documentWords(document)}`;
}
