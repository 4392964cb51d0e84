import { expect, test } from "vitest";
import { problemsOf } from "../src/schema";
import type { Json } from "../src/types";

const FITTING: [Json, Json][] = [
  [{ a: 1 }, { type: "object", properties: { a: { type: "integer" } }, required: ["a"] }],
  [{ a: 1.5 }, { properties: { a: { type: ["number", "null"] } } }],
  [{ a: null }, { properties: { a: { type: ["number", "null"] } } }],
  ["red", { enum: ["red", "blue"] }],
  [{ a: [1] }, { const: { a: [1] } }],
  [0.3, { multipleOf: 0.1 }],
  ["漢字", { minLength: 2, maxLength: 2 }],
  [["a", "b"], { items: { type: "string" }, uniqueItems: true }],
  [{ extra: 1 }, { type: "object" }],
  [5, { anyOf: [{ type: "string" }, { minimum: 5 }] }],
  ["x", { pattern: "(" }],
  [1, true],
];

const FAILING: [Json, Json, string][] = [
  [{}, { required: ["a"] }, 'must have "a"'],
  [{ a: "1" }, { properties: { a: { type: "integer" } } }, "arguments.a must be integer, not string"],
  [1.5, { type: "integer" }, "must be integer"],
  [[], { type: "object" }, "not array"],
  ["green", { enum: ["red", "blue"] }, 'one of "red", "blue"'],
  [4, { minimum: 5 }, "at least 5"],
  [5, { exclusiveMinimum: 5 }, "more than 5"],
  [0.35, { multipleOf: 0.1 }, "multiple of 0.1"],
  ["a", { minLength: 2 }, "at least 2 characters"],
  ["abc", { pattern: "^[0-9]+$" }, "must match"],
  [["a", 1], { items: { type: "string" } }, "arguments[1]"],
  [["a", "a"], { uniqueItems: true }, "same item twice"],
  [{ b: 1 }, { additionalProperties: false }, 'must not have "b"'],
  [{ constructor: 1 }, { properties: {}, additionalProperties: false }, 'must not have "constructor"'],
  [5, { anyOf: [{ type: "string" }, { minimum: 6 }] }, "none of the forms"],
  [5, { oneOf: [{ type: "number" }, { minimum: 1 }] }, "exactly one"],
  [5, { not: { type: "number" } }, "not allowed"],
  [5, { allOf: [{ minimum: 1 }, { maximum: 4 }] }, "at most 4"],
  [1, false, "may not be given"],
];

test.each(FITTING)("%j fits %j", (value, schema) => {
  expect(problemsOf(value, schema)).toEqual([]);
});

test.each(FAILING)("%j does not fit %j", (value, schema, said) => {
  expect(problemsOf(value, schema).join("; ")).toContain(said);
});

test("not more is said than can be read", () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`x${at}`, 1]));
  expect(problemsOf(many, { additionalProperties: false })).toHaveLength(5);
});
