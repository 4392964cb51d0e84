/** Requests to the server, with the visitor's token, which is got and renewed here. One try each. */

import type { ErrorAnswer, SessionAnswer, SessionBody } from "@pollux/protocol";
import { LARGEST_ANSWER, LARGEST_REFUSAL, textOf, unless } from "./bodies";
import { written } from "./json";
import type { Keeper, Visit } from "./kept";
import { CUT, Trouble } from "./trouble";
import type { ClientOptions } from "./types";
import { watched } from "./watch";

const SESSION = "/api/page/session";
export const LARGEST_BODY = 1 << 20;
/** How long the server may be silent before it is asked again: a model may think for a while. */
const SILENCE = 120_000;
/** And where it has nothing to think about. */
const SHORT_SILENCE = 30_000;
const FIRST_SILENCE = 15_000;
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
  /** Ends when the answer is given up. */
  readonly signal: AbortSignal;
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
    const opened = await this.open({ patience: SHORT_SILENCE, ...request });
    try {
      return await textOf(opened.response, { most: LARGEST_ANSWER, signal: opened.signal });
    } catch (problem) {
      throw problem instanceof Trouble ? problem : broken(request.signal);
    } finally {
      opened.over();
    }
  }

  /** Have what it takes to ask this; nothing of it is sent yet. Throws Trouble. */
  async admit({ body, signal }: Asked): Promise<void> {
    checkSize(body);
    await this.visit(signal);
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
    const asked = { path: SESSION, body: written(body), signal, patience: FIRST_SILENCE };
    const opened = await this.once(asked, old?.token).catch((problem: unknown) => {
      const isFirst = old === null && isElsewhere(this.options.base);
      throw isFirst && isCut(problem) ? new Trouble(CUT, problem.message, { isFirst }) : problem;
    });
    try {
      const most = LARGEST_REFUSAL;
      const answer: SessionAnswer = JSON.parse(
        await textOf(opened.response, { most, signal: opened.signal }),
      );
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
    const watch = watched(signal, patience ?? SILENCE, this.now);
    const headers: Record<string, string> = {};
    if (body !== undefined) headers["content-type"] = "application/json";
    if (token) headers.authorization = `Bearer ${token}`;
    let response: Response;
    try {
      const asking = this.fetch(this.options.base.replace(/\/+$/, "") + path, {
        method: body === undefined ? "GET" : "POST",
        headers,
        ...(body !== undefined && { body }),
        signal: watch.signal,
        cache: "no-store",
        // A page of the server's own has a cookie that names its visitor. Elsewhere the token alone says who asks.
        credentials: path === SESSION ? "same-origin" : "omit",
      });
      response = await unless(watch.signal, asking);
    } catch {
      watch.over();
      throw broken(signal);
    }
    const { heard, over } = watch;
    if (response.ok) return { response, signal: watch.signal, heard, over };
    const trouble = await refusal(response, watch.signal);
    watch.over();
    signal.throwIfAborted();
    throw trouble;
  }
}

/** Why a request ended without an answer: it was stopped, or the network broke. */
export function broken(signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : new Trouble(CUT, "the connection broke");
}

/** Whether nobody answered at all. */
function isCut(problem: unknown): problem is Trouble {
  return problem instanceof Trouble && problem.code === CUT && problem.status === 0;
}

/** Whether the server is another site than the page. */
function isElsewhere(base: string): boolean {
  const { origin, location } = globalThis;
  try {
    return origin !== undefined && new URL(base, location?.href).origin !== origin;
  } catch {
    return false;
  }
}

async function refusal(response: Response, signal: AbortSignal): Promise<Trouble> {
  const { status } = response;
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfter = Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
  const answer: ErrorAnswer | null = await textOf(response, { most: LARGEST_REFUSAL, signal })
    .then(JSON.parse)
    .catch(() => null);
  const { code, message } = answer?.error ?? {};
  if (typeof code === "string") return new Trouble(code, `${message ?? ""}`, { status, retryAfter });
  // Somebody in between answered.
  return new Trouble(status >= 500 ? CUT : `http_${status}`, "", { status, retryAfter });
}

function checkSize(body: string | undefined): void {
  if (!body || body.length * 3 <= LARGEST_BODY || new TextEncoder().encode(body).length <= LARGEST_BODY)
    return;
  const message =
    "This is too much to send: the message, the conversation and what the page shows may have 1 MB together. Say less, or begin a new conversation.";
  throw new Trouble("too_large", message, { status: 413 });
}
