/** Blocks that are for people only. Their text is the document's; nothing of it is read as HTML. */

import type { BlockView, DocumentView } from "@pollux/protocol";
import type { VNode } from "preact";
import { Pre } from "../../parts/arguments";
import { Markdown } from "../../parts/markdown";
import { written } from "./kinds";

const ITEMS = ["bulletListItem", "bulletedListItem", "numberedListItem", "checkListItem", "toggleListItem"];

export function Prose({ block }: { block: BlockView }): VNode | null {
  const text = block.content || written(block, "content") || written(block, "text");
  if (block.type === "divider" || block.type === "horizontal_rule") return <hr />;
  if (!text.trim()) return null;
  if (block.type === "heading") return <Heading level={block.props.level} text={text} />;
  if (block.type === "codeBlock") return <Pre text={text} label="Code" />;
  if (block.type === "quote") return <Markdown text={quoted(text)} />;
  if (block.type === "checkListItem")
    return <Markdown text={`- [${block.props.checked === true ? "x" : " "}] ${text}`} />;
  if (ITEMS.includes(block.type)) return <Markdown text={`- ${text}`} />;
  return <Markdown text={text} />;
}

/** The page's own heading is the document's name, so that its headings begin below it. */
function Heading({ level, text }: { level: unknown; text: string }): VNode {
  return level === 1 || level === undefined ? <h2 dir="auto">{text}</h2> : <h3 dir="auto">{text}</h3>;
}

/** The document's blocks, but for a heading that only says its name again. */
export function bodyOf({ blocks, name }: DocumentView): readonly BlockView[] {
  const [first, ...others] = blocks;
  return first?.type === "heading" && first.content.trim() === name.trim() ? others : blocks;
}

function quoted(text: string): string {
  return text.replace(/^/gm, "> ");
}
