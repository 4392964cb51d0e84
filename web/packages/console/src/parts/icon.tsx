/** The signs of the console, drawn in the colour of the text. They say nothing that is not also said in words. */

import type { VNode } from "preact";

const PATHS = {
  threads: "M4 5.5h16v10.5H10l-4 3.5V16H4z",
  approvals: "M5 12.5l4.5 4.5L19 7.5",
  unknown: "M9 9a3 3 0 1 1 4.2 2.8c-.8.4-1.2 1-1.2 2.2M12 17.6v.2",
  runs: "M5 6h14M5 12h9M5 18h12",
  grants: "M7 11V8a5 5 0 0 1 10 0v3M5.5 11h13v9h-13z",
  audit: "M12 3.5l7 3v5c0 4.5-3 7.5-7 9-4-1.5-7-4.5-7-9v-5z",
  runbooks: "M6 4h12v16H6zM9 8h6M9 12h6M9 16h3",
  usage: "M5 19V11M12 19V5M19 19v-6",
  google: "M4 6h16v12H4zM4 7l8 6 8-6",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  health: "M3 12h4l3-7 4 14 3-7h4",
  close: "M6 6l12 12M18 6L6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  attach: "M8 12.5l6-6a3 3 0 0 1 4.2 4.2l-8 8a5 5 0 0 1-7-7l7.5-7.5",
  play: "M8 5.5v13l10-6.5z",
  edit: "M5 19h3l10-10-3-3L5 16zM13.5 7.5l3 3",
  bin: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  plus: "M12 5v14M5 12h14",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  wrench: "M14 6a4 4 0 0 0 5 5l-8.5 8.5a2 2 0 0 1-3-3L16 8",
  done: "M5 12.5l4.5 4.5L19 7.5",
  failed: "M7 7l10 10M17 7L7 17",
  waiting: "M12 7v5l3.5 2M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17",
  save: "M5 4h11l3 3v13H5zM8 4v5h7V4M8 20v-6h8v6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): VNode {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
