import { expect, test } from "vitest";
import { cut, fold, quoted, similarity } from "../src/text";

test("text is folded to one line without signs that nobody sees", () => {
  expect(fold("  two\n\tlines\u200b\u202e ")).toBe("two lines");
});

test("a cut text is never longer than asked for and does not end in half a sign", () => {
  expect(cut("short", 10)).toBe("short");
  expect(cut("a longer text", 8)).toBe("a longe…");
  expect(cut("ab🙂🙂🙂", 4)).toBe("ab…");
  expect(cut("ab🙂🙂🙂", 4).length).toBeLessThanOrEqual(4);
});

test("a quoted text has no quotes of its own", () => {
  expect(quoted('say "hi"\nnow')).toBe("\"say 'hi' now\"");
});

test("texts are the more alike the more pairs they share", () => {
  expect(similarity("Add to cart", "add to cart")).toBe(1);
  expect(similarity("Add to cart", "Add to basket")).toBeGreaterThan(similarity("Add to cart", "Remove"));
  expect(similarity("", "x")).toBe(0);
});
