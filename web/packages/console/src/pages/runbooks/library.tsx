/** The documents of the folder, and what ran last. */

import type { RunbookItem, RunbookRunItem } from "@pollux/protocol";
import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useListed } from "../../loading";
import { Moment } from "../../parts/moment";
import { Empty, More, Shown } from "../../parts/notice";
import { linkToDocument, linkToRun } from "./links";
import { isNotServed, NotServed } from "./not-served";
import { Status } from "./sign";
import { wordOfRun } from "./states";

export function Library(): VNode {
  const documents = useListed<RunbookItem>("/api/runbooks", {}, { every: 10_000 });
  const runs = useListed<RunbookRunItem>(documents.value && "/api/runbooks/runs", {}, { every: 4_000 });
  if (isNotServed(documents.problem))
    return (
      <>
        <h1>Runbooks</h1>
        <NotServed />
      </>
    );
  return (
    <>
      <h1>Runbooks</h1>
      <p class="lead">Documents of steps: scripts, requests, queries, and agents between them.</p>
      <Shown of={documents}>
        {(items) =>
          items.length === 0 ? (
            <Empty>The folder has no runbooks yet. Put a file “….atrb” into it.</Empty>
          ) : (
            <ul class="shelf">
              {items.map((item) => (
                <Volume key={item.path} item={item} last={runsOf(item.path, runs.value)[0]} />
              ))}
            </ul>
          )
        }
      </Shown>
      <More {...documents} />
      {documents.value && (
        <section class="stack" aria-labelledby="runs">
          <h2 id="runs">Runs</h2>
          <Shown of={runs}>
            {(items) => (items.length === 0 ? <Empty>Nothing has run yet.</Empty> : <RunList runs={items} />)}
          </Shown>
          <More {...runs} />
        </section>
      )}
    </>
  );
}

function Volume({ item, last }: { item: RunbookItem; last: RunbookRunItem | undefined }): VNode {
  const { path, name, error, warnings, blocks, trusted } = item;
  return (
    <li class="card volume-card">
      <div class="row ends">
        <h2 dir="auto">
          <a href={linkToDocument(path)}>{visible(name || path)}</a>
        </h2>
        {last && (
          <a class="last-run" href={linkToRun(last.runId)}>
            <span class="unseen">The last run of {visible(name || path)}: </span>
            <Status word={wordOfRun(last.state)} />
            <Moment at={last.createdAt} />
          </a>
        )}
      </div>
      <p class="faint about">
        <code>{visible(path)}</code>
        {!error && <span>{blocks === 1 ? "1 block" : `${blocks} blocks`}</span>}
        {trusted && <span>trusted as it stands</span>}
      </p>
      {error && <p class="bad">It cannot be read: {error}</p>}
      {warnings.length > 0 && (
        <details>
          <summary>{warnings.length === 1 ? "1 remark" : `${warnings.length} remarks`}</summary>
          <ul class="remarks">
            {warnings.slice(0, 20).map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

export function RunList({ runs }: { runs: readonly RunbookRunItem[] }): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by those without a pointer.
    <section class="scroll" tabIndex={0} aria-label="List of runs">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Runbook</th>
            <th scope="col">State</th>
            <th scope="col">Begun</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.runId}>
              <th scope="row" dir="auto">
                <a href={linkToRun(run.runId)}>{visible(run.name) || "Without a name"}</a>
              </th>
              <td>
                <Status word={wordOfRun(run.state)} />
              </td>
              <td>
                <Moment at={run.createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Runs of the document at this path. */
export function runsOf(path: string, runs: readonly RunbookRunItem[] | null): RunbookRunItem[] {
  return (runs ?? []).filter((run) => run.path === path);
}
