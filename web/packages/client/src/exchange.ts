/** One request whose answer is told as it happens, asked until it is answered. */

import type { Door } from "./door";
import { broken } from "./door";
import { patiently, type Wait } from "./patience";
import { lineOf, linesOf, type Told, toldOf } from "./told";
import type { Transcript } from "./transcript";
import { CUT, Trouble } from "./trouble";

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
  const attempt = async (further: () => void) => {
    exchange.onTry();
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
    exchange.onTrouble(trouble);
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
  try {
    if (!opened.response.body) throw new Trouble(CUT, "the answer is empty");
    for await (const text of linesOf(opened.response.body)) {
      opened.heard();
      const line = lineOf(text);
      if (!line) continue;
      onLine(++count);
      const told = toldOf(line, text);
      if (told) return told;
      if (line.type === "error") throw new Trouble(line.code, line.error);
      if (line.type === "status") onRun(line.runId);
      if (!signal.aborted) transcript.read(line);
    }
  } catch (problem) {
    throw problem instanceof Trouble ? problem : broken(signal);
  } finally {
    opened.over();
  }
  throw new Trouble(CUT, "the answer ended before it was whole");
}
