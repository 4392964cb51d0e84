import { expect, test } from "vitest";
import { LARGEST_ANSWER, linesOf, textOf } from "../src/bodies";

const { signal } = new AbortController();
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
  for await (const line of linesOf(stream, signal)) lines.push(line);
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
  for await (const _ of linesOf(stream, signal)) break;
  expect(isCancelled).toBe(true);
});

/** A body that brings the same for ever, and how often it was asked for more. */
function endless(text: string) {
  const piece = new TextEncoder().encode(text);
  const seen = { pulled: 0, isCancelled: false };
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      seen.pulled += 1;
      controller.enqueue(piece);
    },
    cancel: () => {
      seen.isCancelled = true;
    },
  });
  return { stream, seen };
}

const MEGABYTE = 1 << 20;

test("a line that does not end is not waited for, and no more of it is taken", async () => {
  const { stream, seen } = endless("x".repeat(MEGABYTE));
  await expect(all(stream)).rejects.toMatchObject({ code: "bad_answer" });
  expect(seen.pulled * MEGABYTE).toBeLessThan(LARGEST_ANSWER + 4 * MEGABYTE);
  expect(seen.isCancelled).toBe(true);
});

test("lines that do not end are not read for ever", async () => {
  const { stream, seen } = endless(`${"x".repeat(MEGABYTE)}\n`);
  await expect(all(stream)).rejects.toMatchObject({ code: "bad_answer" });
  expect(seen.isCancelled).toBe(true);
});

test("an answer that does not end is not read for ever", async () => {
  const { stream, seen } = endless("[".repeat(MEGABYTE));
  const reading = textOf(new Response(stream), { most: LARGEST_ANSWER, signal });
  await expect(reading).rejects.toMatchObject({ code: "bad_answer" });
  expect(seen.pulled * MEGABYTE).toBeLessThan(LARGEST_ANSWER + 4 * MEGABYTE);
});

test("a body that says nothing more is left when it is stopped, whatever its fetch knows of that", async () => {
  const control = new AbortController();
  const reading = textOf(new Response(new ReadableStream()), { most: 10, signal: control.signal });
  control.abort();
  await expect(reading).rejects.toMatchObject({ name: "AbortError" });
});
