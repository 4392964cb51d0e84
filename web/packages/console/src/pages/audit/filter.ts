/** Which entries are wanted, as it stands in the address and as the server is asked. */

import type { Query } from "../../door";
import type { Place } from "../../place";

export const NAMES = ["kind", "tool", "status", "runId", "since", "until"] as const;
export type Filter = Readonly<Partial<Record<(typeof NAMES)[number], string>>>;

export function filterOf({ query }: Place): Filter {
  return kept(Object.fromEntries(NAMES.map((name) => [name, query.get(name)?.trim() ?? ""])));
}

/** With one of them changed. An empty one counts for nothing. */
export function changed(filter: Filter, name: keyof Filter, value: string): Record<string, string> {
  return kept({ ...filter, [name]: value.trim() });
}

/** People mean a day to its end; the server stops before the moment that it is given. */
export function queryOf(filter: Filter): Query {
  return { ...filter, until: filter.until && dayAfter(filter.until) };
}

export function exportLink(filter: Filter, format: "jsonl" | "csv"): string {
  const given = Object.entries({ format, ...queryOf(filter) }).flatMap(([name, value]) =>
    value ? [[name, String(value)]] : [],
  );
  return `/api/agent/audit/export?${new URLSearchParams(given)}`;
}

function dayAfter(day: string): string {
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) return day;
  const next = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(next.getTime())) return day;
  next.setUTCDate(next.getUTCDate() + 1);
  return next.toISOString().slice(0, 10);
}

function kept(filter: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(filter).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  );
}
