/** What may be wider or longer than its place. What scrolls is reached by keyboard, and so has a name. */

import type { ComponentChildren, VNode } from "preact";

export function Scroll({ label, children }: { label: string; children: ComponentChildren }): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll only what has the focus.
    // biome-ignore lint/a11y/useSemanticElements: no field set, there is no field in it.
    <div class="scroll" role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}
