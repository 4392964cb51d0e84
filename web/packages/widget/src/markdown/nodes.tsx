/** Markdown as nodes. Text becomes text: nothing that was written is ever read as HTML. */

import { Component, type ComponentChildren, type VNode } from "preact";
import type { Strings } from "../strings";
import { CodeBlock } from "../view/code-block";
import { Scroll } from "../view/scroll";
import { disguises, linkTo } from "./links";
import type { Inline, Item, Shape } from "./tokens";

interface Props {
  readonly block: Shape;
  readonly strings: Strings;
}

/** One block of a message, made again only when it was read again. */
export class BlockView extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    return next.block !== this.props.block || next.strings !== this.props.strings;
  }

  override render({ block, strings }: Props): ComponentChildren {
    return blockNode(block, strings);
  }
}

function blockNode(block: Shape, strings: Strings): ComponentChildren {
  const within = (children: readonly Inline[]) => inlineNodes(children, strings);
  switch (block.type) {
    case "paragraph":
      return <p>{within(block.children)}</p>;
    case "heading":
      // The levels of headings belong to the page around us.
      return <p class={`heading h${block.depth}`}>{within(block.children)}</p>;
    case "code":
      return <CodeBlock text={block.text} language={block.language} strings={strings} />;
    case "quote":
      return <blockquote>{block.blocks.map((inner) => blockNode(inner, strings))}</blockquote>;
    case "list": {
      const items = block.items.map((item) => <li>{itemNodes(item, block.isTight, strings)}</li>);
      return block.start === null ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>;
    }
    case "table":
      return <TableView table={block} strings={strings} />;
    case "rule":
      return <hr />;
    case "plain":
      return <p class="plain">{block.text}</p>;
    case "definition":
      return null;
  }
}

function itemNodes({ blocks, isDone }: Item, isTight: boolean, strings: Strings): ComponentChildren {
  const mark = isDone === undefined ? "" : isDone ? "☑ " : "☐ ";
  return [
    mark,
    ...blocks.map((block) =>
      isTight && block.type === "paragraph"
        ? inlineNodes(block.children, strings)
        : blockNode(block, strings),
    ),
  ];
}

function TableView({
  table,
  strings,
}: {
  table: Extract<Shape, { type: "table" }>;
  strings: Strings;
}): VNode {
  const row = (Cell: "th" | "td", cells: readonly (readonly Inline[])[]) => (
    <tr>
      {cells.map((cell, index) => (
        <Cell class={`to-${table.align[index]}`}>{inlineNodes(cell, strings)}</Cell>
      ))}
    </tr>
  );
  return (
    <Scroll label={strings.table}>
      <table>
        <thead>{row("th", table.header)}</thead>
        <tbody>{table.rows.map((cells) => row("td", cells))}</tbody>
      </table>
    </Scroll>
  );
}

function inlineNodes(children: readonly Inline[], strings: Strings): ComponentChildren[] {
  return children.map((child) => inlineNode(child, strings));
}

function inlineNode(child: Inline, strings: Strings): ComponentChildren {
  if (typeof child === "string") return child;
  switch (child.type) {
    case "code":
      return <code>{child.text}</code>;
    case "image":
      return <span class="image">{child.text || strings.image}</span>;
    case "link":
      return linkNode(child, inlineNodes(child.children, strings));
    default: {
      const Form = child.type;
      return <Form>{inlineNodes(child.children, strings)}</Form>;
    }
  }
}

function linkNode({ address, text }: Extract<Inline, { type: "link" }>, children: ComponentChildren): VNode {
  const place = { baseURI: document.baseURI, origin: location.origin };
  const link = linkTo(address, place);
  if (link === null) return <span class="no-link">{children}</span>;
  return (
    <>
      <a
        href={link.href}
        rel="noopener noreferrer"
        target={link.isAway ? "_blank" : undefined}
        title={link.href}
      >
        {children}
      </a>
      {disguises(text, link, place) && ` (${link.host || link.href})`}
    </>
  );
}
