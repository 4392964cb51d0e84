import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watched } from "../src/watch";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function watching() {
  const control = new AbortController();
  return { control, watch: watched(control.signal, 120_000, Date.now) };
}

/** The machine sleeps: the clock goes on, and no timer runs. */
function sleepFor(milliseconds: number): void {
  vi.setSystemTime(Date.now() + milliseconds);
}

test("too long a silence ends it, and whatever is heard begins a new one", async () => {
  const { watch } = watching();
  await vi.advanceTimersByTimeAsync(100_000);
  watch.heard();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(watch.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(25_000);
  expect(watch.signal.aborted).toBe(true);
});

test("after the machine slept, a connection that says nothing is given up within seconds", async () => {
  const { watch } = watching();
  await vi.advanceTimersByTimeAsync(4_000);
  sleepFor(20 * 60_000);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(watch.signal.aborted).toBe(true);
});

test("one that speaks is kept", async () => {
  const { watch } = watching();
  sleepFor(20 * 60_000);
  await vi.advanceTimersByTimeAsync(2_500);
  watch.heard();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(watch.signal.aborted).toBe(false);
});

test("a page in the background, whose timers come once a minute, is not taken for one that slept", async () => {
  const { watch } = watching();
  for (let minutes = 0; minutes < 3; minutes++) {
    sleepFor(58_000);
    await vi.advanceTimersByTimeAsync(2_000);
    watch.heard();
  }
  sleepFor(58_000);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(watch.signal.aborted).toBe(false);
});

test("a clock that is set back does not make it wait for ever", async () => {
  const { watch } = watching();
  sleepFor(-3_600_000);
  await vi.advanceTimersByTimeAsync(125_000);
  expect(watch.signal.aborted).toBe(true);
});

test("it ends with what it follows, and leaves nothing behind", () => {
  const { control, watch } = watching();
  control.abort(new Error("stopped"));
  expect(watch.signal.reason).toMatchObject({ message: "stopped" });
  watch.over();
  expect(vi.getTimerCount()).toBe(0);
});
