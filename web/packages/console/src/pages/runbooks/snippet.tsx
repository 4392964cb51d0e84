/** A piece of a file, to be copied. */

import type { VNode } from "preact";
import { Pre } from "../../parts/arguments";
import { say } from "../../parts/said";

export function Snippet({ text, label }: { text: string; label: string }): VNode {
  const copy = () => {
    // Only where the connection is safe does a browser have a clipboard for us.
    const copied = navigator.clipboard?.writeText(text) ?? Promise.reject();
    copied.then(
      () => say("Copied."),
      () => say("The browser does not let us copy. Select the text."),
    );
  };
  return (
    <div class="snippet">
      <Pre text={text} label={label} />
      <button type="button" aria-label={`Copy: ${label}`} onClick={copy}>
        Copy
      </button>
    </div>
  );
}
