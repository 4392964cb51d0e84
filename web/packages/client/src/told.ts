/** What comes down a stream, line by line. Chunks may end anywhere; what nobody knows is passed over. */

import type {
  ApprovalRequired,
  PageLine,
  PendingCall,
  Question,
  Response as Said,
  ToolCalls,
} from "@pollux/protocol";
import { memberText } from "./json";
import { CUT, Trouble } from "./trouble";

/** What a request came to, and the history exactly as it was given. */
export interface Told {
  readonly answer: Said | ToolCalls | ApprovalRequired;
  readonly history: string;
}

/** More than any line of ours: whoever sends this is not our server. */
const LONGEST_LINE = 16 << 20;

/** The lines of a body. A last one without an end was cut off, and is not given. */
export async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      // Only what is new can hold the end of a line.
      let searched = rest.length;
      rest += decoder.decode(value, { stream: true });
      let start = 0;
      for (let end = rest.indexOf("\n", searched); end >= 0; end = rest.indexOf("\n", searched)) {
        yield rest.slice(start, end);
        start = searched = end + 1;
      }
      rest = rest.slice(start);
      if (rest.length > LONGEST_LINE) throw new Trouble(CUT, "a line of the answer does not end");
    }
  } finally {
    // Whoever has heard enough hangs up.
    reader.cancel().catch(() => undefined);
  }
}

/** A line as what it says; null for what is none of ours. */
export function lineOf(text: string): PageLine | null {
  let line: PageLine;
  try {
    line = JSON.parse(text);
  } catch {
    return null;
  }
  return isObject(line) && isKnown(line) ? line : null;
}

/** The answer that a last line is, else null. `text` is the line as it came. */
export function toldOf(line: PageLine, text: string): Told | null {
  if (line.type !== "response" && line.type !== "tool-calls" && line.type !== "approval-required")
    return null;
  return { answer: line, history: memberText(text, "history") ?? "[]" };
}

function isKnown(line: PageLine): boolean {
  switch (line.type) {
    case "status":
      return isText(line.runId);
    case "delta":
    case "thought_delta":
      return isText(line.delta);
    case "tool_call":
      return isText(line.id) && isText(line.toolName);
    case "turn_restarted":
      return true;
    case "error":
      return isText(line.code);
    case "response":
      return isAnswer(line) && isText(line.message);
    case "tool-calls":
      return isAnswer(line) && areAll(line.calls, isCall);
    case "approval-required":
      return isAnswer(line) && areAll(line.calls, isCall) && areAll(line.approvals, isQuestion);
    default:
      return false;
  }
}

function isAnswer(line: Said | ToolCalls | ApprovalRequired): boolean {
  return Array.isArray(line.history) && isText(line.runId);
}

function isCall(call: PendingCall): boolean {
  return isObject(call) && isText(call.id) && isText(call.name) && isObject(call.args);
}

function isQuestion(question: Question): boolean {
  return isObject(question) && isText(question.id) && isText(question.tool) && isText(question.expiresAt);
}

function areAll<T>(items: readonly T[], isFit: (item: T) => boolean): boolean {
  return Array.isArray(items) && items.every(isFit);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}
