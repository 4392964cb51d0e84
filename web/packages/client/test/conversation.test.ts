import { afterEach, expect, test, vi } from "vitest";
import { type ClientOptions, createConversation, type PagePort } from "../src/index";
import { callFor, fakeServer, memoryShelf, says, wants } from "./fake_server";

afterEach(() => vi.useRealTimers());

const alone = { take: async () => () => undefined };
const quiet: PagePort = { state: () => null, tools: () => [], execute: async () => ({ result: "done" }) };

function talkWith(server: ReturnType<typeof fakeServer>, options: Partial<ClientOptions> = {}) {
  const fetch = server.fetch as typeof globalThis.fetch;
  return createConversation({ base: "http://server", page: quiet, fetch, claims: alone, ...options });
}

function submitted(server: ReturnType<typeof fakeServer>): unknown[] {
  return server.asked
    .filter(({ path }) => path.includes("submit"))
    .map(({ body }) => (body as { results: unknown }).results);
}

test("a page that throws is told to the model as a failed call", async () => {
  const server = fakeServer(wants(callFor("act_1"), callFor("act_2")), says("Oh."));
  const execute = vi.fn(async ({ id }: { id: string }) => {
    if (id === "act_1") throw new Error("it broke");
    return { result: "x".repeat(40_000) };
  });
  const talk = talkWith(server, { page: { ...quiet, execute } });
  await talk.send("go");
  const [results] = submitted(server) as { callId: string; result: string; isError?: boolean }[][];
  expect(results?.[0]).toMatchObject({
    callId: "act_1",
    isError: true,
    result: expect.stringContaining("it broke"),
  });
  expect(results?.[1]?.result).toMatch(/more characters cut\)$/);
  expect(talk.state.activity.map(({ status }) => status)).toEqual(["failed", "done"]);
});

function asksFor(ref: string, ...ids: string[]) {
  const question = { tool: "click", args: { ref }, onPage: true, subjects: [], scopes: [] };
  const told = {
    reason: "",
    preview: "",
    argsHash: "h",
    expiresAt: "2999-01-01T00:00:00.000Z",
    expiresIn: 300,
  };
  const approvals = (ids.length ? ids : ["q_1"]).map((id) => ({ id, ...question, ...told }));
  return { type: "approval-required", calls: [], approvals, history: [], runId: "run_1" };
}

test.each([
  ["Pay 24", "Pay 24", 1],
  ["Pay 24", "Pay 500", 0],
  [undefined, "Pay 500", 0],
  [undefined, undefined, 1],
])("what was agreed to as %s and is %s is done %i times", async (before, after, times) => {
  const server = fakeServer(asksFor("e4"), wants(callFor("act_1", { ref: "e4" })), says("Done."));
  let name = before;
  const execute = vi.fn(async () => ({ result: "done" }));
  const state = () => null;
  const talk = talkWith(server, { page: { ...quiet, state, execute, subject: () => name } });
  await talk.send("pay");
  const answering = talk.resolve("q_1", "approve_once");
  // Whatever else was done meanwhile.
  name = after;
  await answering;
  expect(execute).toHaveBeenCalledTimes(times);
  const [results] = submitted(server).slice(-1) as { isError?: boolean }[][];
  expect(results?.[0]?.isError ?? false).toBe(times === 0);
});

test("of two presses that were agreed to alike, the second is not done under another name either", async () => {
  const [first, second] = [callFor("act_1", { ref: "e4" }), callFor("act_2", { ref: "e4" })];
  const server = fakeServer(asksFor("e4", "q_1", "q_2"), wants(first), wants(second), says("Done."));
  let name = "Pay 24";
  const execute = vi.fn(async () => {
    name = "Pay 500";
    return { result: "done" };
  });
  const talk = talkWith(server, { page: { ...quiet, execute, subject: () => name } });
  await talk.send("pay");
  await Promise.all([talk.resolve("q_1", "approve_once"), talk.resolve("q_2", "approve_once")]);
  expect(execute).toHaveBeenCalledTimes(1);
  expect(submitted(server).slice(-1)).toMatchObject([[{ callId: "act_2", isError: true }]]);
});

test("a page that cannot tell what it shows can still be talked about", async () => {
  const server = fakeServer(says("Hello."));
  const fail = () => {
    throw new Error("no page");
  };
  const talk = talkWith(server, { page: { ...quiet, state: fail, tools: fail } });
  await talk.send("hi");
  expect(talk.state.messages.at(-1)?.content).toBe("Hello.");
  expect(server.asked[1]?.body).toMatchObject({ toolDefinitions: [], pageState: null });
});

test("the page is looked at anew for every request", async () => {
  const server = fakeServer(wants(callFor("act_1")), says("Done."));
  let looked = 0;
  const talk = talkWith(server, { page: { ...quiet, state: () => ++looked } });
  await talk.send("go");
  const states = server.asked.slice(1).map(({ body }) => (body as { pageState: unknown }).pageState);
  expect(states).toEqual([1, 2]);
});

