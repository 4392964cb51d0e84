import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ClientOptions, Conversation } from "../src/index";
import { callFor, fakeServer, says, wants } from "./fake_server";

const SERVER = "http://server";
const SHOP = "https://shop.example";
const REFUSED = `pages of ${SHOP} may not talk to this agent. To let them, add them to the server's configuration: [page] origins = ["${SHOP}"]`;
const NO_CORS = async () => {
  throw new TypeError("Failed to fetch");
};

let warned: string[] = [];
let waits: number[] = [];

beforeEach(() => {
  warned = [];
  waits = [];
  vi.resetModules();
  vi.spyOn(console, "warn").mockImplementation((line: string) => {
    warned.push(line);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** A page that was just loaded: nothing was said in its console yet. */
async function loaded(fetch: unknown, options: Partial<ClientOptions> = {}): Promise<Conversation> {
  const { createConversation } = await import("../src/index");
  return createConversation({
    ...{
      base: SERVER,
      fetch: fetch as typeof globalThis.fetch,
      claims: { take: async () => () => undefined },
    },
    page: { state: () => null, tools: () => [], execute: async () => ({ result: "done" }) },
    wait: async (milliseconds) => {
      waits.push(milliseconds);
    },
    ...options,
  });
}

test("a site that was not named is told so at once: its owner in the console, its visitor in the chat", async () => {
  const error = { code: "bad_origin", message: REFUSED, correlationId: "req_1" };
  const talk = await loaded(async () => Response.json({ ok: false, error }, { status: 403 }));
  await talk.send("hi");
  await talk.send("hello?");
  expect(talk.state).toMatchObject({ isLoading: false, error: { code: "bad_origin", canRetry: false } });
  expect(talk.state.error?.message).not.toContain("origins");
  expect([warned, waits]).toEqual([[`pollux: ${REFUSED}`], []]);
});

test("a server elsewhere that was never heard of is given up within three seconds", async () => {
  vi.stubGlobal("origin", SHOP);
  const talk = await loaded(NO_CORS);
  await talk.send("hi");
  expect(talk.state.error).toMatchObject({ code: "unreachable", canRetry: true });
  expect(waits.length).toBeGreaterThan(0);
  expect(waits.reduce((all, each) => all + each, 0)).toBeLessThan(3_000);
  expect(warned).toHaveLength(1);
  expect(warned[0]).toMatch(
    /http:\/\/server cannot be reached from https:\/\/shop\.example.*origins.*connect-src/,
  );
  await talk.retry();
  expect(warned).toHaveLength(1);
});

test("the page's own server, and one that was heard before, are waited for", async () => {
  vi.stubGlobal("origin", SERVER);
  await (await loaded(NO_CORS)).send("hi");
  expect([waits.length, warned]).toEqual([5, []]);

  waits = [];
  vi.stubGlobal("origin", SHOP);
  const server = fakeServer();
  const talk = await loaded((url: string, init: RequestInit) =>
    url.endsWith("session") ? server.fetch(url, init) : NO_CORS(),
  );
  await talk.send("hi");
  expect([waits.length, warned]).toEqual([5, []]);
});

test("who builds the page is told once which of its tools the agent does not hear of", async () => {
  const leftOut = { count: 2, tools: [{ name: "look", why: "its description\nis not text" }] };
  const server = fakeServer({ ...wants(callFor("act_1")), leftOut }, { ...says("Done."), leftOut });
  await (await loaded(server.fetch)).send("go");
  expect(warned).toEqual([
    "pollux: the agent does not hear of 2 of this page's tools as they are. look: its description is not text",
  ]);
});

test.each([null, [], "x", { count: 1 }, { count: 1, tools: {} }, { count: 1, tools: [] }])(
  "what is no list of tools is not told: %j",
  async (leftOut) => {
    const talk = await loaded(fakeServer({ ...says("Done."), leftOut }).fetch);
    await talk.send("go");
    expect([talk.state.messages.at(-1)?.content, warned]).toEqual(["Done.", []]);
  },
);

test("a server that never stops complaining does not fill the console", async () => {
  const answers = Array.from({ length: 40 }, (_, n) => ({
    ...says(`${n}`),
    leftOut: { count: 1, tools: [{ name: `${n}`, why: "x".repeat(5_000) }] },
  }));
  const talk = await loaded(fakeServer(...answers).fetch);
  for (const { message } of answers) await talk.send(message);
  expect(warned).toHaveLength(20);
  expect(Math.max(...warned.map((line) => line.length))).toBeLessThan(1_100);
});
