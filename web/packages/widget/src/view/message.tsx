/** One message. It is made again only when it changed, so that long conversations stay quick. */

import type { ChatMessage } from "@pollux/client";
import { Component, type VNode } from "preact";
import { Blocks } from "../markdown/blocks";
import { BlockView } from "../markdown/nodes";
import { type Strings, worded } from "../strings";

interface Props {
  readonly message: ChatMessage;
  readonly strings: Strings;
}

const SPEAKERS = { user: "you", assistant: "assistant", system: "note" } as const;

export class Message extends Component<Props> {
  readonly #blocks = new Blocks();

  override shouldComponentUpdate({ message, strings }: Props): boolean {
    const before = this.props.message;
    return (
      strings !== this.props.strings ||
      message.content !== before.content ||
      message.isStreaming !== before.isStreaming
    );
  }

  override render({ message, strings }: Props): VNode {
    const { role, content, isStreaming = false } = message;
    return (
      <div class={`message ${role}`}>
        <span class="unseen">{strings[SPEAKERS[role]]}: </span>
        <div class={isStreaming ? "body streaming" : "body"} dir="auto">
          {role === "assistant"
            ? this.#blocks
                .read(content, isStreaming)
                .map((block, index) => <BlockView key={index} block={block} strings={strings} />)
            : worded(strings, message.code, content)}
        </div>
      </div>
    );
  }
}
