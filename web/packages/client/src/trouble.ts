/** What goes wrong between the page and the server, and what a person is told of it. */

import type { ChatError } from "./types";

/** A request that came to nothing. `mayPass` says that the same one may succeed in a while. */
export class Trouble extends Error {
  readonly code: string;
  readonly status: number;
  readonly retryAfter: number | undefined;
  /** Whether nothing was ever heard of a server elsewhere. It may be there all the same: a browser does not tell. */
  readonly isFirst: boolean;

  constructor(
    code: string,
    message: string,
    options: { status?: number; retryAfter?: number | undefined; isFirst?: boolean } = {},
  ) {
    super(message.slice(0, LONGEST_MESSAGE));
    this.code = code;
    this.status = options.status ?? 0;
    this.retryAfter = options.retryAfter;
    this.isFirst = options.isFirst ?? false;
  }

  get mayPass(): boolean {
    return this.code === CUT || PASSING_CODES.has(this.code) || PASSING_STATUSES.has(this.status);
  }
}

const LONGEST_MESSAGE = 2_000;

/** The network broke, or what came was no answer of ours. */
export const CUT = "unreachable";
/** What came is no answer of ours, and asking again would bring the same. */
export const BAD_ANSWER = "bad_answer";
const PASSING_CODES: ReadonlySet<string> = new Set(["draining", "unavailable", "store_error", "busy"]);
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** The history cannot be gone on with. Nothing has happened: the request was refused before anything began. */
export const HISTORY_GONE: ReadonlySet<string> = new Set([
  "history_invalid",
  "history_expired",
  "history_unsigned",
]);

export const RESTARTED =
  "The conversation could not be continued, so a new one begins here. What was said before is not known any more.";
export const ELSEWHERE = "This conversation is going on in another tab. A new one begins here.";
export const STOPPED = "Stopped.";
export const EXPIRED = "Nobody answered in time, so it was not done.";
export const CHANGED = "That question does not stand any more.";
export const LOST =
  "The page was left while this was being done. It may have happened. It was not done again: look at the page first.";
export const LATE = "Not done: the page did not get to it in time.";
export const ANOTHER =
  "Not done: the page calls this something else than when the visitor was asked about it. Look at the page again.";
export const OVERDUE = "The page took too long. It may have happened: look at the page first.";

/** What to show for it. */
export function chatError(trouble: unknown): ChatError {
  if (!(trouble instanceof Trouble)) {
    return { code: "internal", message: "Something went wrong in this page. Try again.", canRetry: true };
  }
  return { code: trouble.code, message: said(trouble), canRetry: canRetry(trouble) };
}

function said(trouble: Trouble): string {
  switch (trouble.code) {
    case "offline":
      return "You are offline. Try again when there is a connection.";
    case CUT:
      return "The assistant cannot be reached. Try again in a while.";
    case BAD_ANSWER:
      return "The assistant's answer could not be read. Try again in a while.";
    case "bad_origin":
      return "The assistant is not available on this page.";
    case "auth_error":
      return "Your sign-in does not count any more. Reload the page, or sign in again.";
    case "rate_limited":
      return `Too many requests. Try again ${inSeconds(trouble.retryAfter)}.`;
    case "budget":
      return "What may be spent in a day is spent. Try again later.";
    case "answer_gone":
      return "Your last message was perhaps acted on, but its answer is not kept any more. Look before you ask again.";
    case "internal":
      return "Something went wrong at the server. Try again.";
    default:
      return trouble.message || "The assistant could not answer. Try again.";
  }
}

function canRetry(trouble: Trouble): boolean {
  if (trouble.mayPass || trouble.status >= 500) return true;
  return ["offline", "answer_gone", "internal", "not_found", BAD_ANSWER, ...HISTORY_GONE].includes(
    trouble.code,
  );
}

function inSeconds(milliseconds: number | undefined): string {
  const seconds = Math.ceil((milliseconds ?? 0) / 1000);
  return seconds > 90
    ? `in ${Math.ceil(seconds / 60)} minutes`
    : seconds > 1
      ? `in ${seconds} seconds`
      : "in a while";
}
