/** What a query found, as a table, as far as anybody would read it. */

import { visible } from "@pollux/widget";
import type { VNode } from "preact";

const MOST_ROWS = 50;
const MOST_COLUMNS = 30;
const LONGEST = 500;

export function Rows({
  given,
  label,
}: {
  given: { readonly [name: string]: unknown };
  label: string;
}): VNode {
  const columns = listOf(given.columns).map(nameOfColumn).slice(0, MOST_COLUMNS);
  const rows = listOf(given.rows);
  if (columns.length === 0) return <p class="faint">{Number(given.rows_affected ?? 0)} rows were changed.</p>;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by those without a pointer. */}
      <section class="scroll" tabIndex={0} aria-label={label}>
        <table class="list query-rows">
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST_ROWS).map((row, index) => (
              <tr key={index}>
                {columns.map((name, column) => (
                  <td key={name} dir="auto">
                    {cell(row, name, column)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p class="faint">
        {rows.length === 1 ? "1 row" : `${rows.length} rows`}
        {rows.length > MOST_ROWS && `, the first ${MOST_ROWS} are shown`}
      </p>
    </>
  );
}

function cell(row: unknown, name: string, column: number): string {
  const value = Array.isArray(row) ? row[column] : (row as { [name: string]: unknown } | null)?.[name];
  const text = typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
  return visible(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}

function nameOfColumn(column: unknown): string {
  return typeof column === "string" ? column : String((column as { name?: unknown } | null)?.name ?? "");
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
