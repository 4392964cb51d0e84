/** What whoever runs the site should know. It is said in the console, in one line, and once: visitors are told else. */

import type { LeftOut } from "@pollux/protocol";
import { CUT, Trouble } from "./trouble";

const MOST_SAID = 20;
const LONGEST_SAID = 1_000;
const said = new Set<string>();

export function tellOwner(text: string): void {
  // What the server says may span lines, and may be anything.
  const line = `pollux: ${text.replace(/\s+/g, " ").slice(0, LONGEST_SAID)}`;
  if (said.has(line) || said.size >= MOST_SAID) return;
  said.add(line);
  globalThis.console?.warn(line);
}

/** What a failure asks of the owner; empty where it is none of theirs. */
export function forOwner(problem: unknown, base: string): string {
  if (!(problem instanceof Trouble)) return "";
  const here = globalThis.origin ?? "this page's origin";
  if (problem.code === "bad_origin")
    return (
      problem.message || `name ${here} under \`[page] origins\` in the configuration of the server at ${base}`
    );
  if (problem.code === CUT && problem.isFirst)
    return `${base} cannot be reached from ${here}. Check that the server runs, that \`[page] origins\` in its configuration names ${here}, and that this page's policy (connect-src) allows it`;
  return "";
}

/** Which tools of the page the agent does not hear of, and why. */
export function leftOutFor(leftOut: LeftOut | undefined): string {
  // An older server does not tell, and what comes over the wire may be anything.
  if (!Array.isArray(leftOut?.tools) || leftOut.tools.length === 0) return "";
  const named = leftOut.tools.map((tool) => `${tool?.name}: ${tool?.why}`).join("; ");
  return `the agent does not hear of ${leftOut.count} of this page's tools as they are. ${named}`;
}
