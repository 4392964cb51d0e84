import { afterEach, expect, test } from "vitest";
import { clean, memberText, written } from "../src/json";

afterEach(() => {
  Reflect.deleteProperty(Array.prototype, "toJSON");
  Reflect.deleteProperty(Object.prototype, "inherited");
});

test("what is written reads as what it was", () => {
  const value = { a: [1, -0.5, 1e21, "x\n\u2028☕", null, true, {}], "b c": { d: [] }, 'q"': "\\" };
  expect(JSON.parse(written(value))).toEqual(value);
});

test("what a host page did to prototypes does not show", () => {
  Reflect.set(Array.prototype, "toJSON", () => "spoilt");
  Reflect.set(Object.prototype, "inherited", "spoilt");
  expect(written({ a: [1, { b: 2 }] })).toBe('{"a":[1,{"b":2}]}');
});

test("what has no form in JSON, and what the server refuses, has another one", () => {
  expect(written([Number.NaN, Number.POSITIVE_INFINITY, undefined, () => 1, Symbol.iterator])).toBe(
    "[null,null,null,null,null]",
  );
  expect(written({ a: undefined, b: () => 1, c: 1 })).toBe('{"c":1}');
  expect(written("half \ud83d, nothing \0, whole 👋")).toBe('"half \ufffd, nothing \ufffd, whole 👋"');
  expect(clean("\udc4b👋")).toBe("\ufffd👋");
});

test("something without an end has one", () => {
  const round: { self?: unknown } = {};
  round.self = round;
  expect(written(round).length).toBeLessThan(1000);
});

test.each([
  ['{"history":[1.0,12345678901234567890,-0.0,1e400]}', "[1.0,12345678901234567890,-0.0,1e400]"],
  ['{"a":{"history":[1]},"history" : [ 2 ] ,"b":3}', "[ 2 ]"],
  ['{"a":"\\"history\\":[","history":["]}\\\\",{"x":"{[\\""}]}', '["]}\\\\",{"x":"{[\\""}]'],
  ['{"hist\\u006fry":[3]}', "[3]"],
  ['{"history":[1],"history":[2]}', "[2]"],
  [' { "type" : "x" , "history" : [] } ', "[]"],
  ['{"type":"x","n":-1.5e3,"t":true,"history":null}', "null"],
])("a member of %s is found as it stands there", (json, found) => {
  expect(memberText(json, "history")).toBe(found);
  JSON.parse(json);
});

test.each(["{}", '{"a":1}', "[]", '"history"', ""])("%s has no such member", (json) => {
  expect(memberText(json, "history")).toBeUndefined();
});

test("a history of half a megabyte is found in no time", () => {
  const history = JSON.stringify(
    Array.from({ length: 5_000 }, (_, n) => ({ role: "user", parts: [{ text: `${n}`.repeat(20) }] })),
  );
  const began = performance.now();
  expect(memberText(`{"type":"response","history":${history},"runId":"run_1"}`, "history")).toBe(history);
  expect(performance.now() - began).toBeLessThan(2_000);
});
