import { describe, expect, test } from "vitest";
import { Blocks } from "../src/markdown/blocks";
import { blocks as parse, referencesOf } from "../src/markdown/lines";

const DOCUMENT = `# Mugs

Two **blue** mugs, _really_ [blue](https://shop.example/blue).

- one
- two

  still two
- three
  1. nested
  2. deeper

| a | b |
|---|---|
| 1 | 2 |

\`\`\`js
const a = "# not a heading";

// - not a list
\`\`\`

> quoted
> and more

Setext
======

- [x] done
- [ ] not done

<div>raw</div>

Last line.`;

const whole = (text: string) => parse(text, new Map());

describe("blocks of a message that grows", () => {
  test("are those of the whole, however it was cut", () => {
    for (const size of [1, 2, 3, 7, 20, 61]) {
      const blocks = new Blocks();
      for (let end = size; end < DOCUMENT.length; end += size) {
        const sofar = DOCUMENT.slice(0, end);
        expect(blocks.read(sofar, true)).toEqual(whole(sofar));
      }
      expect(blocks.read(DOCUMENT, false)).toEqual(whole(DOCUMENT));
    }
  });

  test("are the text again", () => {
    for (const text of [DOCUMENT, `\n\n${DOCUMENT}\n\n`, "", "\n", "a\n\n\nb", "- a\n\n\n- b\n\nc\n"]) {
      const raw = whole(text).map((block) => block.raw);
      expect(raw.join("")).toBe(raw.length ? text : "");
    }
  });

  test("that are settled are the same objects as before", () => {
    const blocks = new Blocks();
    const before = blocks.read("One.\n\nTwo.\n\nThr", true);
    const after = blocks.read("One.\n\nTwo.\n\nThree.", true);
    expect(after).toHaveLength(3);
    for (const index of [0, 1]) expect(after[index]).toBe(before[index]);
    expect(after[2]).not.toBe(before[2]);
  });

  test("stay the same objects when the message ends", () => {
    const blocks = new Blocks();
    const before = blocks.read("One.\n\n- two\n\nThree.", true);
    const after = blocks.read("One.\n\n- two\n\nThree.", false);
    expect(after.map((block, index) => block === before[index])).toEqual([true, true, true]);
  });

  test("begin anew when the text is another one", () => {
    const blocks = new Blocks();
    blocks.read("One.\n\nTwo.", true);
    expect(blocks.read("Other.\n\nTwo.", true)).toEqual(whole("Other.\n\nTwo."));
  });

  test("know references at the end, also those that came last", () => {
    const text = "See [it][1].\n\nMore.\n\n[1]: https://shop.example/one";
    const blocks = new Blocks();
    for (let end = 1; end < text.length; end += 1) blocks.read(text.slice(0, end), true);
    expect(blocks.read(text, false)).toEqual(parse(text, referencesOf(text)));
    expect(JSON.stringify(blocks.read(text, false))).toContain('"address":"https://shop.example/one"');
  });

  test("of another line ending are the same", () => {
    expect(new Blocks().read("a\r\n\r\nb\rc", false)).toEqual(whole("a\n\nb\nc"));
  });

  test("of what nobody would write are there in good time", () => {
    const units = [
      "> ",
      "- ",
      "1. ",
      "[",
      "![",
      "*a ",
      "_a*",
      "**a",
      "***a",
      "`",
      "`` ` ",
      "<a",
      "|a",
      "a_",
      "[a](",
      "[[a](b)",
      "~~a ",
      "a\n",
      "> a\n",
      "- a\n",
      "|-|\n",
      "[a]\n",
      "[a]: b\n",
      "http://",
      "www.a",
      "(((",
      "\\",
      "&#",
      "#",
      "\n",
      "  ",
      "\t",
    ];
    for (const unit of units) {
      for (const size of [3000, 49_000, 200_000]) {
        const began = performance.now();
        new Blocks().read(unit.repeat(Math.ceil(size / unit.length)), false);
        expect([unit, size, performance.now() - began < 2000]).toEqual([unit, size, true]);
      }
    }
  });
});
