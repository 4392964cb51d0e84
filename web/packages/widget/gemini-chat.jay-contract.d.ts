import { HTMLElementCollectionProxy, HTMLElementProxy, JayContract } from "@jay-framework/runtime";

export enum RoleOfMessageOfGeminiChatViewState {
  user,
  assistant,
  system,
}

export interface MessageOfGeminiChatViewState {
  id: string;
  role: RoleOfMessageOfGeminiChatViewState;
  content: string;
  timestamp: string;
}

export interface GeminiChatViewState {
  messages: Array<MessageOfGeminiChatViewState>;
  hasMessages: boolean;
  lastUserMessage: string;
  lastAssistantMessage: string;
  messageInput: string;
  isExpanded: boolean;
  isLoading: boolean;
  hasError: boolean;
  error: string;
  errorMessage: string;
}

// biome-ignore lint/complexity/noBannedTypes: nothing of it is known before the page is.
export type GeminiChatSlowViewState = {};

export type GeminiChatFastViewState = GeminiChatViewState;

export type GeminiChatInteractiveViewState = GeminiChatViewState;

export interface GeminiChatRefs {
  messageInput: HTMLElementProxy<GeminiChatViewState, HTMLTextAreaElement>;
  sendMessage: HTMLElementProxy<GeminiChatViewState, HTMLButtonElement>;
  toggleExpand: HTMLElementProxy<GeminiChatViewState, HTMLButtonElement>;
}

export interface GeminiChatRepeatedRefs {
  messageInput: HTMLElementCollectionProxy<GeminiChatViewState, HTMLTextAreaElement>;
  sendMessage: HTMLElementCollectionProxy<GeminiChatViewState, HTMLButtonElement>;
  toggleExpand: HTMLElementCollectionProxy<GeminiChatViewState, HTMLButtonElement>;
}

export type GeminiChatContract = JayContract<
  GeminiChatViewState,
  GeminiChatRefs,
  GeminiChatSlowViewState,
  GeminiChatFastViewState,
  GeminiChatInteractiveViewState
>;
