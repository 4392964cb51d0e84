/** Bodies of answers, read within bounds: whoever sends more is not our server, and would fill the page's memory. */

import { BAD_ANSWER, Trouble } from "./trouble";

/** Characters of one answer, or of one line of a stream. */
export const LARGEST_ANSWER = 8 << 20;
/** Characters of all lines of a stream. */
const LARGEST_STREAM = 32 << 20;
export const LARGEST_REFUSAL = 1 << 16;

/** The whole of a body, as text. Throws Trouble where it is more than so many characters. */
export async function textOf(
  { body }: Response,
  { most, signal }: { most: number; signal: AbortSignal },
): Promise<string> {
  let text = "";
  if (body) for await (const more of piecesOf(body, { most, signal })) text += more;
  return text;
}

/** The lines of a body. A last one without an end was cut off, and is not given. */
export async function* linesOf(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let rest = "";
  for await (const more of piecesOf(body, { most: LARGEST_STREAM, signal })) {
    // Only what is new can hold the end of a line.
    let searched = rest.length;
    rest += more;
    let start = 0;
    for (let end = rest.indexOf("\n", searched); end >= 0; end = rest.indexOf("\n", searched)) {
      yield rest.slice(start, end);
      start = searched = end + 1;
    }
    rest = rest.slice(start);
    if (rest.length > LARGEST_ANSWER) throw tooMuch();
  }
}

/** A promise's result, unless `signal` ends first: a page may have put a fetch of its own in place, which knows none. */
export async function unless<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  let stop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, stopped]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

async function* piecesOf(
  body: ReadableStream<Uint8Array>,
  { most, signal }: { most: number; signal: AbortSignal },
): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let left = most;
  try {
    for (;;) {
      const { done, value } = await unless(signal, reader.read());
      if (done) return;
      const text = decoder.decode(value, { stream: true });
      left -= text.length;
      if (left < 0) throw tooMuch();
      yield text;
    }
  } finally {
    // Whoever has heard enough hangs up.
    reader.cancel().catch(() => undefined);
  }
}

function tooMuch(): Trouble {
  return new Trouble(BAD_ANSWER, "the answer does not end");
}
