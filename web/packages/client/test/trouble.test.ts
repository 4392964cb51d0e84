import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ClientOptions, createConversation, type PagePort } from "../src/index";
import { callFor, fakeServer, says, wants } from "./fake_server";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const quiet: PagePort = { state: () => null, tools: () => [], execute: async () => ({ result: "done" }) };

function talkWith(fetch: unknown, options: Partial<ClientOptions> = {}) {
  const claims = { take: async () => () => undefined };
  return createConversation({
    base: "",
    page: quiet,
    fetch: fetch as typeof globalThis.fetch,
    claims,
    ...options,
  });
}

/** A server that leaves requests to these paths unanswered, so often; whoever asked may have gone or not. */
function silentAt(server: ReturnType<typeof fakeServer>, path: string, times: number, begins = "") {
  let left = times;
  return async (url: string, init?: RequestInit) => {
    if (!url.includes(path) || left-- <= 0) return await server.fetch(url, init);
    if (!begins) return await new Promise<Response>(() => undefined);
    const start = (controller: ReadableStreamDefaultController) =>
      controller.enqueue(new TextEncoder().encode(begins));
    return new Response(new ReadableStream({ start }));
  };
}

const BEGUN = '{"type":"status","status":"planning","runId":"run_1"}\n{"type":"delta","delta":"I w"}\n';

test.each([
  ["the session", "/session", ""],
  ["an answer that has not begun", "/send-message", ""],
  ["an answer that has begun", "/send-message", BEGUN],
])("a machine that slept during %s asks again when it wakes", async (_, path, begins) => {
  const talk = talkWith(silentAt(fakeServer(says("Awake.")), path, 1, begins));
  const sending = talk.send("hi");
  await vi.advanceTimersByTimeAsync(1_000);
  vi.setSystemTime(Date.now() + 5 * 60_000);
  await vi.advanceTimersByTimeAsync(8_000);
  await sending;
  expect(talk.state).toMatchObject({ isLoading: false, error: null });
  expect(talk.state.messages.map(({ content }) => content)).toEqual(["hi", "Awake."]);
});

test("who slept so long that the server may have forgotten does not have it done twice", async () => {
  const server = fakeServer(says("Done again."));
  const talk = talkWith(silentAt(server, "/send-message", 1, BEGUN));
  const sending = talk.send("buy");
  await vi.advanceTimersByTimeAsync(1_000);
  vi.setSystemTime(Date.now() + 30 * 60_000);
  await vi.advanceTimersByTimeAsync(8_000);
  await sending;
  expect(talk.state).toMatchObject({ isLoading: false, error: { code: "answer_gone", canRetry: true } });
  expect(server.paths()).toEqual(["/api/page/session"]);
});

test("who slept before anything was said is heard, however long it was", async () => {
  const talk = talkWith(silentAt(fakeServer(says("Awake.")), "/session", 1));
  const sending = talk.send("hi");
  await vi.advanceTimersByTimeAsync(1_000);
  vi.setSystemTime(Date.now() + 30 * 60_000);
  await vi.advanceTimersByTimeAsync(8_000);
  await sending;
  expect(talk.state.messages.at(-1)?.content).toBe("Awake.");
});

test("a server that says nothing any more is given up, and can be asked again", async () => {
  const server = fakeServer(wants(callFor("act_1")), says("Here again."));
  const execute = vi.fn(quiet.execute);
  const talk = talkWith(silentAt(server, "/submit", 6), { page: { ...quiet, execute } });
  const sending = talk.send("hi");
  await vi.advanceTimersByTimeAsync(15 * 60_000);
  await sending;
  expect(talk.state).toMatchObject({ isLoading: false, error: { code: "unreachable", canRetry: true } });
  await talk.retry();
  expect(talk.state.messages.at(-1)?.content).toBe("Here again.");
  expect(execute).toHaveBeenCalledOnce();
});

test.each([
  ["nothing", ""],
  ["half an answer", BEGUN],
])("stopping works where the server says %s, and the next message is heard", async (_, begins) => {
  const talk = talkWith(silentAt(fakeServer(says("Yes?")), "/send-message", 1, begins));
  void talk.send("hi");
  await vi.advanceTimersByTimeAsync(1_000);
  const stopping = talk.stop();
  await vi.advanceTimersByTimeAsync(0);
  expect(talk.state).toMatchObject({ isLoading: false, error: null });
  await vi.advanceTimersByTimeAsync(4_000);
  await stopping;
  await talk.send("are you there?");
  expect(talk.state.messages.at(-1)?.content).toBe("Yes?");
});

test("stopping does not wait for a server that has gone", async () => {
  const gone = silentAt(fakeServer(), "/send-message", 1, BEGUN);
  const talk = talkWith((url: string, init?: RequestInit) =>
    url.includes("/cancel") ? new Promise(() => undefined) : gone(url, init),
  );
  void talk.send("hi");
  await vi.advanceTimersByTimeAsync(1_000);
  const stopping = talk.stop();
  await vi.advanceTimersByTimeAsync(11_000);
  await stopping;
  expect(talk.state.isLoading).toBe(false);
});

