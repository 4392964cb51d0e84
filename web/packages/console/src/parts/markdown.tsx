/** What a model wrote, as nodes. Text stays text: nothing of it is read as HTML. */

import { Blocks, BlockView, stringsFor } from "@pollux/widget";
import type { VNode } from "preact";
import { useRef } from "preact/hooks";

const STRINGS = stringsFor("en");

export function Markdown({ text, isStreaming = false }: { text: string; isStreaming?: boolean }): VNode {
  const blocks = useRef<Blocks | null>(null);
  blocks.current ??= new Blocks();
  return (
    <div class="markdown" dir="auto">
      {blocks.current.read(text, isStreaming).map((block, index) => (
        <BlockView key={index} block={block} strings={STRINGS} />
      ))}
    </div>
  );
}
