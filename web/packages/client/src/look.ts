/** What the page offers and shows at this moment, as JSON. A page that cannot tell offers and shows nothing. */

import { written } from "./json";
import type { Json, PagePort, ToolDefinition } from "./types";

export interface Look {
  readonly tools: string;
  readonly state: string;
}

const PATIENCE = 10_000;

export async function lookAt(page: PagePort, signal: AbortSignal): Promise<Look> {
  const [tools, state] = await Promise.all([
    soon<readonly ToolDefinition[]>(async () => await page.tools(), [], signal),
    soon<Json>(async () => await page.state(), null, signal),
  ]);
  return { tools: written(tools), state: written(state) };
}

/** What the page tells, unless it fails or takes too long. Rejects only where `signal` ends it. */
async function soon<T>(ask: () => Promise<T>, otherwise: T, signal: AbortSignal): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop = () => {};
  const late = new Promise<T>((resolve) => {
    stop = () => resolve(otherwise);
    timer = setTimeout(stop, PATIENCE);
    signal.addEventListener("abort", stop, { once: true });
  });
  const told = await Promise.race([ask().catch(() => otherwise), late]);
  clearTimeout(timer);
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  return told;
}