// The time that a call has.

test("a call has the time that the server gives it, less what the way back takes", async () => {
  const server = fakeServer(wants({ ...callFor("act_1"), expiresIn: 10 }), says("Oh."));
  const talk = talkWith(server.fetch, { page: { ...quiet, execute: () => new Promise(() => undefined) } });
  const sending = talk.send("go");
  await vi.advanceTimersByTimeAsync(8_900);
  expect(talk.state.isLoading).toBe(true);
  await vi.advanceTimersByTimeAsync(200);
  await sending;
  expect(server.asked.at(-1)?.body).toMatchObject({ results: [{ callId: "act_1", isError: true }] });
});

test.each([600, 1e9, 1e300])("a call that may take %d seconds is not given up before", async (expiresIn) => {
  const server = fakeServer(wants({ ...callFor("act_1"), expiresIn }), says("Done."));
  let done = (_: { result: string }) => {};
  const execute = () =>
    new Promise<{ result: string }>((resolve) => {
      done = resolve;
    });
  const talk = talkWith(server.fetch, { page: { ...quiet, execute } });
  const sending = talk.send("go");
  await vi.advanceTimersByTimeAsync(9 * 60_000);
  expect(talk.state.isLoading).toBe(true);
  done({ result: "ready" });
  await sending;
  expect(server.asked.at(-1)?.body).toMatchObject({ results: [{ callId: "act_1", result: "ready" }] });
});

test.each(["5", null, -1, {}])("a time that is none is passed over: %j", async (expiresIn) => {
  const server = fakeServer(wants({ ...callFor("act_1"), expiresIn }), says("Done."));
  const talk = talkWith(server.fetch);
  await talk.send("go");
  expect(server.asked.at(-1)?.body).toMatchObject({ results: [{ callId: "act_1", result: "done" }] });
});

test.each([-1e300, 1e300, 1e12])("a question for %d seconds does no harm", async (expiresIn) => {
  const question = {
    id: "apr_1",
    tool: "mail",
    reason: "",
    preview: "",
    args: {},
    argsHash: "h",
    subjects: [],
  };
  const approvals = [{ ...question, expiresAt: "2999-01-01T00:00:00.000Z", expiresIn }];
  const asks = { type: "approval-required", approvals, calls: [], history: [], runId: "run_1" };
  const talk = talkWith(fakeServer(asks).fetch);
  await talk.send("go");
  expect(talk.state).toMatchObject({ error: null, approvals: [{ id: "apr_1" }] });
  talk.clear();
});

// What is no answer.

const lines = (...each: readonly string[]) => each.join("\n");

test.each([
  ["half a line", BEGUN.slice(0, -4)],
  ["nothing", ""],
  ["a page", "<!doctype html><title>502</title>\n<p>Bad gateway\n"],
  [
    "other types",
    lines("null", "[]", '{"type":1}', '{"type":"response","message":[],"history":{},"runId":1}', ""),
  ],
  ["a history that is none", '{"type":"response","message":"x","history":"[]","runId":"run_1"}\n'],
  ["a line of 10 MB", `{"type":"response","message":"${"x".repeat(10 << 20)}"`],
  ["actions without end", '{"type":"tool_call","id":"a","toolName":"t","preview":""}\n'.repeat(3_000)],
])("%s is told as trouble, and can be tried again", async (_, body) => {
  const server = fakeServer(says("Better."));
  let isBroken = true;
  const talk = talkWith(
    (url: string, init?: RequestInit) =>
      isBroken && url.endsWith("/stream") ? Promise.resolve(new Response(body)) : server.fetch(url, init),
    { wait: async () => undefined },
  );
  await talk.send("hi");
  expect(talk.state).toMatchObject({ isLoading: false, error: { canRetry: true } });
  expect(["unreachable", "bad_answer"]).toContain(talk.state.error?.code);
  isBroken = false;
  await talk.retry();
  expect(talk.state.messages.map(({ content }) => content)).toEqual(["hi", "Better."]);
});

test.each([
  [502, "<html>Bad gateway</html>", "unreachable", true],
  [500, "x".repeat(5 << 20), "unreachable", true],
  [403, "<html>Sign in</html>", "http_403", false],
  [400, '{"error":{"code":7,"message":{}}}', "http_400", false],
  [400, `{"error":{"code":"odd","message":"${"x".repeat(9_000)}"}}`, "odd", false],
  [418, "null", "http_418", false],
] as const)(
  "a refusal with status %d and a body of anything is told in bounds",
  async (status, body, code, canRetry) => {
    const talk = talkWith(async () => new Response(body, { status }), { wait: async () => undefined });
    await talk.send("hi");
    expect(talk.state).toMatchObject({ isLoading: false, error: { code, canRetry } });
    expect(talk.state.error?.message.length).toBeLessThanOrEqual(2_000);
  },
);
