/** The same numbers as in the charts, to be read one by one. */

import type { DayView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { count, money } from "../../parts/amounts";
import { dayName } from "./chart";
import { modelName, type Sum, sumOf } from "./sums";

/** What each model used over all the days. */
export function Models({ models, total }: { models: readonly Sum[]; total: number }): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by those without a pointer.
    <section class="scroll" tabIndex={0} aria-label="Every model">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">Share of tokens</th>
            <th scope="col" class="number">
              Runs
            </th>
            <th scope="col" class="number">
              Tokens in
            </th>
            <th scope="col" class="number">
              Tokens out
            </th>
            <th scope="col" class="number">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {models.map((sum) => (
            <tr key={sum.model}>
              <th scope="row">{modelName(sum.model)}</th>
              <td>
                <span class="share">
                  <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">
                    <rect class="all" width="100" height="8" rx="2" />
                    <rect class="series-0" width={portion(sum.total, total)} height="8" rx="2" />
                  </svg>
                  {Math.round(portion(sum.total, total))} %
                </span>
              </td>
              <td class="number">{count(sum.runs)}</td>
              <td class="number">{known(sum, sum.input)}</td>
              <td class="number">{known(sum, sum.output)}</td>
              <td class="number">{costOf(sum)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Every day, the newest first. Made when somebody wants it: a year has many. */
export function DayTable({ days }: { days: readonly DayView[] }): VNode {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Show as a table</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by those without a pointer.
        <section class="scroll days" tabIndex={0} aria-label="Every day">
          <table class="list">
            <thead>
              <tr>
                {["Day", "Model"].map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
                {["Runs", "In", "of it cached", "Out", "of it thinking", "Tokens", "Cost"].map((name) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {[...days].reverse().flatMap(({ day, models }) => {
                const rows =
                  models.length > 0 ? models.map((row) => sumOf(row.model, [row])) : [sumOf("", [])];
                return rows.map((row) => <DayRow key={`${day} ${row.model}`} day={day} row={row} />);
              })}
            </tbody>
          </table>
        </section>
      )}
    </details>
  );
}

function DayRow({ day, row }: { day: string; row: Sum }): VNode {
  return (
    <tr>
      <th scope="row">{dayName(day)}</th>
      <td>{row.runs > 0 ? modelName(row.model) : "none"}</td>
      <td class="number">{count(row.runs)}</td>
      <td class="number">{known(row, row.input)}</td>
      <td class="number">{known(row, row.cached)}</td>
      <td class="number">{known(row, row.output)}</td>
      <td class="number">{known(row, row.thoughts)}</td>
      <td class="number">{count(row.total)}</td>
      <td class="number">{costOf(row)}</td>
    </tr>
  );
}

/** Dollars, and whether that is all. */
export function costOf({ cost, unpriced }: Sum): string {
  if (unpriced === 0) return money(cost);
  return cost > 0 ? `${money(cost)} and more` : "unknown";
}

/** Of runs that an older version wrote only the total is known. */
function known({ model, total }: Sum, value: number): string {
  return model === "" && total > 0 ? "not recorded" : count(value);
}

function portion(part: number, whole: number): number {
  return whole > 0 ? (part / whole) * 100 : 0;
}