test("a call that takes too long is given up, and what is said of it is the truth", async () => {
  vi.useFakeTimers();
  const server = fakeServer(wants(callFor("act_1"), callFor("act_2")), says("Oh."));
  const stopped = vi.fn();
  const execute: PagePort["execute"] = (_, signal) => {
    signal.addEventListener("abort", stopped);
    return new Promise(() => undefined);
  };
  const talk = talkWith(server, { page: { ...quiet, execute } });
  const sending = talk.send("go");
  await vi.advanceTimersByTimeAsync(61_000);
  await sending;
  const [results] = submitted(server) as { result: string }[][];
  expect(results?.[0]?.result).toContain("may have happened");
  expect(results?.[1]?.result).toContain("Not done");
  expect(stopped).toHaveBeenCalledOnce();
});

test("nothing is said where there is nothing to say", async () => {
  const server = fakeServer();
  const talk = talkWith(server);
  await talk.send("  \n ");
  await talk.retry();
  await talk.resume();
  await talk.stop();
  await talk.resolve("apr_1", "approve_once");
  expect([server.asked, talk.state.messages]).toEqual([[], []]);
});

test("emoji count as one character each", async () => {
  const server = fakeServer(says("Hello."));
  const talk = talkWith(server);
  await talk.send("👋".repeat(100_000));
  expect(talk.state.error).toBeNull();
  await talk.send("👋".repeat(100_001));
  expect(talk.state.error).toMatchObject({ code: "too_long", canRetry: false });
});

test("a server that never comes to an end is left", async () => {
  const server = fakeServer(...Array.from({ length: 99 }, (_, n) => wants(callFor(`act_${n}`))));
  const talk = talkWith(server);
  await talk.send("go");
  expect(talk.state).toMatchObject({ isLoading: false, error: { code: "loop_limit" } });
  expect(submitted(server)).toHaveLength(50);
});

test("a proxy that answers in the server's place is not believed", async () => {
  const fetch = async () => new Response("<html>Sign in to the hotel</html>", { status: 200 });
  const talk = createConversation({
    ...{ base: "", page: quiet, fetch, claims: alone, shelf: memoryShelf() },
    wait: async () => undefined,
  });
  await talk.send("hi");
  expect(talk.state.error).toMatchObject({ code: "unreachable", canRetry: true });
});

test("a clock that is wrong here does not shorten the time of a question", async () => {
  const question = {
    id: "apr_1",
    tool: "mail",
    reason: "",
    preview: "",
    args: {},
    argsHash: "h",
    subjects: [],
  };
  const approvals = [{ ...question, expiresAt: new Date().toISOString(), expiresIn: 600 }];
  const server = fakeServer({ type: "approval-required", approvals, calls: [], history: [], runId: "run_1" });
  const now = () => Date.now() + 3_600_000;
  const talk = talkWith(server, { now });
  await talk.send("go");
  const left = Date.parse(talk.state.approvals[0]?.expiresAt ?? "") - now();
  expect(Math.abs(left - 600_000)).toBeLessThan(5_000);
  talk.clear();
});

test("a stranger's token is renewed while it still counts, and a stranger stays who they are", async () => {
  const server = fakeServer(says("One."), says("Two."), says("Three."));
  let now = Date.now();
  const talk = talkWith(server, { now: () => now });
  await talk.send("one");
  now += 5 * 3_600_000;
  await talk.send("two");
  expect(server.paths().filter((path) => path.endsWith("session"))).toHaveLength(1);
  now += 2 * 3_600_000;
  await talk.send("three");
  expect(server.paths().filter((path) => path.endsWith("session"))).toHaveLength(2);
});

test("what is cleared is gone, and a new conversation can begin at once", async () => {
  const server = fakeServer(says("One."), says("Two."));
  const shelf = memoryShelf();
  const talk = talkWith(server, { shelf });
  const first = talk.send("one");
  talk.clear();
  expect([talk.state.messages, shelf.items.size]).toEqual([[], 0]);
  await talk.send("two");
  await first;
  expect(talk.state.messages[0]?.content).toBe("two");
  expect(talk.state.messages).toHaveLength(2);
});

test("a call that waited while the page was away is done only if the server still waits for it", async () => {
  const shelf = memoryShelf();
  const records: string[] = [];
  const watched = {
    ...shelf,
    setItem: (key: string, value: string) => {
      records.push(value);
      shelf.setItem(key, value);
    },
  };
  const answers = [wants(callFor("act_1")), says("Done.")];
  await talkWith(fakeServer(...answers), { shelf: watched }).send("go");
  const waiting = records.find((text) => text.includes('"kind":"owing"') && text.includes('"did":[]')) ?? "";
  for (const [later, times] of [
    [30_000, 1],
    [90_000, 0],
  ] as const) {
    const server = fakeServer(says("Done."));
    const execute = vi.fn(quiet.execute);
    const found = memoryShelf(new Map([[[...shelf.items.keys()][0] ?? "", waiting]]));
    const talk = talkWith(server, {
      shelf: found,
      page: { ...quiet, execute },
      now: () => Date.now() + later,
    });
    await talk.resume();
    expect(execute).toHaveBeenCalledTimes(times);
    expect(submitted(server)).toMatchObject([[{ callId: "act_1", ...(times === 0 && { isError: true }) }]]);
    expect(talk.state.messages.at(-1)?.content).toBe("Done.");
  }
});
