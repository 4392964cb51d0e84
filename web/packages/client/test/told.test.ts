import { expect, test } from "vitest";
import { lineOf, linesOf, toldOf } from "../src/told";

const TEXT =
  '{"type":"status","status":"planning","runId":"run_1"}\n\n{"type":"delta","delta":"Grüße 👋"}\r\n{"a":1}\n';

function body(...chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function all(stream: ReadableStream<Uint8Array>): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(stream)) lines.push(line);
  return lines;
}

test("lines are the same wherever their bytes are cut", async () => {
  const bytes = new TextEncoder().encode(TEXT);
  const whole = TEXT.split("\n").slice(0, -1);
  for (let first = 0; first <= bytes.length; first++) {
    expect(await all(body(bytes.slice(0, first), bytes.slice(first)))).toEqual(whole);
  }
  expect(await all(body(...[...bytes].map((byte) => Uint8Array.of(byte))))).toEqual(whole);
});

test("a line that was cut off is none", async () => {
  expect(await all(body(new TextEncoder().encode('{"a":1}\n{"type":"resp')))).toEqual(['{"a":1}']);
});

test("who has heard enough hangs up", async () => {
  let isCancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("{}\n")),
    cancel: () => {
      isCancelled = true;
    },
  });
  for await (const _ of linesOf(stream)) break;
  expect(isCancelled).toBe(true);
});

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
  '{"type":"approval-required","approvals":[null],"calls":[],"history":[],"runId":"run_1"}',
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
