import { expect, test } from "vitest";
import { keyOf } from "../src/act/keys";

test.each([
  ["Enter", { key: "Enter", code: "Enter", keyCode: 13, text: "" }],
  ["enter", { key: "Enter" }],
  ["Esc", { key: "Escape", keyCode: 27 }],
  ["Space", { key: " ", code: "Space", keyCode: 32, text: " " }],
  ["a", { key: "a", code: "KeyA", keyCode: 65, text: "a", shiftKey: false }],
  ["A", { key: "A", code: "KeyA", keyCode: 65, text: "A", shiftKey: true }],
  ["7", { key: "7", code: "Digit7", keyCode: 55 }],
  ["é", { key: "é", text: "é", keyCode: 0 }],
  ["+", { key: "+", text: "+" }],
  ["Shift+Tab", { key: "Tab", shiftKey: true, text: "" }],
  ["Control+a", { key: "a", ctrlKey: true, text: "" }],
  ["Control++", { key: "+", ctrlKey: true }],
  ["Meta+Shift+K", { key: "K", metaKey: true, shiftKey: true }],
])("%s is a key", (name, expected) => {
  expect(keyOf(name)).toMatchObject(expected);
});

test.each(["", "Hyper", "Hyper+a", "ab", "Control+"])("%j is no key, and it is said what is one", (name) => {
  expect(() => keyOf(name)).toThrow(/expected one character, Space or one of/);
});
