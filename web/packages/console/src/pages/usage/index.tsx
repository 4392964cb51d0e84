/** Tokens and what they cost, day by day and model by model. */

import type { DayView, UsageDays } from "@pollux/protocol";
import type { VNode } from "preact";
import { useLoaded } from "../../loading";
import { brief, count, money, several } from "../../parts/amounts";
import { Facts } from "../../parts/facts";
import { Empty, Notice, Shown } from "../../parts/notice";
import { linkTo, type Place } from "../../place";
import { Chart } from "./chart";
import { byModel, columnsOf, modelName, sumOf } from "./sums";
import { costOf, DayTable, Models } from "./tables";

const SPANS: readonly (readonly [days: number, words: string])[] = [
  [7, "7 days"],
  [30, "30 days"],
  [90, "90 days"],
  [365, "A year"],
];
const USUAL = 30;

export function Usage({ place }: { place: Place }): VNode {
  const asked = Number(place.query.get("days") ?? USUAL);
  const days = SPANS.some(([known]) => known === asked) ? asked : USUAL;
  const usage = useLoaded<UsageDays>("/api/agent/usage", { days }, { every: 30_000 });
  return (
    <>
      <div class="row ends">
        <h1>Tokens and costs</h1>
        <nav class="row choice" aria-label="How long back">
          {SPANS.map(([span, words]) => (
            <a
              key={span}
              class="button"
              href={linkTo("usage", "", { days: String(span) })}
              aria-current={span === days ? "true" : undefined}
            >
              {words}
            </a>
          ))}
        </nav>
      </div>
      <Shown of={usage}>{({ days: read }) => <Used days={read} />}</Shown>
    </>
  );
}

function Used({ days }: { days: readonly DayView[] }): VNode {
  const models = byModel(days);
  const all = sumOf(
    "all",
    days.flatMap(({ models: rows }) => rows),
  );
  const unpriced = models.filter((model) => model.unpriced > 0);
  if (all.runs === 0) return <Empty>Nothing was asked in {several(days.length, "day")}.</Empty>;
  return (
    <>
      <div class="totals">
        <Facts
          of={[
            ["Tokens", count(all.total)],
            ["Cost", costOf(all)],
            ["Runs", count(all.runs)],
            ["A run, on average", `${count(Math.round(all.total / all.runs))} tokens`],
          ]}
        />
      </div>
      {unpriced.length > 0 && (
        <Notice tone="warn">
          <span>
            The cost of {several(all.unpriced, "token")} is not known: there is no price for{" "}
            {unpriced.map(({ model }) => modelName(model)).join(", ")}. It is not in the sums.
          </span>
        </Notice>
      )}
      <div class="charts">
        <Chart
          title="Tokens per day"
          {...columnsOf(days, "total")}
          format={(value) => several(value, "token")}
          axis={brief}
        />
        <Chart
          title="Cost per day"
          {...columnsOf(days, "cost")}
          format={money}
          axis={money}
          partial="and what nobody knows the price of"
        />
      </div>
      <section class="stack" aria-labelledby="models">
        <h2 id="models">By model</h2>
        <Models models={models} total={all.total} />
      </section>
      <DayTable days={days} />
      <p class="faint">
        Days are in UTC; a run counts on the day on which it began. Costs are list prices in US dollars: a
        discount or a free tier is not in them.
      </p>
    </>
  );
}
