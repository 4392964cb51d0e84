import { expect, test } from "vitest";
import { collapsed, fitted, sizeOf } from "../src/budget";
import type { Entry, EntryKind, Item } from "../src/entries";

const LIST = {} as Element;

function entry(
  text: string,
  kind: EntryKind = "text",
  holder: Entry | null = null,
  item: Item | null = null,
): Entry {
  return { text, kind, holder, item, depth: 0, element: LIST };
}

const never = (): boolean => false;

test("a line costs what it takes as JSON", () => {
  expect(sizeOf('a "b" ä')).toBe(JSON.stringify(['a "b" ä']).length - 1 + 1);
});

test("a short list is told whole, a long one after its first items", () => {
  const items = (count: number) =>
    Array.from({ length: count }, (_, number) =>
      entry(`${number}`, "text", null, { list: LIST, number, outer: null }),
    );
  expect(collapsed(items(8), never).size).toBe(0);
  expect(collapsed(items(20), never).size).toBe(15);
  expect(collapsed(items(20), (each) => Number(each.text) >= 10).size).toBe(8);
});

test("what weighs most stays, in the order of the page, with its containers", () => {
  const holder = entry("main", "container");
  const all = [
    entry("light ".repeat(30)),
    holder,
    entry("heavy", "control", holder),
    entry("light too ".repeat(30)),
  ];
  const { kept, left } = fitted(all, new Set(), 330, (each) => (each.kind === "control" ? 2 : 1));
  expect(kept.map(({ text }) => text)).toEqual(["main", "heavy"]);
  expect(left.get(null)).toBe(2);
});

test("what was left out is counted where it would have stood", () => {
  const holder = entry("list", "container");
  const all = [holder, entry("a", "text", holder), entry("b", "text", holder)];
  const { left } = fitted(all, new Set(all.slice(2)), 10_000, () => 1);
  expect(left.get(holder)).toBe(1);
});
