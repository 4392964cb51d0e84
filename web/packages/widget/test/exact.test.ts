import { expect, test } from "vitest";
import { exact, remaining, rows, visible } from "../src/exact";

test("what is invisible is spelt out", () => {
  expect(visible("pay\u202Eecila\u200B\u0007")).toBe("pay\\u202eecila\\u200b\\u0007");
  // A sentence can be written in tags alone, which nobody sees.
  expect(visible("bob\u{e0041}")).toBe("bob\\udb40\\udc41");
  expect(visible("two\nlines, naïve 日本")).toBe("two\nlines, naïve 日本");
});

test("arguments are exact JSON, whatever the page did to its arrays", () => {
  const value = { a: [1, 'x"\\\n\u202e', null, true], b: {}, c: [], "d e": { f: -1.5 } };
  Object.assign(Array.prototype, { toJSON: () => "spoilt" });
  try {
    const text = exact(value);
    Reflect.deleteProperty(Array.prototype, "toJSON");
    expect(JSON.parse(text)).toEqual(value);
    expect(text).not.toContain("\u202e");
  } finally {
    Reflect.deleteProperty(Array.prototype, "toJSON");
  }
});

test("arguments are a table with a row for each value", () => {
  expect(rows({ to: ["a", "b"], at: { street: "x", tags: [] }, gift: true, none: null, empty: {} })).toEqual([
    ["to[1]", "a"],
    ["to[2]", "b"],
    ["at.street", "x"],
    ["at.tags", "[]"],
    ["gift", "true"],
    ["none", "null"],
    ["empty", "{}"],
  ]);
});

test("time that is left is told in minutes and seconds", () => {
  expect([remaining(600_000), remaining(59_001), remaining(3_661_000), remaining(-5)]).toEqual([
    "10:00",
    "1:00",
    "1:01:01",
    "0:00",
  ]);
});
