/** What is shown of a conversation. Lines of a stream are folded into it; every change makes a new state. */

import type { PageLine, PendingCall, Question, Response as Said } from "@pollux/protocol";
import { newId } from "./kept";
import { STOPPED } from "./trouble";
import type { Activity, ChatError, ChatMessage, ChatState, Role } from "./types";

/** Why an agent stopped, where its own words say enough. Any other code is a failure, after which one may try again. */
const SAID: ReadonlySet<string> = new Set([
  "cancelled",
  "loop_limit",
  "budget",
  "timeout",
  "outcome_unknown",
  "blocked",
  "auth_error",
]);

/** What is said of an answer that is not whole, with its code. */
const INCOMPLETE = ["The answer reached the output limit and is incomplete.", "incomplete"] as const;
const CUT_SHORT = ["The answer was longer than its limit. It was cut and is incomplete.", "cut"] as const;

export class Transcript {
  state: ChatState;
  private readonly listeners = new Set<(state: ChatState) => void>();
  /** Whether what still comes is not shown any more. */
  private isMuted = false;

  constructor(
    messages: readonly ChatMessage[],
    private readonly now: () => number,
  ) {
    this.state = { messages, isLoading: false, error: null, approvals: [], activity: [] };
  }

  subscribe(listener: (state: ChatState) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Messages that are whole. */
  get whole(): readonly ChatMessage[] {
    return this.state.messages.filter((message) => !message.isStreaming);
  }

  /** The last message; what comes after it answers it. */
  get last(): string {
    return this.whole.at(-1)?.id ?? "";
  }

  say(role: Role, content: string, code?: string): void {
    this.set({ messages: [...this.state.messages, this.message(role, content, code)] });
  }

  /** Something new is under way. */
  begin(): void {
    this.isMuted = false;
    this.set({ isLoading: true, error: null, approvals: [], activity: [] });
  }

  goOn(): void {
    this.isMuted = false;
    this.set({ isLoading: true, error: null });
  }

  /** Nothing is under way; what waits for a person waits. */
  rest(): void {
    if (this.state.isLoading || this.streaming)
      this.set({ isLoading: false, messages: this.state.messages.map(whole) });
  }

  trouble(error: ChatError | null): void {
    if (!this.isMuted) this.set({ error });
  }

  fail(error: ChatError): void {
    this.set({
      error,
      isLoading: false,
      messages: this.state.messages.map(whole),
      activity: this.ended("failed"),
    });
  }

  stopped(): void {
    this.isMuted = true;
    const messages = [...this.state.messages.map(whole), this.message("system", STOPPED, "stopped")];
    this.set({ messages, isLoading: false, error: null, approvals: [], activity: this.ended("failed") });
  }

  clear(): void {
    this.isMuted = false;
    this.set({ messages: [], isLoading: false, error: null, approvals: [], activity: [] });
  }

  /** Drop what was shown of an answer that is told again from its beginning. */
  cutBack(after: string): void {
    if (this.isMuted) return;
    const { messages } = this.state;
    const at = messages.findIndex((message) => message.id === after);
    this.set({
      messages: after && at < 0 ? messages.filter(isWhole) : messages.slice(0, at + 1),
      activity: [],
    });
  }

  /** Drop what was shown of the turn that is being told. */
  cutTurn(): void {
    if (this.streaming && !this.isMuted) this.set({ messages: this.state.messages.filter(isWhole) });
  }

  read(line: PageLine): void {
    if (this.isMuted) return;
    switch (line.type) {
      case "delta":
        this.add(line.delta);
        break;
      case "turn_restarted":
        this.cutTurn();
        break;
      case "tool_call":
        // A turn's words come before its calls: what is said next is another turn's.
        this.set({ messages: this.state.messages.map(whole) });
        this.put({
          id: line.id,
          tool: line.toolName,
          text: line.preview || line.toolName,
          isOnPage: false,
        });
        break;
    }
  }

  /** The agent's last words in this exchange. */
  answer(said: Said): void {
    if (said.code && !SAID.has(said.code)) {
      this.cutTurn();
      this.fail({ code: said.code, message: said.message, canRetry: true });
      return;
    }
    const { messages } = this.state;
    const streaming = this.streaming;
    // A last turn without words leaves the words of the one before.
    const since = messages.slice(messages.findLastIndex((message) => message.role === "user") + 1);
    const isSaid = since.some(
      (message) => message.role === "assistant" && message.content.trim() === said.message,
    );
    const added = streaming || isSaid ? [] : [this.message("assistant", said.message)];
    const content = (message: ChatMessage) =>
      message === streaming ? { ...message, content: said.message } : message;
    this.set({
      messages: [...messages.map(content).map(whole), ...added],
      activity: this.ended("done"),
      approvals: [],
    });
    const [note, code] = said.cut ? CUT_SHORT : INCOMPLETE;
    if (said.incomplete && !since.some((message) => message.code === code)) this.say("system", note, code);
  }

  /** What the server waits for. What it has done itself is done; what it asks about is not yet. */
  owe(calls: readonly PendingCall[], approvals: readonly Question[]): void {
    const asked = new Set(approvals.map((question) => actionOf(question.id)));
    const waiting = new Set(calls.map((call) => call.id));
    const activity = this.state.activity
      .filter(({ id }) => !asked.has(id))
      .map((each) => (waiting.has(each.id) ? each : ended(each, "done")));
    this.set({ messages: this.state.messages.map(whole), approvals, activity });
    for (const call of calls) this.act(call);
  }

  ask(approvals: readonly Question[]): void {
    this.set({ approvals });
  }

  /** A question was answered with yes: the server is at it. */
  approved(question: Question): void {
    const { tool, preview } = question;
    this.put({ id: actionOf(question.id), tool, text: preview || tool, isOnPage: false });
  }

  /** A call of the page's. */
  act(call: PendingCall, subject = ""): void {
    const known = this.state.activity.find(({ id }) => id === call.id);
    const { ref } = call.args;
    const isRef = typeof ref === "string" && ref !== "";
    const text = known?.text ?? call.name;
    this.put({
      id: call.id,
      tool: call.name,
      text,
      isOnPage: true,
      ...(isRef && { ref }),
      ...(subject && { subject }),
    });
  }

  acted(call: PendingCall, isError: boolean): void {
    const status = isError ? "failed" : "done";
    this.set({
      activity: this.state.activity.map((each) => (each.id === call.id ? { ...each, status } : each)),
    });
  }

  private get streaming(): ChatMessage | undefined {
    return this.state.messages.find((message) => message.isStreaming);
  }

  private add(delta: string): void {
    const { messages } = this.state;
    const streaming = this.streaming;
    if (!streaming) {
      const begun = { ...this.message("assistant", delta), isStreaming: true };
      this.set({ messages: [...messages, begun], error: null });
      return;
    }
    const longer = { ...streaming, content: streaming.content + delta };
    this.set({ messages: messages.map((message) => (message === streaming ? longer : message)) });
  }

  private put(activity: Omit<Activity, "status">): void {
    const running: Activity = { ...activity, status: "running" };
    const others = this.state.activity;
    const isKnown = others.some(({ id }) => id === activity.id);
    this.set({
      activity: isKnown
        ? others.map((each) => (each.id === activity.id ? running : each))
        : [...others, running],
    });
  }

  private ended(status: "done" | "failed"): readonly Activity[] {
    return this.state.activity.map((each) => ended(each, status));
  }

  private message(role: Role, content: string, code?: string): ChatMessage {
    const timestamp = new Date(this.now()).toISOString();
    return { id: newId(), role, content, timestamp, ...(code && { code }) };
  }

  private set(part: Partial<ChatState>): void {
    this.state = { ...this.state, ...part };
    for (const listener of [...this.listeners]) {
      try {
        listener(this.state);
      } catch (problem) {
        // Whoever shows it has a fault. The conversation goes on, and the fault is seen.
        queueMicrotask(() => {
          throw problem;
        });
      }
    }
  }
}

function isWhole(message: ChatMessage): boolean {
  return !message.isStreaming;
}

function whole(message: ChatMessage): ChatMessage {
  if (!message.isStreaming) return message;
  const { isStreaming: _, ...rest } = message;
  return rest;
}

function ended(activity: Activity, status: "done" | "failed"): Activity {
  return activity.status === "running" ? { ...activity, status } : activity;
}

/** The action that a question is about: the server derives the one id from the other. */
function actionOf(approvalId: string): string {
  return approvalId.replace(/^apr_/, "act_");
}
