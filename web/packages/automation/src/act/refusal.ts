/** Why something is not done. Thrown inside, told as an outcome. */

import { tagOf } from "../dom";
import { nameOf } from "../names";
import { roleOf } from "../roles";
import { quoted } from "../text";

export class Refusal extends Error {
  readonly candidates: readonly string[] | undefined;

  constructor(reason: string, candidates?: readonly string[]) {
    super(reason);
    this.candidates = candidates?.length ? candidates : undefined;
  }
}

/** To be asked after every wait: what somebody stopped is not done any more. */
export function unlessStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new Refusal("stopped before it was done");
}

/** An element in words: `button "Save"`. */
export function described(element: Element): string {
  const what = roleOf(element) || tagOf(element);
  const name = nameOf(element);
  return name ? `${what} ${quoted(name, 60)}` : what;
}
