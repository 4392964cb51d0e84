import { expect, test } from "vitest";
import { asJson } from "../src/json";

test("plain data stays as it is", () => {
  const data = { a: [1, "two", null, true], b: { c: {} } };
  expect(asJson(data)).toEqual(data);
});

test("elements, functions and circles are left out", () => {
  const circle: Record<string, unknown> = { name: "x", element: { nodeType: 1 }, act: () => 0 };
  circle.self = circle;
  expect(asJson(circle)).toEqual({ name: "x" });
});

test("the same object twice is no circle", () => {
  const mug = { name: "mug" };
  expect(asJson([mug, mug])).toEqual([mug, mug]);
});

test("long texts and lists are cut, and it is said how much", () => {
  expect((asJson("x".repeat(3_000)) as string).length).toBe(2_001);
  const list = asJson(Array.from({ length: 500 }, (_, at) => at)) as unknown[];
  expect(list.length).toBe(201);
  expect(list.at(-1)).toBe("… 300 more");
});

test("what throws when it is read is left out", () => {
  const odd = {
    get bad(): string {
      throw new Error("no");
    },
  };
  expect(asJson({ good: 1, odd })).toEqual({ good: 1 });
});

test("a member called __proto__ is a member like any other", () => {
  const copy = asJson(JSON.parse('{"__proto__": {"polluted": 1}}')) as object;
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"polluted":1}}');
});

test("a value that goes on for ever ends", () => {
  const deep: Record<string, unknown> = {};
  let at = deep;
  for (let n = 0; n < 1_000; n++) at = at.next = {} as Record<string, unknown>;
  expect(JSON.stringify(asJson(deep)).length).toBeLessThan(200);
});
