import { describe, expect, test } from "vitest";
import { decoded } from "../src/markdown/entities";
import { disguises, linkTo } from "../src/markdown/links";

const here = { baseURI: "https://shop.example/mugs/", origin: "https://shop.example" };

describe("a link", () => {
  test.each([
    ["https://other.example/a?b#c", "https://other.example/a?b#c", true],
    ["HTTP://OTHER.example", "http://other.example/", true],
    ["mailto:ada@shop.example", "mailto:ada@shop.example", false],
    ["blue", "https://shop.example/mugs/blue", false],
    ["/cart#top", "https://shop.example/cart#top", false],
    ["?page=2", "https://shop.example/mugs/?page=2", false],
    ["a file.pdf", "https://shop.example/mugs/a%20file.pdf", false],
  ])("to %s is one", (address, href, isAway) => {
    expect(linkTo(address, here)).toMatchObject({ href, isAway });
  });

  test.each([
    "javascript:alert(1)",
    " JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "java\nscript:alert(1)",
    "\u0001javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "blob:https://shop.example/1",
    "file:///etc/passwd",
    "about:blank",
    "ftp://other.example/",
    "tel:+1",
    "intent://x",
    "view-source:https://shop.example/",
    "//other.example/path",
    "\\\\other.example",
    "/\\other.example",
    "\t//other.example",
    "https:\\\\other.example",
    "https://shop.example@other.example/",
    "https://user:secret@other.example/",
    "http://",
    "https://[::1",
  ])("to %j is none", (address) => {
    expect(linkTo(address, here)).toBeNull();
  });

  test("is relative to the page's base, and yet only to its own site", () => {
    expect(linkTo("x", { baseURI: "https://other.example/", origin: "https://shop.example" })).toBeNull();
    expect(linkTo("/x", { baseURI: "about:blank", origin: "null" })).toBeNull();
  });

  test("whose text is another site's address is known for it", () => {
    const link = linkTo("https://evil.example/login", here);
    if (!link) throw new Error("expected a link");
    expect(disguises("https://bank.example", link, here)).toBe(true);
    expect(disguises("www.bank.example", link, here)).toBe(true);
    expect(disguises("https://evil.example.bank.example", link, here)).toBe(true);
    expect(disguises("https://evil.example/other", link, here)).toBe(false);
    expect(disguises("our store", link, here)).toBe(false);
  });
});

test("character references are read without HTML", () => {
  expect(decoded("a &lt;b&gt; &amp;amp; &#65;&#x42; &nope; &constructor; &#0; &#xD800; &#x10FFFF;")).toBe(
    "a <b> &amp; AB &nope; &constructor; \ufffd \ufffd \u{10ffff}",
  );
});
