/** The few signs on buttons, drawn in the colour of the text. */

import type { VNode } from "preact";

const PATHS = {
  chat: "M4 5.5h16v10.5H10l-4 3.5V16H4z",
  close: "M6 6l12 12M18 6L6 18",
  expand: "M7 14l5 5 5-5M7 10l5-5 5 5",
  collapse: "M7 5l5 5 5-5M7 19l5-5 5 5",
  clear: "M12 5v14M5 12h14",
  send: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  done: "M5 12.5l4.5 4.5L19 7.5",
  failed: "M7 7l10 10M17 7L7 17",
  lock: "M7 11V8a5 5 0 0 1 10 0v3M5.5 11h13v9h-13z",
};

export function Icon({ name }: { name: keyof typeof PATHS }): VNode {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
