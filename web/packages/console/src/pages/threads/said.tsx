/** One message. What somebody wrote is text, whoever it was. */

import type { AttachmentView } from "@pollux/protocol";
import type { VNode } from "preact";
import { Markdown } from "../../parts/markdown";
import { SentFiles } from "./attached";

interface Props {
  readonly kind: "user" | "assistant" | "notice";
  readonly text: string;
  readonly isStreaming?: boolean;
  readonly files?: readonly AttachmentView[];
  readonly threadId?: string;
}

const CLASSES = { user: "user", assistant: "agent", notice: "note" } as const;
const SPEAKERS = { user: "You", assistant: "Agent", notice: "Note" } as const;

export function Said({ kind, text, isStreaming = false, files = [], threadId = "" }: Props): VNode {
  return (
    <article class={`said ${CLASSES[kind]}`} aria-label={SPEAKERS[kind]}>
      {text && <Markdown text={text} isStreaming={isStreaming} />}
      <SentFiles files={files} threadId={threadId} />
    </article>
  );
}
