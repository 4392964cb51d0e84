import { describe, expect, it } from "vitest";
import { argsOf, fieldsOf, Mistyped } from "../src/pages/approvals/fields";

const kinds = (args: { [name: string]: unknown }) => fieldsOf(args).map(({ kind }) => kind);

describe("the fields of arguments", () => {
  it("come back as they were", () => {
    const args = {
      ...{
        to: "bob@example.com",
        body: "One\nTwo",
        empty: "",
        count: 3,
        part: -0.5,
        big: 1e21,
        isUrgent: false,
      },
      ...{ isSure: true, cc: ["a@example.com", "b@example.com"], none: [], nothing: null },
      ...{ numbers: [1, 2], lines: ["one\ntwo"], blanks: [" a"], holes: [""], deep: { a: [{ b: "c" }] } },
    };
    expect(argsOf(fieldsOf(args))).toEqual(args);
  });

  it("are plain where that is enough", () => {
    expect(kinds({ a: "x", b: "x\ny", c: "x".repeat(81) })).toEqual(["line", "text", "text"]);
    expect(kinds({ a: 1, b: true, c: ["x"], d: [] })).toEqual(["number", "switch", "lines", "lines"]);
  });

  it("are JSON where plain text would lose something", () => {
    expect(kinds({ a: null, b: {}, c: [1], d: ["x\ny"], e: [""], f: [" x"] })).toEqual(Array(6).fill("json"));
  });

  it("leave empty lines out of lists", () => {
    expect(argsOf([{ name: "cc", kind: "lines", text: " a \n\nb\n" }])).toEqual({ cc: ["a", "b"] });
  });

  it.each([
    ["number", ""],
    ["number", "three"],
    ["number", "Infinity"],
    ["json", "{"],
    ["json", ""],
  ] as const)("refuse what is no %s: %j", (kind, text) => {
    const read = () => argsOf([{ name: "x", kind, text }]);
    expect(read).toThrow(Mistyped);
    expect(read).toThrow(/has to be/);
  });

  it("do not mistake a name of an argument for something else", () => {
    const args = JSON.parse('{"__proto__": "x", "constructor": "y"}');
    expect(Object.entries(argsOf(fieldsOf(args)))).toEqual(Object.entries(args));
  });
});
