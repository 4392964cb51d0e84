/** A change to a file, line by line. Signs say what colours say; nothing invisible in it. */

import { visible } from "@pollux/widget";
import type { VNode } from "preact";

const MOST = 2_000;

/** Whether a text is a change, and not just text in which lines happen to begin with signs. */
export function isDiff(text: string): boolean {
  return /^@@ |^--- .*\n\+\+\+ /m.test(text);
}

export function Diff({ text, label }: { text: string; label: string }): VNode {
  const lines = text.split("\n");
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by those without a pointer.
    <section class="pre diff-text" tabIndex={0} aria-label={label}>
      <pre dir="ltr">
        {lines.slice(0, MOST).map((line, index) => (
          <span key={index} class={toneOf(line)}>
            {`${visible(line)}\n`}
          </span>
        ))}
      </pre>
      {lines.length > MOST && <p class="faint">{lines.length - MOST} more lines: see the arguments.</p>}
    </section>
  );
}

function toneOf(line: string): string | undefined {
  if (/^(\+\+\+|---|@@)/.test(line)) return "where";
  return line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : undefined;
}
