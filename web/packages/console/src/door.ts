/** Requests to the server by whoever is signed in here. Answers are given as they are; refusals are thrown. */

import { linesOf } from "@pollux/client";
import type { ErrorDetail, SessionView } from "@pollux/protocol";
import { heardAt } from "./clock";
import { keepFor } from "./whose";

/** Why a request came to nothing. `code` is the server's, or `unreachable`. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly detail: Partial<ErrorDetail> = {},
  ) {
    super(message);
  }
}

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

interface Asked {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Record<string, string>;
}

const SIGNED_OUT = "signed-out";
/** On which the tabs of a browser tell one another who is signed in: they have one cookie together. */
const TABS = "pollux-session";
const SESSION = "/api/session";

class Door extends EventTarget {
  /** Goes with whatever changes something: a page elsewhere cannot know it. */
  #csrf = "";
  /** Whose things the page shows. */
  #user = "";
  #tabs: BroadcastChannel | null = null;

  /** Who is signed in. Throws Refusal 401 where nobody is. */
  async session(): Promise<SessionView> {
    return this.#known(await this.get<SessionView>(SESSION));
  }

  async signIn(token: string): Promise<SessionView> {
    return this.#known(await this.post<SessionView>(`${SESSION}/sign-in`, { token }));
  }

  async signOut(): Promise<void> {
    await this.post(`${SESSION}/sign-out`);
    this.dispatchEvent(new Event(SIGNED_OUT));
  }

  /** Be told when the session has ended. What is returned takes that back. */
  onSignedOut(told: () => void): () => void {
    this.addEventListener(SIGNED_OUT, told);
    return () => this.removeEventListener(SIGNED_OUT, told);
  }

  get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    return this.#answer({ method: "GET", path: path + written(query), signal });
  }

  post<T>(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    return this.#answer({ method: "POST", path, body, headers });
  }

  put<T>(path: string, body: unknown): Promise<T> {
    return this.#answer({ method: "PUT", path, body });
  }

  patch<T>(path: string, body: unknown): Promise<T> {
    return this.#answer({ method: "PATCH", path, body });
  }

  delete<T>(path: string): Promise<T> {
    return this.#answer({ method: "DELETE", path });
  }

  /** The lines of a stream as they come, each already read. With a body it is a POST. */
  async *lines<T>(
    path: string,
    { body, signal, headers }: { body?: unknown; signal: AbortSignal; headers?: Record<string, string> },
  ): AsyncGenerator<T> {
    const method = body === undefined ? "GET" : "POST";
    const response = await this.#open({ method, path, body, signal, ...(headers && { headers }) });
    if (!response.body) return;
    try {
      for await (const line of linesOf(response.body, signal)) if (line.trim()) yield JSON.parse(line) as T;
    } catch (problem) {
      if (signal.aborted) throw problem;
      throw new Refusal(0, "unreachable", "The connection broke.");
    }
  }

  /** Who it is from here on. Pages hold what they read for the one before: for anybody else the console begins anew. */
  #known(session: SessionView): SessionView | Promise<never> {
    const { user, csrf } = session;
    if (this.#user && user !== this.#user) return startAnew();
    this.#csrf = csrf ?? "";
    if (!this.#user) {
      this.#user = user;
      keepFor(user);
      this.#listen();
    }
    this.#tabs?.postMessage(user);
    return session;
  }

  #listen(): void {
    // Where a browser has none, the next change shows it.
    if (typeof BroadcastChannel === "undefined") return;
    this.#tabs = new BroadcastChannel(TABS);
    this.#tabs.onmessage = ({ data }) => {
      if (data !== this.#user) void startAnew();
    };
  }

  /** Whether a change was refused for no other reason than that somebody signed in anew, in another tab. */
  async #isRenewed(): Promise<boolean> {
    const before = this.#csrf;
    const response = await fetch(SESSION, { cache: "no-store", credentials: "same-origin" });
    if (!response.ok) return false;
    await this.#known((await response.json()) as SessionView);
    return this.#csrf !== before;
  }

  async #answer<T>(asked: Asked): Promise<T> {
    const response = await this.#open(asked);
    try {
      const answer: unknown = await response.json();
      if (typeof answer === "object" && answer !== null) return answer as T;
    } catch (problem) {
      if (isGivenUp(asked.signal)) throw problem;
      if (!(problem instanceof SyntaxError)) throw new Refusal(0, "unreachable", "The connection broke.");
    }
    throw new Refusal(
      response.status,
      "bad_answer",
      "What answered is not this server: a proxy, or a network that wants you to sign in. Open the page anew.",
    );
  }

  async #open({ method, path, body, signal, headers = {} }: Asked): Promise<Response> {
    const sent: Record<string, string> = { accept: "application/json", ...headers };
    if (method !== "GET") sent["x-pollux-csrf"] = this.#csrf;
    if (body !== undefined) sent["content-type"] = "application/json";
    let response: Response;
    try {
      response = await fetch(path, {
        method,
        headers: sent,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
        cache: "no-store",
        credentials: "same-origin",
      });
    } catch (problem) {
      if (isGivenUp(signal)) throw problem;
      throw new Refusal(0, "unreachable", "The server cannot be reached.");
    }
    heardAt(response.headers.get("date"));
    if (response.ok) return response;
    const refusal = await refusalOf(response);
    if (response.status !== 401 && refusal.code !== "csrf_required") throw refusal;
    // Refused before anything was done: it may go again.
    const mayGoAgain = method !== "GET" && !path.startsWith(SESSION);
    if (mayGoAgain && (await this.#isRenewed().catch(() => false)))
      return this.#open({ method, path, body, signal, headers });
    this.dispatchEvent(new Event(SIGNED_OUT));
    throw refusal;
  }
}

export const door = new Door();

/** What to tell a person of a problem. */
export function wordsOf(problem: unknown): string {
  if (problem instanceof Refusal) return sentence(problem.message);
  return "Something went wrong in this page. Reload it.";
}

/** Whether it is only that we stopped asking. */
export function isStopped(problem: unknown): boolean {
  return problem instanceof DOMException && problem.name === "AbortError";
}

/** Read the page again. What waits for it waits for good. */
function startAnew(): Promise<never> {
  location.reload();
  return new Promise(() => undefined);
}

/** Whether whoever asked wants no answer any more. One that is only late was not given up. */
function isGivenUp(signal: AbortSignal | undefined): boolean {
  return Boolean(signal?.aborted && signal.reason?.name !== "TimeoutError");
}

async function refusalOf(response: Response): Promise<Refusal> {
  const answer: { error?: ErrorDetail } | null = await response.json().catch(() => null);
  const detail = answer?.error;
  if (typeof detail?.code === "string")
    return new Refusal(response.status, detail.code, detail.message, detail);
  return new Refusal(response.status, `http_${response.status}`, `The server answered ${response.status}.`);
}

function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

function written(query: Query): string {
  const given = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}
