import { afterEach, expect, test, vi } from "vitest";
import { patiently, sleep } from "../src/patience";
import { CUT, chatError, Trouble } from "../src/trouble";

afterEach(() => vi.unstubAllGlobals());

function patience() {
  const waits: number[] = [];
  const troubles: [string, boolean][] = [];
  const control = new AbortController();
  return {
    waits,
    troubles,
    control,
    signal: control.signal,
    wait: async (milliseconds: number) => {
      waits.push(milliseconds);
    },
    onTrouble: (trouble: Trouble, isOffline: boolean) => {
      troubles.push([trouble.code, isOffline]);
    },
  };
}

const cut = async () => {
  throw new Trouble(CUT, "cut");
};

test("it is tried a few times, later each time, and not for ever", async () => {
  const given = patience();
  await expect(patiently(cut, given)).rejects.toMatchObject({ code: CUT });
  expect(given.waits).toHaveLength(5);
  given.waits.forEach((wait, at) => {
    expect(wait).toBeGreaterThanOrEqual(250 * 2 ** at);
    expect(wait).toBeLessThanOrEqual(500 * 2 ** at);
  });
});

test("who comes further each time may go on trying", async () => {
  const given = patience();
  let tries = 0;
  const attempt = async (further: () => void) => {
    further();
    if (++tries < 40) await cut();
    return tries;
  };
  expect(await patiently(attempt, given)).toBe(40);
});

test("what was refused is not tried again", async () => {
  const given = patience();
  const refused = async () => {
    throw new Trouble("invalid", "no", { status: 400 });
  };
  await expect(patiently(refused, given)).rejects.toMatchObject({ code: "invalid" });
  expect(given.waits).toEqual([]);
});

test("who is stopped while waiting stops", async () => {
  const control = new AbortController();
  const given = { ...patience(), wait: sleep, signal: control.signal };
  const trying = patiently(cut, { ...given, onTrouble: () => queueMicrotask(() => control.abort()) });
  await expect(trying).rejects.toMatchObject({ name: "AbortError" });
});

test("without a network it waits until there is one", async () => {
  const network = new EventTarget();
  const navigator = { onLine: false };
  vi.stubGlobal("navigator", navigator);
  vi.stubGlobal("addEventListener", network.addEventListener.bind(network));
  vi.stubGlobal("removeEventListener", network.removeEventListener.bind(network));
  const given = { ...patience(), wait: sleep };
  const attempt = async () => (navigator.onLine ? "there" : await cut());
  const trying = patiently(attempt, given);
  await vi.waitFor(() => expect(given.troubles).toEqual([[CUT, true]]));
  navigator.onLine = true;
  network.dispatchEvent(new Event("online"));
  expect(await trying).toBe("there");
});

test("who has been offline all along is told that", async () => {
  vi.stubGlobal("navigator", { onLine: false });
  const problem = await patiently(cut, patience()).catch((thrown: unknown) => thrown);
  expect(chatError(problem)).toMatchObject({ code: "offline", canRetry: true });
});

test("a fault of our own is told without its words", () => {
  expect(chatError(new TypeError("x is not a function"))).toEqual({
    code: "internal",
    message: "Something went wrong in this page. Try again.",
    canRetry: true,
  });
});
