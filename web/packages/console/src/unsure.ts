/** How many outcomes nobody knows, as the whole console tells it: whoever does not look there should hear of it too. */

import type { UnknownPage } from "@pollux/protocol";
import { useEffect } from "preact/hooks";
import { door } from "./door";
import { useRegularly } from "./loading";
import type { Tally } from "./nav";
import { signalled } from "./parts/signal";

const EVERY_MS = 10_000;

export const unsure = signalled<Tally>({ count: 0, hasMore: false });

export async function readUnsure(): Promise<void> {
  try {
    const { items, next } = await door.get<UnknownPage>("/api/agent/actions");
    unsure.set({ count: items.length, hasMore: Boolean(next) });
  } catch {
    // The inbox, which is read more often, says that the server cannot be reached.
  }
}

/** Keep it true while somebody looks. */
export function useUnsureKept(): void {
  useEffect(() => void readUnsure(), []);
  useRegularly(() => void readUnsure(), EVERY_MS);
}
