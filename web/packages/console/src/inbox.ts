/** The questions that wait for this person, as the whole console knows them. */

import type { PendingPage, PendingView } from "@pollux/protocol";
import { useEffect } from "preact/hooks";
import { door } from "./door";
import { PATIENCE_MS, useRegularly } from "./loading";
import { signalled } from "./parts/signal";

export interface Inbox {
  /** Newest first. */
  readonly questions: readonly PendingView[];
  /** Whether there are more than these. */
  readonly hasMore: boolean;
  readonly problem: unknown;
  readonly isRead: boolean;
}

const MOST = 25;
const EVERY_MS = 2_000;

export const inbox = signalled<Inbox>({ questions: [], hasMore: false, problem: null, isRead: false });

let reading: Promise<void> | null = null;

/** Read it again. Whoever asks meanwhile is told of the same reading. */
export function readInbox(): Promise<void> {
  reading ??= read().finally(() => {
    reading = null;
  });
  return reading;
}

async function read(): Promise<void> {
  // A server that hangs, or a connection that died while the machine slept, refuses nothing: it is only ever late.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException("It is late.", "TimeoutError")), PATIENCE_MS);
  try {
    const page = await door.get<PendingPage>("/api/agent/approvals/pending", { limit: MOST }, late.signal);
    inbox.set({ questions: page.items, hasMore: Boolean(page.next), problem: null, isRead: true });
  } catch (problem) {
    inbox.set({ ...inbox.get(), problem });
  } finally {
    clearTimeout(timer);
  }
}

/** Keep it true while somebody looks. */
export function useInboxKept(): void {
  useEffect(() => void readInbox(), []);
  useRegularly(() => void readInbox(), EVERY_MS);
}
