/** What the client needs from a page, and what it tells whoever shows the conversation. No DOM here. */

import type { PendingCall, Question } from "@pollux/protocol";
import type { Claims } from "./claim";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly [name: string]: Json };
  readonly category: "page-automation";
}

/** The page, as the client sees it: what it shows, what it can do, and doing it. */
export interface PagePort {
  state(): Json | Promise<Json>;
  tools(): readonly ToolDefinition[] | Promise<readonly ToolDefinition[]>;
  /** Never rejects: what went wrong is a result with `isError`. */
  execute(call: PendingCall, signal: AbortSignal): Promise<{ result: string; isError?: boolean }>;
  /** What a call is about, in the page's own words: what its control is called. */
  subject?(call: PendingCall): string | undefined;
}

export type Role = "user" | "assistant" | "system";

export interface ChatMessage {
  readonly id: string;
  readonly role: Role;
  readonly content: string;
  /** ISO 8601. */
  readonly timestamp: string;
  /** Whether more of it is on its way. */
  readonly isStreaming?: boolean;
  /** Of a system message: which one it is, for those who say it in other words. */
  readonly code?: string;
}

/** Something that is being done, or was: a call of the page's, or an action of the server's. */
export interface Activity {
  readonly id: string;
  readonly tool: string;
  readonly text: string;
  readonly status: "running" | "done" | "failed";
  readonly isOnPage: boolean;
  /** The control that it is about, where it is about one, and what that is called. */
  readonly ref?: string;
  readonly subject?: string;
}

export interface ChatError {
  readonly code: string;
  readonly message: string;
  readonly canRetry: boolean;
}

export interface ChatState {
  readonly messages: readonly ChatMessage[];
  readonly isLoading: boolean;
  readonly error: ChatError | null;
  readonly approvals: readonly Question[];
  readonly activity: readonly Activity[];
}

export type Decision = "approve_once" | "approve_and_always_allow_recipient" | "reject";

/** Where the conversation is kept between two loads of a page: `sessionStorage`, or nothing. */
export interface Shelf {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export interface ClientOptions {
  /** The server's address; empty for the one that the page came from. */
  readonly base: string;
  readonly profile?: string;
  /** A JWT that the site signed for its user. */
  readonly userToken?: string;
  readonly page: PagePort;
  readonly shelf?: Shelf;
  readonly fetch?: typeof fetch;
  readonly now?: () => number;
  /** How long to wait before trying again; for tests that have no time. */
  readonly wait?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** What keeps two tabs from doing the same; the browser's locks unless told. */
  readonly claims?: Claims;
}

/**
 * One conversation. `state` changes only by being replaced; `subscribe` tells when. Nothing here rejects: what goes
 * wrong is in `state.error`.
 */
export interface Conversation {
  readonly state: ChatState;
  subscribe(listener: (state: ChatState) => void): () => void;
  /** Go on with what was under way when the page was left. */
  resume(): Promise<void>;
  send(text: string): Promise<void>;
  /** Stop what is under way, here and at the server. */
  stop(): Promise<void>;
  retry(): Promise<void>;
  resolve(approvalId: string, decision: Decision, feedback?: string): Promise<void>;
  /** Forget everything and begin anew. */
  clear(): void;
}
