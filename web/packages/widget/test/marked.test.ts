/** Our reading of Markdown held against a well-known one, on what answers are made of. */

import { marked } from "marked";
import { describe, expect, test } from "vitest";
import { blocks, referencesOf } from "../src/markdown/lines";
import type { Inline, Shape } from "../src/markdown/tokens";

const TEXTS = [
  "Plain *em* and _em_ and **strong** and __strong__ and ***both*** and ~~gone~~.",
  "**bold *nested* more** *a **b** c* **a*b**c* *a**b*",
  "snake_case_name and 2*3*4 and a * b * c and ** not ** and _not_here_ x",
  '**Note:** text. **"quoted"** and *(parenthesised)*, **a**b, a**b**, «**x**»',
  "`code` and ``a ` b`` and `` `x` `` and `unclosed and **bold**",
  "`**not bold**` and *`em code`* and [`code link`](https://a.example)",
  "\\*not em\\* and \\[not\\](link) and \\\\ and \\a",
  '[a](https://a.example) [b](<https://b.example/x y>) [c](/c "title") [d](https://d.example/(x)_y) [e]()',
  "[not a link] and [x](not a link) and ![alt *text*](https://a.example/i.png)",
  "[**bold** link](https://a.example) and **[link](https://b.example)** and [a [b](https://b.example) c](https://c.example)",
  "See <https://a.example/x?y=1&z=2> and <ada@a.example> and https://b.example/x_y_z. And (https://c.example/a) www.d.example!",
  "[one][1], [Two][], [three].\n\n[1]: https://a.example\n[two]: <https://b.example> \"t\"\n[THREE]: /c 'x'",
  "a &amp; b &lt;c&gt; &copy; &#65; &#x42; & AT&T",
  "# One\n## Two ##\n### Three\n#### Four `code`\n##### Five\n###### Six\n####### not\n#not",
  "Title\n=====\n\nSub *title*\n---\n\ntext\n---\nmore",
  "one\ntwo\n\nthree",
  "---\n\n***\n\n___\n\n- - -\n\n* * *",
  "- a\n- b\n- c",
  "* a\n* b\n\n+ c\n+ d",
  "1. a\n2. b\n3. c",
  "3) a\n4) b",
  "- a\n\n- b\n\n- c",
  "- a\n  continued\n- b\nlazy\n\nafter",
  "- a\n  - b\n    - c\n  - d\n- e",
  "1. a\n   - b\n   - c\n2. d\n   1. e\n   2. f",
  "- a\n\n  second paragraph\n\n- b",
  "- a\n  ```js\n  code();\n\n  more();\n  ```\n- b",
  "- **Key:** value\n- `x`: y\n- [link](https://a.example)",
  "- [x] done\n- [ ] open\n- plain",
  "text\n- list right after\n- more\n\ntext\n1. one\n2. two",
  "- a\n- b\n\n\ntext",
  "> quote\n> more\n\n> other",
  "> a\nlazy\n\ntext",
  "> # head\n> - a\n> - b\n>\n> para **bold**",
  "> > nested\n> back",
  "- > quoted item\n- b",
  "```\ncode <b> *x*\n```",
  "```python\ndef f():\n    return 1\n\n# not a heading\n```\nafter",
  "~~~\na\n```\nb\n~~~",
  "````\n```\ninner\n```\n````",
  "```js\nunclosed\n\nmore",
  "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
  "a | b\n:-- | --:\n1 | 2\n\nafter",
  "| a | b | c |\n|:-:|---|--:|\n| *x* | `y` | [z](https://a.example) |\n| 1 |\n| 1 | 2 | 3 | 4 |",
  "| a \\| b | c |\n|---|---|\n| 1 | 2 |",
  "text\n| a | b |\n|---|---|\n| 1 | 2 |",
  "| not | a table |\n\n| a |\n| b |",
  "Here is a plan:\n\n1. **First**: do `this`\n   - detail\n   - detail\n2. **Second**: do that\n\n```sh\nnpm i\n```\n\nDone! See [docs](https://a.example/docs).",
  "Final answer: **42**\n\n| Step | Result |\n| :--- | ---: |\n| one | `1` |\n\n> Note: *check* it.\n\n---\n\nBye.",
];

