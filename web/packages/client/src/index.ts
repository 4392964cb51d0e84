/** The conversation of a page with its agent, without a page: sessions, streams, calls, questions, reloads. */

export type { PendingCall, Question } from "@pollux/protocol";
export { linesOf } from "./bodies";
export type { Claims, Release } from "./claim";
export { createConversation, LONGEST_MESSAGE } from "./conversation";
export { isUnderWay, subjectOf } from "./kept";
export { sleep } from "./patience";
export type {
  Activity,
  ChatError,
  ChatMessage,
  ChatState,
  ClientOptions,
  Conversation,
  Decision,
  Json,
  PagePort,
  Role,
  Shelf,
  ToolDefinition,
} from "./types";
