/** One request whose answer is told as it happens, asked until it is answered. */

import { linesOf } from "./bodies";
import type { Door } from "./door";
import { broken } from "./door";
import { patiently, type Wait } from "./patience";
import { lineOf, type Told, toldOf } from "./told";
import type { Transcript } from "./transcript";
import { BAD_ANSWER, CUT, Trouble } from "./trouble";

/** Actions and characters in one answer. No model says as much. */
const MOST_ACTIONS = 2_000;
const LONGEST_ANSWER = 4_000_000;

export interface Exchange {
  readonly path: string;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly wait: Wait;
  /** Before each try: what was shown of the one before is to be dropped. */
  onTry(): void;
  /** The run that answers. */
  onRun(runId: string): void;
  /** It may have been heard, and has to be asked again. */
  onTrouble(trouble: Trouble): void;
}

/** What it came to. Throws Trouble where it came to nothing. */
export async function exchanged(door: Door, transcript: Transcript, exchange: Exchange): Promise<Told> {
  const { signal, wait } = exchange;
  let furthest = 0;
  let isSent = false;
  const attempt = async (further: () => void) => {
    exchange.onTry();
    await door.admit(exchange);
    isSent = true;
    const told = await once(door, transcript, exchange, (count) => {
      if (count <= furthest) return;
      furthest = count;
      further();
    });
    // Whoever was stopped meanwhile hears nothing more.
    signal.throwIfAborted();
    if (transcript.state.error) transcript.trouble(null);
    return told;
  };
  const onTrouble = (trouble: Trouble, isOffline: boolean) => {
    if (isSent) exchange.onTrouble(trouble);
    transcript.trouble(isOffline ? WHILE_OFFLINE : trouble.code === CUT ? WHILE_CUT : WHILE_BUSY);
  };
  return await patiently(attempt, { wait, signal, onTrouble });
}

const WHILE_CUT = { code: "reconnecting", message: "The connection broke. Trying again…", canRetry: false };
const WHILE_BUSY = { code: "waiting", message: "The assistant is busy. Trying again…", canRetry: false };
const WHILE_OFFLINE = {
  code: "offline",
  message: "You are offline. This goes on when you are back.",
  canRetry: false,
};

async function once(
  door: Door,
  transcript: Transcript,
  { path, body, signal, onRun }: Exchange,
  onLine: (count: number) => void,
): Promise<Told> {
  const opened = await door.open({ path, body, signal });
  let count = 0;
  let actions = 0;
  let letters = 0;
  try {
    if (!opened.response.body) throw new Trouble(CUT, "the answer is empty");
    for await (const text of linesOf(opened.response.body, opened.signal)) {
      opened.heard();
      const line = lineOf(text);
      if (!line) continue;
      onLine(++count);
      const told = toldOf(line, text);
      if (told) return told;
      if (line.type === "error") throw new Trouble(line.code, line.error);
      if (line.type === "status") onRun(line.runId);
      if (line.type === "tool_call") actions += 1;
      if (line.type === "delta") letters += line.delta.length;
      if (actions > MOST_ACTIONS || letters > LONGEST_ANSWER)
        throw new Trouble(BAD_ANSWER, "the answer does not end");
      if (!signal.aborted) transcript.read(line);
    }
  } catch (problem) {
    if (!(problem instanceof Trouble)) throw broken(signal);
    // Nobody wants to read it, or to keep it.
    if (problem.code === BAD_ANSWER) transcript.cutTurn();
    throw problem;
  } finally {
    opened.over();
  }
  throw new Trouble(CUT, "the answer ended before it was whole");
}
