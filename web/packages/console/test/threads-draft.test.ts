import { expect, test } from "vitest";
import { draftOf, forgetSent, keepDraft, keyOf } from "../src/pages/threads/draft";

test("what was written is kept for each conversation by itself", () => {
  keepDraft("thr_1", "one");
  keepDraft("thr_2", "two");
  expect([draftOf("thr_1"), draftOf("thr_2"), draftOf("thr_3")]).toEqual(["one", "two", ""]);
});

test("the same goes under the same key until it has arrived; anything else under another", () => {
  const key = keyOf("thr_4", "hello");
  keepDraft("thr_4", "hello");
  expect(keyOf("thr_4", "hello")).toBe(key);
  expect(keyOf("thr_5", "hello")).not.toBe(key);
  forgetSent("thr_4");
  const next = keyOf("thr_4", "hello");
  expect(next).not.toBe(key);
  expect(keyOf("thr_4", "hello, and more")).not.toBe(next);
  expect(draftOf("thr_4")).toBe("hello");
});
