import { afterEach, expect, test, vi } from "vitest";
import { type Claims, claimsHere } from "../src/claim";
import { createConversation } from "../src/index";
import { callFor, fakeServer, memoryShelf, says, wants } from "./fake_server";

afterEach(() => vi.unstubAllGlobals());

/** The browser's locks, as far as they are used: one holder at a time, and others may give up waiting. */
function fakeLocks() {
  const held = new Set<string>();
  return {
    async request(
      name: string,
      { signal }: { signal: AbortSignal },
      use: () => Promise<void>,
    ): Promise<void> {
      while (held.has(name)) {
        if (signal.aborted) throw new DOMException("given up", "AbortError");
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      held.add(name);
      await use();
      held.delete(name);
    },
  };
}

function tab(
  items: Map<string, string>,
  server: ReturnType<typeof fakeServer>,
  claims: Claims,
  hold?: Promise<void>,
) {
  const executed: string[] = [];
  const talk = createConversation({
    ...{ base: "http://server", shelf: memoryShelf(items), fetch: server.fetch as typeof fetch, claims },
    page: {
      state: () => null,
      tools: () => [],
      execute: async ({ id }) => {
        executed.push(id);
        await hold;
        return { result: "done" };
      },
    },
  });
  return { talk, executed, items };
}

const ways: [string, () => void][] = [
  ["locks", () => vi.stubGlobal("navigator", { locks: fakeLocks() })],
  ["asking around", () => vi.stubGlobal("navigator", {})],
];

test.each(ways)("a duplicated tab does not do what the first one is doing (%s)", async (_, stub) => {
  stub();
  const claims = claimsHere();
  const server = fakeServer(wants(callFor("act_1"), callFor("act_2")), says("Done."));
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const first = tab(new Map(), server, claims, held);
  const sending = first.talk.send("do two things");
  await vi.waitFor(() => expect(first.executed).toEqual(["act_1"]));

  const copy = tab(new Map(first.items), server, claims);
  await copy.talk.resume();
  expect(copy.executed).toEqual([]);
  expect(copy.talk.state.messages.map(({ code }) => code)).toEqual(["elsewhere"]);

  go();
  await sending;
  expect(first.executed).toEqual(["act_1", "act_2"]);
  expect(first.talk.state.messages.at(-1)?.content).toBe("Done.");
});

test.each(ways)("a tab that is closed leaves what it was doing to the next one (%s)", async (_, stub) => {
  stub();
  const claims = claimsHere();
  const first = await claims.take("pollux x");
  expect(first).not.toBeNull();
  expect(await claims.take("pollux y")).not.toBeNull();
  first?.();
  expect(await claims.take("pollux x")).not.toBeNull();
});

test("a copy of a tab that is idle goes on by itself", async () => {
  vi.stubGlobal("navigator", { locks: fakeLocks() });
  const server = fakeServer(says("Hello."), says("One."), says("Two."));
  const first = tab(new Map(), server, claimsHere());
  await first.talk.send("hi");
  const copy = tab(new Map(first.items), server, claimsHere());
  await copy.talk.resume();
  await Promise.all([first.talk.send("more"), copy.talk.send("more")]);
  const last = [first, copy].map(({ talk }) => talk.state.messages.at(-1)?.content);
  expect(last.sort()).toEqual(["One.", "Two."]);
});