describe("our reading of Markdown agrees with another's", () => {
  test.each(TEXTS)("%j", (text) => {
    const ours = folded(blocks(text, referencesOf(text)).map(blockText).join(""));
    expect(ours).toBe(folded(marked.parse(text, { async: false })));
  });
});

function blockText(block: Shape): string {
  switch (block.type) {
    case "paragraph":
      return `<p>${inlineText(block.children)}</p>`;
    case "heading":
      return `<h${block.depth}>${inlineText(block.children)}</h${block.depth}>`;
    case "code":
      return `<pre><code>${escaped(block.text)}\n</code></pre>`;
    case "quote":
      return `<blockquote>${block.blocks.map(blockText).join("")}</blockquote>`;
    case "list": {
      const items = block.items.map(({ blocks, isDone }) => {
        const inner = blocks.map((inner) =>
          block.isTight && inner.type === "paragraph" ? inlineText(inner.children) : blockText(inner),
        );
        return `<li>${isDone === undefined ? "" : isDone ? "<input x>" : "<input>"}${inner.join("\n")}</li>`;
      });
      return block.start === null
        ? `<ul>${items.join("")}</ul>`
        : `<ol ${block.start}>${items.join("")}</ol>`;
    }
    case "table": {
      const row = (tag: string, cells: readonly (readonly Inline[])[]) =>
        `<tr>${cells.map((cell, index) => `<${tag} ${block.align[index]}>${inlineText(cell)}</${tag}>`).join("")}</tr>`;
      const rows = block.rows.map((cells) => row("td", cells)).join("");
      return `<table><thead>${row("th", block.header)}</thead>${rows && `<tbody>${rows}</tbody>`}</table>`;
    }
    case "rule":
      return "<hr>";
    case "plain":
      return block.text;
    case "definition":
      return "";
  }
}

function inlineText(children: readonly Inline[]): string {
  return children
    .map((child): string => {
      if (typeof child === "string") return escaped(child);
      if (child.type === "code") return `<code>${escaped(child.text)}</code>`;
      if (child.type === "image") return `<img ${escaped(child.text)}>`;
      if (child.type === "link") return `<a ${child.address}>${inlineText(child.children)}</a>`;
      return `<${child.type}>${inlineText(child.children)}</${child.type}>`;
    })
    .join("");
}

function escaped(text: string): string {
  return text
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;")
    .replace(/'/g, "&#39;");
}

/** HTML of either side, without what neither means. */
function folded(html: string): string {
  return html
    .replace(/<a href="([^"]*)"[^>]*>/g, (_, href: string) => `<a ${decodeURI(href).replace(/&amp;/g, "&")}>`)
    .replace(/<img src="[^"]*" alt="([^"]*)"[^>]*>/g, "<img $1>")
    .replace(/<(th|td) align="(\w+)">/g, "<$1 $2>")
    .replace(/<(th|td)>/g, "<$1 >")
    .replace(/<ol start="(\d+)">/g, "<ol $1>")
    .replace(/<ol>/g, "<ol 1>")
    .replace(/<input [^>]*checked[^>]*>/g, "<input x>")
    .replace(/<input [^x>][^>]*>/g, "<input>")
    .replace(/<code class="[^"]*">/g, "<code>")
    .replace(/&copy;/g, "©")
    .replace(/&#(\d+);|&#x([0-9a-f]+);/gi, (_, decimal, hex) =>
      String.fromCodePoint(decimal ? +decimal : Number.parseInt(hex, 16)),
    )
    .replace(/(<input(?: x)?>) /g, "$1")
    .replace(/\s*(<\/?(?:p|h\d|ul|ol|li|blockquote|pre|table|thead|tbody|tr|th|td|hr)\b[^>]*>)\s*/g, "$1")
    .trim();
}
