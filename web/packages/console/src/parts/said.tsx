/** Short remarks for everybody, also for those who do not see the page: “Approved.”, “Copied.” */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { signalled } from "./signal";

const remarks = signalled("");

/** Say something once. It goes away by itself. */
export function say(text: string): void {
  // The same words again are another remark.
  remarks.set("");
  setTimeout(() => remarks.set(text), 30);
}

const SHOWN_MS = 6_000;

export function Remarks(): VNode {
  const [text, setText] = useState("");
  useEffect(() => {
    let timer = 0;
    return remarks.watch((said) => {
      setText(said);
      clearTimeout(timer);
      if (said) timer = window.setTimeout(() => setText(""), SHOWN_MS);
    });
  }, []);
  return (
    <div class={text ? "remark shown" : "remark"} role="status" aria-live="polite">
      {text}
    </div>
  );
}
