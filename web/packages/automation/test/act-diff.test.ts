import { expect, test } from "vitest";
import { addressOf, changes } from "../src/diff";
import { Secrets } from "../src/secrets";

const seen = (lines: string[], more = {}) => ({
  address: "https://shop.example/",
  title: "Shop",
  lines,
  secrets: new Secrets(),
  ...more,
});

test("what is the same is not told, whatever its ref is now", () => {
  expect(changes(seen(['e1 button "Buy"', 'text "A"']), seen(['e9 button "Buy"', 'text "A"']))).toEqual([]);
});

test("a control that changed is told once, as it is now", () => {
  const told = changes(seen(['e1 textbox "Name"']), seen(['e1 textbox "Name" = "Ada"']));
  expect(told).toEqual(['~ e1 textbox "Name" = "Ada"']);
});

test("two of a kind that become three are one more", () => {
  expect(changes(seen(['text "x"', 'text "x"']), seen(['text "x"', 'text "x"', 'text "x"']))).toEqual([
    '+ text "x"',
  ]);
});

test("alerts and dialogs come before the rest, what is gone comes last", () => {
  const told = changes(seen(['text "old"']), seen(['text "new"', 'alert "Sold out"', 'dialog "Sure?"']));
  expect(told).toEqual(['+ alert "Sold out"', '+ dialog "Sure?"', '+ text "new"', '- text "old"']);
});

test("what stood in a private field is not told when it stands there no more", () => {
  const secrets = new Secrets();
  secrets.add("hunter22");
  const told = changes(seen([], { secrets }), seen(['text "It was hunter22"']));
  expect(told).toEqual(['+ text "It was [private]"']);
});

test.each([
  ["https://a.example/x?token=1", "https://a.example/x"],
  ["https://a.example/x#part", "https://a.example/x#part"],
  ["https://a.example/x#token=1", "https://a.example/x"],
  ["about:blank", "blank"],
])("the address %s is told as %s", (given, told) => {
  expect(addressOf(given)).toBe(told);
});
