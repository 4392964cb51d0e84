import { expect, test } from "vitest";
import { lineOf, toldOf } from "../src/told";

test.each([
  "",
  "null",
  "1",
  '"delta"',
  "[]",
  "{}",
  "<html>",
  '{"type":"later","delta":"x"}',
  '{"type":"delta"}',
  '{"type":"delta","delta":1}',
  '{"type":"status"}',
  '{"type":"response","message":"x","runId":"run_1"}',
  '{"type":"response","message":null,"history":[],"runId":"run_1"}',
  '{"type":"tool-calls","calls":[{"id":"a"}],"history":[],"runId":"run_1"}',
  '{"type":"tool-calls","calls":{},"history":[],"runId":"run_1"}',
  '{"type":"response","message":"x","code":5,"history":[],"runId":"run_1"}',
  '{"type":"error","code":"internal","error":{}}',
  '{"type":"approval-required","approvals":[null],"calls":[],"history":[],"runId":"run_1"}',
  '{"type":"approval-required","approvals":[{"id":"apr_1","tool":"mail","reason":"","preview":"","args":null,"argsHash":"h","expiresAt":"2030-01-01T00:00:00.000Z","expiresIn":9,"subjects":[]}],"calls":[],"history":[],"runId":"run_1"}',
  '{"type":"approval-required","approvals":[{"id":"apr_1","tool":"mail","reason":"","preview":"","args":{},"argsHash":1,"expiresAt":"2030-01-01T00:00:00.000Z","expiresIn":9,"subjects":[]}],"calls":[],"history":[],"runId":"run_1"}',
  '{"type":"approval-required","approvals":[{"id":"apr_1","tool":"mail","reason":"","preview":"","args":{},"argsHash":"h","expiresAt":"2030-01-01T00:00:00.000Z","expiresIn":9,"subjects":"x"}],"calls":[],"history":[],"runId":"run_1"}',
  '{"type":"approval-required","approvals":[{"id":"apr_1","tool":"mail","reason":"","preview":"","args":{},"argsHash":"h","expiresAt":"2030-01-01T00:00:00.000Z","expiresIn":9,"subjects":[1]}],"calls":[],"history":[],"runId":"run_1"}',
  '{"type":"approval-required","approvals":[{"id":"apr_1","tool":"mail","reason":"","preview":"","args":{},"argsHash":"h","expiresAt":"soon","expiresIn":9,"subjects":[]}],"calls":[],"history":[],"runId":"run_1"}',
  '{"type":"approval-required","approvals":[{"id":"apr_1","tool":"mail","reason":"","preview":{},"args":{},"argsHash":"h","expiresAt":"2030-01-01T00:00:00.000Z","expiresIn":9,"subjects":[]}],"calls":[],"history":[],"runId":"run_1"}',
  '{"type":"approval-required","approvals":[{"id":"apr_1","tool":"mail","reason":null,"preview":"","args":{},"argsHash":"h","expiresAt":"2030-01-01T00:00:00.000Z","expiresIn":9,"subjects":[]}],"calls":[],"history":[],"runId":"run_1"}',
])("%s is no line of ours", (text) => {
  expect(lineOf(text)).toBeNull();
});

test("the last line is the answer, with the history as it came", () => {
  const text = '{"type":"response","message":"Hi","history":[ {"n":1.0} ],"runId":"run_1","new":"member"}';
  const line = lineOf(text);
  expect(line && toldOf(line, text)).toMatchObject({ answer: { message: "Hi" }, history: '[ {"n":1.0} ]' });
  const delta = '{"type":"delta","delta":"x"}';
  const other = lineOf(delta);
  expect(other && toldOf(other, delta)).toBeNull();
});
