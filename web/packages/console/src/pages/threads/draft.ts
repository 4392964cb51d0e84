/** What somebody was about to say, by conversation, for as long as the tab lives. */

import { keyFor } from "./key";

interface Kept {
  readonly text: string;
  /** Under which key exactly this was sent, if it was: it may have arrived, and then must not be sent anew. */
  readonly sent?: { readonly what: string; readonly key: string };
}

export const NEW = "new";

export function draftOf(threadId: string): string {
  return read(threadId).text;
}

export function keepDraft(threadId: string, text: string): void {
  const { sent } = read(threadId);
  write(threadId, { text, ...(sent && { sent }) });
}

/** The key to send this under: the one from before where it is the same again, else a new one. */
export function keyOf(threadId: string, what: string): string {
  const { text, sent } = read(threadId);
  if (sent?.what === what) return sent.key;
  const key = keyFor();
  write(threadId, { text, sent: { what, key } });
  return key;
}

/** It has arrived: whatever is sent now is something else. */
export function forgetSent(threadId: string): void {
  write(threadId, { text: read(threadId).text });
}

function read(threadId: string): Kept {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(place(threadId)) ?? "null");
    if (typeof kept === "object" && kept !== null && "text" in kept && typeof kept.text === "string")
      return kept as Kept;
  } catch {
    // Nothing may be kept in this browser, or it is not ours.
  }
  return memory.get(threadId) ?? { text: "" };
}

function write(threadId: string, kept: Kept): void {
  const isEmpty = !kept.text && !kept.sent;
  memory.set(threadId, kept);
  try {
    if (isEmpty) sessionStorage.removeItem(place(threadId));
    else sessionStorage.setItem(place(threadId), JSON.stringify(kept));
  } catch {
    // Full, or forbidden: it is kept until the page is left.
  }
}

const memory = new Map<string, Kept>();

function place(threadId: string): string {
  return `pollux-draft:${threadId}`;
}
