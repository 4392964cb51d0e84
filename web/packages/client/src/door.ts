/** Requests to the server, with the visitor's token, which is got and renewed here. One try each. */

import type { ErrorAnswer, SessionAnswer, SessionBody } from "@pollux/protocol";
import { written } from "./json";
import type { Keeper, Visit } from "./kept";
import { CUT, Trouble } from "./trouble";
import type { ClientOptions } from "./types";

const SESSION = "/api/page/session";
export const LARGEST_BODY = 1 << 20;
/** How long the server may be silent before it is asked again: a model may think for a while. */
const SILENCE = 120_000;
/** A stranger is known by the token alone: renewed only after its end, it would be somebody else's. It lives 12 hours. */
const RENEWED_AFTER = 6 * 3_600_000;

export interface Asked {
  readonly path: string;
  /** JSON; without one it is a GET. */
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly patience?: number;
}

/** An answer whose body is still coming. `heard` says that some came; `over` lets go of it. */
export interface Opened {
  readonly response: Response;
  heard(): void;
  over(): void;
}

export class Door {
  private readonly fetch: typeof fetch;
  private readonly now: () => number;
  private renewing: Promise<Visit> | null = null;

  constructor(
    private readonly options: ClientOptions,
    private readonly keeper: Keeper,
  ) {
    this.fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.now = options.now ?? Date.now;
  }

  /** A request's whole answer, as text. Throws Trouble. */
  async text(request: Asked): Promise<string> {
    const opened = await this.open(request);
    try {
      return await opened.response.text();
    } catch {
      throw broken(request.signal);
    } finally {
      opened.over();
    }
  }

  /** An answer of status 200. Throws Trouble for any other, and where there is none. */
  async open(request: Asked): Promise<Opened> {
    checkSize(request.body);
    const visit = await this.visit(request.signal);
    try {
      return await this.once(request, visit.token);
    } catch (problem) {
      if (!(problem instanceof Trouble) || problem.status !== 401) throw problem;
      const fresh = await this.renewed(visit, request.signal);
      return await this.once(request, fresh.token);
    }
  }

  private async visit(signal: AbortSignal): Promise<Visit> {
    const { visit } = this.keeper.kept;
    if (visit === null) return await this.renewed(visit, signal);
    const isOld = Math.abs(this.now() - visit.givenAt) > RENEWED_AFTER;
    // Of a site's user only the site can say that they are still theirs: nothing is gained before it ends.
    if (this.options.userToken || !isOld) return visit;
    return await this.renewed(visit, signal).catch(() => visit);
  }

  private async renewed(old: Visit | null, signal: AbortSignal): Promise<Visit> {
    this.renewing ??= this.begin(old, signal).finally(() => {
      this.renewing = null;
    });
    try {
      return await this.renewing;
    } catch (problem) {
      // Perhaps it was somebody else's request that was stopped.
      throw problem instanceof Trouble ? problem : broken(signal);
    }
  }

  private async begin(old: Visit | null, signal: AbortSignal): Promise<Visit> {
    const { profile, userToken } = this.options;
    const body: SessionBody = { ...(profile && { profile }), ...(userToken && { userToken }) };
    const opened = await this.once({ path: SESSION, body: written(body), signal }, old?.token);
    try {
      const answer: SessionAnswer = await opened.response.json();
      if (typeof answer.token !== "string") throw new Error("no token");
      const visit = { token: answer.token, givenAt: this.now() };
      this.keeper.change({ visit });
      return visit;
    } catch {
      throw broken(signal);
    } finally {
      opened.over();
    }
  }

  private async once({ path, body, signal, patience }: Asked, token?: string): Promise<Opened> {
    const watch = watched(signal, patience ?? SILENCE);
    const headers: Record<string, string> = {};
    if (body !== undefined) headers["content-type"] = "application/json";
    if (token) headers.authorization = `Bearer ${token}`;
    let response: Response;
    try {
      response = await this.fetch(this.options.base.replace(/\/+$/, "") + path, {
        method: body === undefined ? "GET" : "POST",
        headers,
        ...(body !== undefined && { body }),
        signal: watch.signal,
        cache: "no-store",
        // A page of the server's own has a cookie that names its visitor. Elsewhere the token alone says who asks.
        credentials: path === SESSION ? "same-origin" : "omit",
      });
    } catch {
      watch.over();
      throw broken(signal);
    }
    if (response.ok) return { response, heard: watch.heard, over: watch.over };
    const trouble = await refusal(response);
    watch.over();
    throw trouble;
  }
}

/** Why a request ended without an answer: it was stopped, or the network broke. */
export function broken(signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : new Trouble(CUT, "the connection broke");
}

async function refusal(response: Response): Promise<Trouble> {
  const { status } = response;
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfter = Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
  const answer: ErrorAnswer | null = await response.json().catch(() => null);
  const { code, message } = answer?.error ?? {};
  if (typeof code === "string") return new Trouble(code, `${message ?? ""}`, { status, retryAfter });
  // Somebody in between answered.
  return new Trouble(status >= 500 ? CUT : `http_${status}`, "", { status, retryAfter });
}

/** A signal that follows another one, and ends by itself after so long a silence. */
function watched(signal: AbortSignal, silence: number) {
  const control = new AbortController();
  const stop = () => control.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  let timer = setTimeout(() => control.abort(), silence);
  return {
    signal: control.signal,
    heard: () => {
      clearTimeout(timer);
      timer = setTimeout(() => control.abort(), silence);
    },
    over: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    },
  };
}

function checkSize(body: string | undefined): void {
  if (!body || body.length * 3 <= LARGEST_BODY || new TextEncoder().encode(body).length <= LARGEST_BODY)
    return;
  const message =
    "This is too much to send: the message, the conversation and what the page shows may have 1 MB together. Say less, or begin a new conversation.";
  throw new Trouble("too_large", message, { status: 413 });
}
