import { expect, test } from "vitest";
import { baseOf } from "../src/script";

test.each([
  ["https://agent.example/pollux.js", "https://agent.example"],
  ["https://agent.example/under/pollux.js?v=2", "https://agent.example/under"],
  ["/pollux.js", "https://shop.example"],
  ["../pollux.js", "https://shop.example"],
  ["blob:https://shop.example/1", ""],
  ["", "https://shop.example/mugs"],
])("a script at %s has its server at %s", (src, base) => {
  expect(baseOf(src, "https://shop.example/mugs/")).toBe(base);
});
