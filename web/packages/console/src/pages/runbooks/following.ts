/** A run's stream, followed to its end: from the beginning, and again from there whenever the connection broke. */

import type { RunbookLine } from "@pollux/protocol";
import { useEffect, useRef, useState } from "preact/hooks";
import { present } from "../../clock";
import { door, isStopped, Refusal } from "../../door";
import { Board } from "./board";
import { isBegunHere } from "./links";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;
const SHOWN_EVERY_MS = 80;
/** What is told at once has happened some time before: then the server's clock says when. */
const OLD_NEWS_MS = 500;

export interface Following {
  readonly board: Board;
  /** Why nothing is heard at present. It is tried again. */
  readonly problem: unknown;
}

/** Follow a run. `onFact` is called for whatever happens, but not for every piece of output. */
export function useFollowing(runId: string, onFact: () => void): Following {
  const [state, setState] = useState({ board: new Board(runId), problem: null as unknown, count: 0 });
  const told = useRef(onFact);
  told.current = onFact;
  useEffect(() => {
    const control = new AbortController();
    const board = new Board(runId);
    let timer = 0;
    const show = (problem: unknown = null) => {
      clearTimeout(timer);
      timer = 0;
      setState((old) => ({ board, problem, count: old.count + 1 }));
    };
    const onLine = (line: RunbookLine) => {
      // Programs put out faster than anybody reads.
      timer ||= window.setTimeout(show, SHOWN_EVERY_MS);
      if (line.type !== "blockOutput") told.current();
    };
    void follow(board, { signal: control.signal, onLine, onProblem: show });
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, [runId]);
  return state;
}

/** Runs that have ended, oldest first, as they came out: later ones over earlier ones. */
export function useEarlier(runIds: readonly string[]): Board {
  const [board, setBoard] = useState(() => new Board("", false));
  useEffect(() => {
    const control = new AbortController();
    const read = async () => {
      const fresh = new Board("", false);
      for (const id of runIds) for await (const line of lines(id, control.signal)) fresh.read(line);
      setBoard(fresh);
    };
    // What cannot be had is not shown: how far it came is known without.
    read().catch(() => undefined);
    return () => control.abort();
  }, [runIds.join(" ")]);
  return board;
}

interface Followed {
  readonly signal: AbortSignal;
  readonly onLine: (line: RunbookLine) => void;
  readonly onProblem: (problem: unknown) => void;
}

async function follow(board: Board, { signal, onLine, onProblem }: Followed): Promise<void> {
  let wait = FIRST_WAIT_MS;
  let isFresh = isBegunHere(board.runId);
  while (!signal.aborted) {
    const opened = present();
    let problem: unknown = new Refusal(0, "unreachable", "The connection broke.");
    try {
      board.restart();
      for await (const line of lines(board.runId, signal)) {
        wait = FIRST_WAIT_MS;
        const now = present();
        board.read(line, isFresh || now - opened > OLD_NEWS_MS ? now : null);
        onLine(line);
        if (board.ending) return;
      }
    } catch (found) {
      if (isStopped(found) || signal.aborted) return;
      problem = found;
    }
    isFresh = false;
    onProblem(problem);
    if (problem instanceof Refusal && [401, 403, 404].includes(problem.status)) return;
    await later(wait, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

async function* lines(runId: string, signal: AbortSignal): AsyncGenerator<RunbookLine> {
  const path = `/api/runbooks/runs/${encodeURIComponent(runId)}/events`;
  for await (const line of door.lines<RunbookLine>(path, { signal })) {
    if (line.type === "error") throw new Refusal(503, line.code, line.error);
    yield line;
  }
}

function later(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
