/** Small drawings for kinds of blocks and for states. Beside each stands what it means. */

import type { VNode } from "preact";
import type { Word } from "./states";

const PATHS = {
  circle: "M12 5a7 7 0 1 1 0 14 7 7 0 0 1 0-14",
  clock: "M12 7v5l3.5 2M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17",
  cross: "M7 7l10 10M17 7L7 17",
  done: "M5 12.5l4.5 4.5L19 7.5",
  hand: "M7 11V6.5a1.5 1.5 0 0 1 3 0V10V4.5a1.5 1.5 0 0 1 3 0V10V5.5a1.5 1.5 0 0 1 3 0V11V8.5a1.5 1.5 0 0 1 3 0V14c0 4-2.5 6.5-6 6.5-3 0-4.5-1.5-6-4l-2.5-4a1.5 1.5 0 0 1 2.5-1.5z",
  lines: "M4 6h16M4 11h16M4 16h9",
  play: "M8 5.5v13l10-6.5z",
  plug: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  right: "M9 6l6 6-6 6",
  skip: "M6 6l7 6-7 6zM17 6v12",
  stop: "M7 7h10v10H7z",
  timer: "M12 8v5M9.5 2.5h5M12 5.5a7.5 7.5 0 1 1 0 15 7.5 7.5 0 0 1 0-15M17.5 6l1.5 1.5",
  wrench: "M14 6a4 4 0 0 0 5 5l-8.5 8.5a2 2 0 0 1-3-3L16 8",
  agent: "M6 9h12v9H6zM12 9V5M10.5 4.5h3M9.5 13v1M14.5 13v1M3.5 12v3M20.5 12v3",
  script: "M5 7l5 5-5 5M12.5 17h6.5",
  request:
    "M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17M3.5 12h17M12 3.5c-5 5-5 12 0 17M12 3.5c5 5 5 12 0 17",
  query: "M5 6.5c0-4 14-4 14 0v11c0 4-14 4-14 0zM5 6.5c0 4 14 4 14 0M5 12c0 4 14 4 14 0",
  value:
    "M9 4.5c-3 0-3 1-3 3.5 0 2.5-.5 3.5-2 4 1.5.5 2 1.5 2 4 0 2.5 0 3.5 3 3.5M15 4.5c3 0 3 1 3 3.5 0 2.5.5 3.5 2 4-1.5.5-2 1.5-2 4 0 2.5 0 3.5-3 3.5",
  folder: "M3.5 6h6l2 2.5h9V18.5h-17z",
  choice: "M4 5.5h16v5H4zM14 8h3M7 14.5h10M7 18.5h10",
  pause: "M8 6v12M16 6v12",
  part: "M6 4h12v16H6zM9 8h6M9 12h6M9 16h3",
  text: "M5 6h14M5 10h14M5 14h14M5 18h8",
} as const;

export type SignName = keyof typeof PATHS;

export function Sign({ name }: { name: SignName }): VNode {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** A state: its sign and its word. */
export function Status({ word }: { word: Word }): VNode {
  return (
    <span class={`sign-state ${word.tone}`}>
      <Sign name={word.sign} />
      {word.text}
    </span>
  );
}
