/** What a page shows of the server, and how it stays true: read again after a while, or when somebody says so. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { door, isStopped, type Query } from "./door";

export interface Loaded<T> {
  /** What was read last; kept while it is read again. */
  readonly value: T | null;
  readonly problem: unknown;
  readonly isLoading: boolean;
  /** Read it again now. */
  readonly again: () => void;
}

/** Longer than this nobody waits for an answer that is asked for regularly. */
export const PATIENCE_MS = 15_000;

interface Options {
  /** Read again after so many milliseconds, while somebody looks. */
  readonly every?: number;
}

/** What a path answers. Another path or query is another thing: nothing of the old one is shown for it. */
export function useLoaded<T>(path: string | null, query: Query = {}, { every = 0 }: Options = {}): Loaded<T> {
  const key = path === null ? null : `${path} ${JSON.stringify(query)}`;
  const [state, setState] = useState<{ key: string | null; value: T | null; problem: unknown }>({
    ...{ key: null, value: null, problem: null },
  });
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => setTurn((count) => count + 1), []);
  /** When the reading began that is under way. */
  const begun = useRef(Number.NEGATIVE_INFINITY);

  useEffect(() => {
    if (path === null) return;
    const control = new AbortController();
    begun.current = performance.now();
    door
      .get<T>(path, query, control.signal)
      .then((value) => setState({ key, value, problem: null }))
      .catch((problem: unknown) => {
        if (!isStopped(problem))
          setState((old) => ({ key, value: old.key === key ? old.value : null, problem }));
      })
      .finally(() => {
        if (!control.signal.aborted) begun.current = Number.NEGATIVE_INFINITY;
      });
    return () => control.abort();
  }, [key, turn]);
  // A slow server is waited for: whoever asks anew each time is never answered.
  const look = () => performance.now() - begun.current > PATIENCE_MS && again();
  useRegularly(look, path === null ? 0 : every);

  const isOurs = state.key === key;
  return {
    value: isOurs ? state.value : null,
    problem: isOurs ? state.problem : null,
    isLoading: !isOurs,
    again,
  };
}

/** A list that is read page by page. The first page is read again regularly; what was asked for beyond it stays. */
export interface Listed<T> extends Loaded<readonly T[]> {
  readonly hasMore: boolean;
  readonly more: () => void;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly next?: string | null;
}

export function useListed<T>(path: string | null, query: Query = {}, options: Options = {}): Listed<T> {
  const first = useLoaded<Page<T>>(path, query, options);
  const key = `${path} ${JSON.stringify(query)}`;
  const [beyond, setBeyond] = useState<{ key: string; page: Page<T> | null; problem: unknown }>({
    ...{ key, page: null, problem: null },
  });
  const seen = beyond.key === key ? beyond.page : null;
  const shown = first.value && seen ? joined(first.value, seen) : first.value;
  const more = () => {
    if (path === null || !shown?.next) return;
    door
      .get<Page<T>>(path, { ...query, before: shown.next })
      .then(({ items, next }) =>
        setBeyond({ key, page: { items: [...shown.items, ...items], next: next ?? null }, problem: null }),
      )
      .catch((problem: unknown) => setBeyond({ key, page: seen, problem }));
  };
  useEffect(() => {
    // What the first page has pushed on since must not get lost between it and the rest.
    if (seen && shown)
      setBeyond({ key, page: shown === first.value ? null : shown, problem: beyond.problem });
  }, [first.value]);
  const problem = first.problem ?? (beyond.key === key ? beyond.problem : null);
  return { ...first, problem, value: shown?.items ?? null, hasMore: Boolean(shown?.next), more };
}

/** The first page as it is now, and what was seen beyond it. Where the two do not meet, the first page alone. */
export function joined<T>(first: Page<T>, seen: Page<T>): Page<T> {
  const fresh = new Set(first.items.map(idOf));
  const last = first.items.at(-1);
  const at = last === undefined ? -1 : seen.items.findIndex((item) => idOf(item) === idOf(last));
  if (at < 0) return first;
  const rest = seen.items.slice(at + 1).filter((item) => !fresh.has(idOf(item)));
  return { items: [...first.items, ...rest], next: seen.next ?? null };
}

/** What an item of a list is known by. */
function idOf(item: unknown): unknown {
  const { id, runId, seq, path } = item as Record<string, unknown>;
  return id ?? runId ?? seq ?? path ?? item;
}

/** Call it every so often while the page is looked at, and at once when somebody comes back to it. */
export function useRegularly(call: () => unknown, every: number): void {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    if (!every) return;
    const look = () => document.visibilityState === "visible" && latest.current();
    const timer = setInterval(look, every);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [every]);
}

/** Something that is asked for by a press: whether it is under way, and what went wrong. */
export interface Deed {
  readonly isBusy: boolean;
  readonly problem: unknown;
  /** Do it. Settles with whether it was done. */
  readonly run: (work: () => Promise<unknown>) => Promise<boolean>;
  readonly forget: () => void;
}

export function useDeed(): Deed {
  const [state, setState] = useState<{ isBusy: boolean; problem: unknown }>({ isBusy: false, problem: null });
  const run = async (work: () => Promise<unknown>): Promise<boolean> => {
    setState({ isBusy: true, problem: null });
    try {
      await work();
      setState({ isBusy: false, problem: null });
      return true;
    } catch (problem) {
      setState({ isBusy: false, problem: isStopped(problem) ? null : problem });
      return false;
    }
  };
  return { ...state, run, forget: () => setState({ isBusy: false, problem: null }) };
}
