/** What was decided, asked and done, in a record that shows whether somebody changed it. */

import type { AuditView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useListed } from "../../loading";
import { Empty, More, Shown } from "../../parts/notice";
import type { Place } from "../../place";
import { Check } from "./check";
import { Entry } from "./entry";
import { exportLink, filterOf, queryOf } from "./filter";
import { Filters } from "./filters";

export function Audit({ place }: { place: Place }): VNode {
  const filter = filterOf(place);
  const isFiltered = Object.keys(filter).length > 0;
  const entries = useListed<AuditView>("/api/agent/audit", queryOf(filter), { every: 10_000 });
  return (
    <>
      <h1>Audit</h1>
      <p class="lead">
        Every step of everything that can have an effect: who let it happen, when, and what became of it.
      </p>
      <Check />
      <section class="stack" aria-labelledby="entries">
        <div class="row ends">
          <h2 id="entries">Entries</h2>
          <div class="row">
            <span class="faint">Export {isFiltered ? "these" : "all"} as</span>
            <a class="button" href={exportLink(filter, "jsonl")} download="pollux-audit.jsonl">
              JSON lines
            </a>
            <a class="button" href={exportLink(filter, "csv")} download="pollux-audit.csv">
              CSV
            </a>
          </div>
        </div>
        <Filters filter={filter} />
        <Shown of={entries}>
          {(items) =>
            items.length === 0 ? (
              <Empty>
                {isFiltered
                  ? "No entry fits."
                  : "Nothing with an effect was asked for yet. What only reads is in the runs, not here."}
              </Empty>
            ) : (
              <ol class="entries">
                {items.map((entry) => (
                  <Entry key={entry.seq} entry={entry} />
                ))}
              </ol>
            )
          }
        </Shown>
        <More {...entries} />
      </section>
    </>
  );
}
