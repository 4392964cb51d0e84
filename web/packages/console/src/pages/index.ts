/** Every page of the console, in the order of the way there. */

import type { FunctionComponent } from "preact";
import type { IconName } from "../parts/icon";
import type { Place } from "../place";
import { Approvals } from "./approvals";
import { Audit } from "./audit";
import { Google } from "./google";
import { Grants } from "./grants";
import { Health } from "./health";
import { Runbooks } from "./runbooks";
import { Runs } from "./runs";
import { Settings } from "./settings";
import { Threads } from "./threads";
import { Unknown } from "./unknown";
import { Usage } from "./usage";

export interface Page {
  readonly name: string;
  readonly title: string;
  readonly icon: IconName;
  readonly View: FunctionComponent<{ place: Place }>;
  /** Whether another group begins with it. */
  readonly begins?: boolean;
}

export const PAGES: readonly Page[] = [
  { name: "threads", title: "Conversations", icon: "threads", View: Threads },
  { name: "approvals", title: "Approvals", icon: "approvals", View: Approvals },
  { name: "unknown", title: "Unknown outcomes", icon: "unknown", View: Unknown },
  { name: "runs", title: "Runs", icon: "runs", View: Runs },
  { name: "runbooks", title: "Runbooks", icon: "runbooks", View: Runbooks, begins: true },
  { name: "grants", title: "Grants", icon: "grants", View: Grants, begins: true },
  { name: "audit", title: "Audit", icon: "audit", View: Audit },
  { name: "usage", title: "Tokens and costs", icon: "usage", View: Usage, begins: true },
  { name: "google", title: "Google", icon: "google", View: Google },
  { name: "settings", title: "Settings", icon: "settings", View: Settings },
  { name: "health", title: "Health", icon: "health", View: Health },
];

export function pageNamed(name: string): Page | undefined {
  return PAGES.find((page) => page.name === name);
}
