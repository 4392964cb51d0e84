import { describe, expect, it } from "vitest";
import { joined } from "../src/loading";
import { changed, exportLink, filterOf, queryOf } from "../src/pages/audit/filter";
import { checksOf, uptime, worst } from "../src/pages/health/checks";
import { byModel, columnsOf, roundUp, sumOf } from "../src/pages/usage/sums";
import { money } from "../src/parts/amounts";
import { placeOf } from "../src/place";

const used = (model: string, total: number, cost: number | null) => ({
  ...{ model, runs: 1, input: total, output: 0, thoughts: 0, cached: 0, total, cost },
});

describe("sums of what was used", () => {
  it("never takes an unknown price for zero", () => {
    const sum = sumOf("all", [used("a", 10, 0.5), used("b", 7, null)]);
    expect(sum).toMatchObject({ total: 17, cost: 0.5, unpriced: 7 });
  });

  it("has a run that used nothing cost nothing", () => {
    expect(sumOf("a", [used("a", 0, null)])).toMatchObject({ cost: 0, unpriced: 0 });
  });

  it("names the most used model first", () => {
    const days = [
      { day: "2026-11-15", models: [used("small", 5, 0)] },
      { day: "2026-11-16", models: [used("large", 50, 0), used("small", 5, 0)] },
    ];
    expect(byModel(days).map(({ model, total }) => [model, total])).toEqual([
      ["large", 50],
      ["small", 10],
    ]);
  });

  it("puts what is beyond five models into one, and loses none of it", () => {
    const models = ["a", "b", "c", "d", "e", "f", "g"].map((name, index) => used(name, 10 - index, 1));
    const { series, columns } = columnsOf([{ day: "2026-11-16", models }], "total");
    expect(series).toEqual(["a", "b", "c", "d", "all others"]);
    expect(columns[0]?.values).toEqual([10, 9, 8, 7, 6 + 5 + 4]);
  });

  it("marks the days of which not every price is known", () => {
    const days = [
      { day: "2026-11-15", models: [] },
      { day: "2026-11-16", models: [used("a", 3, null)] },
    ];
    expect(columnsOf(days, "cost").columns.map(({ isPartial }) => isPartial)).toEqual([false, true]);
    expect(columnsOf(days, "total").columns.map(({ isPartial }) => isPartial)).toEqual([false, false]);
  });

  it.each([
    [0, 1],
    [7, 8],
    [10, 10],
    [12_331, 15_000],
    [0.03, 0.03],
  ])("ends the axis of %d at %d", (most, top) => expect(roundUp(most)).toBeCloseTo(top, 9));
});

describe("amounts", () => {
  it.each([
    [null, "unknown"],
    [0, "$0"],
    [0.0000004, "< $0.000001"],
    [0.00042, "$0.00042"],
    [0.03, "$0.03"],
    [1234.5, "$1,234.50"],
  ])("writes %s as %s", (cost, text) => expect(money(cost)).toBe(text));
});

describe("the audit's filter", () => {
  const place = placeOf("#/audit?kind=approved&until=2026-02-28&nonsense=1&tool=");

  it("reads what stands in the address and nothing else", () => {
    expect(filterOf(place)).toEqual({ kind: "approved", until: "2026-02-28" });
  });

  it("asks up to the end of the last day", () => {
    expect(queryOf(filterOf(place))).toMatchObject({ kind: "approved", until: "2026-03-01" });
    expect(queryOf({ until: "2026-02-28T10:00:00Z" }).until).toBe("2026-02-28T10:00:00Z");
  });

  it("exports what is shown", () => {
    expect(exportLink(filterOf(place), "csv")).toBe(
      "/api/agent/audit/export?format=csv&kind=approved&until=2026-03-01",
    );
  });

  it("forgets a condition that was emptied", () => {
    expect(changed({ kind: "approved", tool: "demo_mail" }, "tool", " ")).toEqual({ kind: "approved" });
  });
});

describe("a list whose first page is read again", () => {
  const page = (ids: number[], next: string | null = null) => ({ items: ids.map((id) => ({ id })), next });
  const ids = ({ items }: { items: readonly { id: number }[] }) => items.map(({ id }) => id);

  it("loses nothing between new items and what was seen before", () => {
    expect(ids(joined(page([9, 8, 7], "7"), page([8, 7, 6, 5, 4, 3], "3")))).toEqual([9, 8, 7, 6, 5, 4, 3]);
  });

  it("drops what is gone, and shows what moved up once", () => {
    expect(ids(joined(page([4, 9, 7]), page([9, 8, 7, 6, 5, 4])))).toEqual([4, 9, 7, 6, 5]);
  });

  it("begins anew where so much is new that the two do not meet", () => {
    const first = page([20, 19, 18], "18");
    expect(joined(first, page([9, 8, 7, 6], "6"))).toBe(first);
  });
});

describe("health", () => {
  const well = {
    ...{
      ok: true as const,
      version: "1",
      store: { kind: "sqlite", writable: true },
      model: "m",
      provider: "p",
    },
    ...{
      profiles: ["default"],
      pending: 0,
      unknown: 0,
      audit: { entries: 1, head: "0".repeat(64) },
      workers: null,
    },
    ...{
      google: { configured: false, connected: false },
      runbooks: false,
      uptimeSeconds: 5,
      draining: false,
      missingKey: "",
    },
  };

  it.each([
    ["good", {}],
    ["warn", { pending: 2 }],
    ["warn", { draining: true }],
    ["warn", { store: { kind: "memory", writable: true } }],
    ["bad", { unknown: 1 }],
    ["bad", { store: { kind: "sqlite", writable: false } }],
  ])("is %s with %j", (level, change) => {
    const checks = checksOf({ ...well, ...change });
    expect(worst(checks)).toBe(level);
    // Whatever is not well says what to do.
    for (const check of checks) if (check.level !== "good") expect(check.todo).toBeTruthy();
  });

  it.each([
    [5, "5 seconds"],
    [61, "1 minute"],
    [3 * 3600 + 60, "3 hours 1 minute"],
    [50 * 3600, "2 days"],
  ])("says %d seconds as %s", (seconds, words) => expect(uptime(seconds)).toBe(words));
});
