/** What was used, added up: by day, by model, and in all. A price that nobody knows is never taken for zero. */

import type { DayView, ModelUsage } from "@pollux/protocol";

/** A sum. `unpriced` are the tokens whose price nobody knows; `cost` is that of the others. */
export interface Sum extends Omit<ModelUsage, "cost"> {
  readonly cost: number;
  readonly unpriced: number;
}

export function sumOf(model: string, rows: readonly ModelUsage[]): Sum {
  const add = (of: (row: ModelUsage) => number) => rows.reduce((sum, row) => sum + of(row), 0);
  return {
    ...{ model, runs: add((row) => row.runs), total: add((row) => row.total) },
    ...{ input: add((row) => row.input), output: add((row) => row.output) },
    ...{ thoughts: add((row) => row.thoughts), cached: add((row) => row.cached) },
    ...{ cost: add((row) => row.cost ?? 0), unpriced: add((row) => (row.cost === null ? row.total : 0)) },
  };
}

/** Each model's sum over all days, the most used first. */
export function byModel(days: readonly DayView[]): Sum[] {
  const rows = new Map<string, ModelUsage[]>();
  for (const { models } of days)
    for (const row of models) rows.set(row.model, [...(rows.get(row.model) ?? []), row]);
  return [...rows].map(([model, all]) => sumOf(model, all)).sort((a, b) => b.total - a.total);
}

export interface Column {
  readonly day: string;
  /** A value for each series, from the bottom to the top. */
  readonly values: readonly number[];
  /** Whether something is missing because nobody knows it. */
  readonly isPartial: boolean;
}

/** So many models are told apart; what is left is one more series. */
export const MOST_SERIES = 5;

/** The models of a chart, and their columns. */
export function columnsOf(
  days: readonly DayView[],
  of: "total" | "cost",
): { readonly series: readonly string[]; readonly columns: readonly Column[] } {
  const models = byModel(days).map(({ model }) => model);
  const shown = models.length > MOST_SERIES ? models.slice(0, MOST_SERIES - 1) : models;
  const series = [...shown.map(modelName), ...(shown.length < models.length ? ["all others"] : [])];
  const columns = days.map(({ day, models: rows }) => {
    const values = series.map(() => 0);
    for (const row of rows) {
      const place = shown.indexOf(row.model);
      const at = place < 0 ? series.length - 1 : place;
      values[at] = (values[at] ?? 0) + (row[of] ?? 0);
    }
    return {
      day,
      values,
      isPartial: of === "cost" && rows.some((row) => row.cost === null && row.total > 0),
    };
  });
  return { series, columns };
}

/** A model by its name. Of runs that an older version wrote nobody knows it. */
export function modelName(model: string): string {
  return model || "model not recorded";
}

/** The top of an axis: a round number that nothing goes beyond. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * size >= value * 0.999_999) ?? 10;
  return step * size;
}
