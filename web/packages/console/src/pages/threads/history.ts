/** What was said before, in the order it is shown: each call with its result, whichever message that is in. */

import type { AttachmentView, CallView, MessagePage, MessageView, ResultView } from "@pollux/protocol";
import { type Step, stepOf } from "./step";

/** The messages that were read so far, in order, and from where on there are earlier ones. */
export interface Past {
  readonly messages: readonly MessageView[];
  readonly next: string | null;
}

export interface Entry {
  readonly number: number;
  readonly kind: "user" | "assistant" | "notice";
  readonly text: string;
  readonly steps: readonly Step[];
  readonly files: readonly AttachmentView[];
}

/** With one more page of it. */
export function withPage(past: Past, { items, next }: MessagePage): Past {
  const byNumber = new Map([...past.messages, ...items].map((message) => [message.number, message]));
  return { messages: [...byNumber.values()].sort((a, b) => a.number - b.number), next };
}

export function entriesOf(messages: readonly MessageView[]): readonly Entry[] {
  return messages.flatMap((message, index) => {
    const { number, kind, text, calls, attachments: files } = message;
    if (kind === "tool") return [];
    const steps = calls.map((call) => pastStep(call, resultOf(call, messages.slice(index + 1))));
    if (!text && steps.length === 0 && files.length === 0) return [];
    return [{ number, kind, text, steps, files }];
  });
}

/** Ids may come again in later turns: it is the first one that counts, before somebody says something else. */
function resultOf({ id }: CallView, after: readonly MessageView[]): ResultView | undefined {
  for (const { kind, results } of after) {
    if (kind === "user") return undefined;
    const found = results.find((result) => result.id === id);
    if (found) return found;
  }
  return undefined;
}

function pastStep({ id, tool, args }: CallView, result: ResultView | undefined): Step {
  const step = stepOf({ type: "tool_call", id, name: tool, args, minted: false, facts: null });
  if (!result) return { ...step, state: "withdrawn" };
  return { ...step, state: result.isError ? "failed" : "completed", result: result.result };
}
