/** A chat for tests in a browser, with a conversation that says what the test tells it to say. */

import type { ChatState, Conversation } from "@pollux/client";
import { define } from "../src/element";

const QUIET: ChatState = { messages: [], isLoading: false, error: null, approvals: [], activity: [] };

class Scripted implements Conversation {
  state = QUIET;
  /** What the chat asked for, in order. */
  readonly asked: unknown[][] = [];
  readonly #listeners = new Set<(state: ChatState) => void>();

  get listeners(): number {
    return this.#listeners.size;
  }

  show(change: Partial<ChatState>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.#listeners) listener(this.state);
  }

  subscribe(listener: (state: ChatState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async resume(): Promise<void> {
    this.asked.push(["resume"]);
  }

  async send(text: string): Promise<void> {
    this.asked.push(["send", text]);
    const message = { id: `m${this.asked.length}`, role: "user", content: text, timestamp: "" } as const;
    this.show({ messages: [...this.state.messages, message], isLoading: true, error: null });
  }

  async stop(): Promise<void> {
    this.asked.push(["stop"]);
    this.show({ isLoading: false, approvals: [] });
  }

  async retry(): Promise<void> {
    this.asked.push(["retry"]);
    this.show({ error: null });
  }

  async resolve(approvalId: string, decision: string): Promise<void> {
    this.asked.push(["resolve", approvalId, decision]);
    this.show({ approvals: this.state.approvals.filter(({ id }) => id !== approvalId) });
  }

  clear(): void {
    this.asked.push(["clear"]);
    this.show(QUIET);
  }
}

const conversation = new Scripted();
Object.assign(globalThis, { conversation });
const control = () => {
  const element = document.querySelector("[data-control]");
  return element && { name: element.textContent ?? "", element };
};
define(() => ({ conversation, control, locate: (ref) => document.getElementById(ref) }));
if (!document.querySelector("pollux-chat")) {
  const chat = document.createElement("pollux-chat");
  Object.assign(
    chat.dataset,
    document.currentScript instanceof HTMLScriptElement && document.currentScript.dataset,
  );
  document.documentElement.appendChild(chat);
}
