/** What the lines of a stream say. What nobody knows is passed over. */

import type {
  ApprovalRequired,
  PageLine,
  PendingCall,
  Question,
  Response as Said,
  ToolCalls,
} from "@pollux/protocol";
import { memberText } from "./json";

/** What a request came to, and the history exactly as it was given. */
export interface Told {
  readonly answer: Said | ToolCalls | ApprovalRequired;
  readonly history: string;
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
      return isText(line.code) && isText(line.error);
    case "response":
      return isAnswer(line) && isText(line.message) && (line.code === undefined || isText(line.code));
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
  if (!isObject(question) || !isObject(question.args)) return false;
  const { id, tool, reason, preview, argsHash, expiresAt, subjects } = question;
  return (
    [id, tool, reason, preview, argsHash, expiresAt].every(isText) &&
    !Number.isNaN(Date.parse(expiresAt)) &&
    areAll(subjects, isText)
  );
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
