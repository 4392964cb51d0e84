/** A text to take along. */

import type { ComponentChildren, VNode } from "preact";
import { say } from "./said";

interface Props {
  readonly text: string;
  /** What it is, for the word that says that it was done: `The run's id`. */
  readonly what: string;
  readonly children: ComponentChildren;
}

export function CopyButton({ text, what, children }: Props): VNode {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say(`Copied: ${what}.`);
    } catch {
      // Only pages that came over a safe connection may, and not all browsers let them.
      say("This browser does not let the page copy. Select the text instead.");
    }
  };
  return (
    <button type="button" onClick={() => void copy()}>
      {children}
    </button>
  );
}
