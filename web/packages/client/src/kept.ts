/**
 * What survives a reload: one record for each person, under a key of their own. It is written before anything is done that must not be done twice,
 * so what is found there says how far things had come.
 */

import type { PendingCall, Question } from "@pollux/protocol";
import { written } from "./json";
import type { ChatMessage, Shelf } from "./types";

/** A visitor's token, and when it came, by the clock here. */
export interface Visit {
  readonly token: string;
  readonly givenAt: number;
}

/** A call that was begun; without a result where nobody can tell what came of it. */
export interface Did {
  readonly callId: string;
  readonly result?: string;
  readonly isError?: boolean;
}

export interface Idle {
  readonly kind: "idle";
}

/** A message that was not answered yet. The very same request again gets the same answer. */
export interface Asking {
  readonly kind: "asking";
  readonly message: string;
  /** Tells it from the same words said another time. */
  readonly requestId: string;
  /** As JSON: the request is known by them, letter by letter. */
  readonly tools: string;
  readonly state: string;
  readonly at: number;
  /** The last message before the answer. */
  readonly after: string;
  readonly runId?: string;
  /** Whether it may have been heard before. */
  readonly isRepeated?: boolean;
  readonly isStopped?: boolean;
}

/** The server waits: for results of calls, or for a person's answers. */
export interface Owing {
  readonly kind: "owing";
  readonly runId: string;
  readonly calls: readonly PendingCall[];
  readonly did: readonly Did[];
  readonly approvals: readonly Question[];
  /** Whether a question was answered since the server told of them. */
  readonly isAnswered: boolean;
  readonly at: number;
  readonly isStopped?: boolean;
}

export type Step = Idle | Asking | Owing;

export interface Kept {
  readonly version: 1;
  /** Which conversation this is; a copy of the tab has the same one. */
  readonly id: string;
  /** Whose it is. Nobody else shall see it. */
  readonly who: string;
  readonly visit: Visit | null;
  /** JSON, exactly as it came. */
  readonly history: string;
  readonly messages: readonly ChatMessage[];
  readonly lastText: string;
  readonly step: Step;
}

export const NO_HISTORY = "[]";
const MOST_MESSAGES = 200;

/** The record, and the shelf that it lies on. */
export class Keeper {
  kept: Kept;
  private readonly key: string;

  /** `name` is where it lies, for whoever this is: nobody comes by the record of another. */
  constructor(
    private readonly shelf: Shelf | undefined,
    name: string,
    private readonly who: string,
  ) {
    this.key = who ? `${name} ${who}` : name;
    const found = this.found();
    this.kept = found?.who === who ? found : this.nothing();
    // Somebody else's, or of another version.
    if (found !== this.kept) this.remove();
  }

  change(part: Partial<Kept>): void {
    this.kept = { ...this.kept, ...part };
    this.write();
  }

  /** Nothing is left, here and on the shelf. */
  forget(): void {
    this.kept = this.nothing();
    this.remove();
  }

  private nothing(): Kept {
    return {
      version: 1,
      id: newId(),
      who: this.who,
      visit: null,
      history: NO_HISTORY,
      messages: [],
      lastText: "",
      step: { kind: "idle" },
    };
  }

  private found(): Kept | null {
    try {
      const kept: Kept = JSON.parse(this.shelf?.getItem(this.key) ?? "null");
      return isKept(kept) ? kept : null;
    } catch {
      return null;
    }
  }

  private write(): void {
    for (const most of [MOST_MESSAGES, 20, 1]) {
      try {
        this.shelf?.setItem(this.key, written({ ...this.kept, messages: this.kept.messages.slice(-most) }));
        return;
      } catch {
        // Full. What was said long ago goes first.
      }
    }
    // An older record would say that less was done than was.
    this.remove();
  }

  private remove(): void {
    try {
      this.shelf?.removeItem(this.key);
    } catch {
      // A shelf that cannot be reached holds nothing.
    }
  }
}

/** Whether a conversation of this tab waits for its page or its server. */
export function isUnderWay(shelf: Storage): boolean {
  return Object.keys(shelf).some((key) => key.startsWith("pollux ") && isOpen(shelf.getItem(key)));
}

function isOpen(record: string | null): boolean {
  try {
    const kept: Kept = JSON.parse(record ?? "null");
    return isKept(kept) && kept.step.kind !== "idle";
  } catch {
    return false;
  }
}

/** An id that nobody else has. */
export function newId(): string {
  const numbers = crypto.getRandomValues(new Uint32Array(3));
  let id = "";
  for (const number of numbers) id += number.toString(36);
  return id;
}

/** Whom a site's token names. Not believed, only compared: the server judges it. */
export function subjectOf(userToken: string | undefined): string {
  if (!userToken) return "";
  try {
    const claims = JSON.parse(
      atob((userToken.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")),
    );
    if (typeof claims.sub === "string") return written([claims.iss, claims.sub]);
  } catch {
    // None that we can read.
  }
  return userToken.slice(-16);
}

function isKept(kept: Kept): boolean {
  const kinds = ["idle", "asking", "owing"];
  return (
    kept?.version === 1 &&
    typeof kept.id === "string" &&
    typeof kept.history === "string" &&
    Array.isArray(kept.messages) &&
    kept.messages.every(isMessage) &&
    kinds.includes(kept.step?.kind)
  );
}

function isMessage(message: ChatMessage): boolean {
  return (
    typeof message?.id === "string" &&
    typeof message.content === "string" &&
    ["user", "assistant", "system"].includes(message.role)
  );
}
