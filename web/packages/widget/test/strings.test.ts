import { expect, test } from "vitest";
import { filled, stringsFor, worded } from "../src/strings";

test("both languages have every word, and the same gaps", () => {
  const { codes: _, ...english } = stringsFor("en-GB");
  const { codes: __, ...german } = stringsFor("de-AT");
  expect(Object.keys(german)).toEqual(Object.keys(english));
  for (const [name, text] of Object.entries(english)) {
    const other = german[name as keyof typeof german];
    expect(other).not.toBe("");
    expect([name, other.includes("{}")]).toEqual([name, text.includes("{}")]);
  }
});

test("a language that is not known is English", () => {
  expect(["", "den", "fr"].map((language) => stringsFor(language).send)).toEqual(["Send", "Send", "Send"]);
});

test("gaps are filled with exactly what is given", () => {
  expect(filled("Expires in {}", "$&")).toBe("Expires in $&");
});

test("codes have words of their own, or speak for themselves", () => {
  expect(worded(stringsFor("de"), "offline", "You are offline.")).toMatch(/^Du bist offline/);
  expect(worded(stringsFor("de"), "constructor", "As it is.")).toBe("As it is.");
  expect(worded(stringsFor("en"), undefined, "As it is.")).toBe("As it is.");
});
