/** One event of a run, ready to be shown. */

import type { Usage } from "@pollux/protocol";
import type { IconName } from "../../parts/icon";

export type Tone = "plain" | "good" | "warn" | "bad" | "still";

/** Something long, behind a word. */
export type Fold =
  | { readonly as: "text" | "json"; readonly label: string; readonly value: unknown }
  | { readonly as: "arguments"; readonly label: string; readonly value: Readonly<Record<string, unknown>> };

export interface Link {
  readonly label: string;
  readonly href: string;
}

export interface Entry {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly icon: IconName;
  readonly tone: Tone;
  readonly title: string;
  /** A sentence of ours or of the policy's. */
  readonly note?: string | undefined;
  /** What a person or a model wrote. */
  readonly quote?: string | undefined;
  readonly took?: number | undefined;
  readonly usage?: Usage | undefined;
  /** Dollars; null where nobody knows the price. */
  readonly cost?: number | null | undefined;
  readonly facts?: readonly (readonly [name: string, value: string])[];
  readonly folds?: readonly Fold[];
  readonly links?: readonly Link[];
}
