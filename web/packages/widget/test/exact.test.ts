import { expect, test } from "vitest";
import { exact, remaining, rows, visible } from "../src/exact";

test("what is invisible is spelt out", () => {
  expect(visible("pay\u202Eecila\u200B\u0007")).toBe("pay\\u202eecila\\u200b\\u0007");
  // A sentence can be written in tags alone, which nobody sees.
  expect(visible("bob\u{e0041}")).toBe("bob\\udb40\\udc41");
  expect(visible("two\nlines, naïve 日本")).toBe("two\nlines, naïve 日本");
});

test("what looks like nothing, or like a space, is spelt out as well", () => {
  expect(visible("a\ufe0fb\u034fc\u2800d\ufff9e")).toBe("a\\ufe0fb\\u034fc\\u2800d\\ufff9e");
  expect(visible("x\ud800y")).toBe("x\\ud800y");
  // It only colours a picture.
  expect(visible("\u2764\ufe0f \u{1f3f3}\ufe0f")).toBe("\u2764\ufe0f \u{1f3f3}\ufe0f");
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

test("no two values of a table have the same name", () => {
  const names = rows({ "a.b": 1, a: { b: 2, "": 3 }, "a[1]": 4, "": 5, "big room": 6, "to\u3164": 7 }).map(
    ([name]) => name,
  );
  expect(names).toEqual(['"a.b"', "a.b", 'a[""]', '"a[1]"', '""', "big room", '"to\\u3164"']);
});

test("time that is left is told in minutes and seconds", () => {
  expect([remaining(600_000), remaining(59_001), remaining(3_661_000), remaining(-5)]).toEqual([
    "10:00",
    "1:00",
    "1:01:01",
    "0:00",
  ]);
});
