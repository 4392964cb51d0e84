/** What sees and drives the page, fetched when it is needed: it is as large as all the rest together. */

import type { Automation, AutomationOptions } from "@pollux/automation";

declare const AUTOMATION: string;

interface Module {
  createAutomation(page: Document, options: AutomationOptions): Automation;
}

export interface Late {
  (): Promise<Automation>;
  /** Where it is there already. */
  readonly there: Automation | null;
}

/** Loads it once, from where the script itself came from; again where that failed. */
export function late(base: string, document: Document, options: AutomationOptions): Late {
  let loading: Promise<Automation> | null = null;
  let there: Automation | null = null;
  const load = () => {
    loading ??= fetched(base, document, options).then(
      (automation) => {
        there = automation;
        return automation;
      },
      (problem) => {
        loading = null;
        throw problem;
      },
    );
    return loading;
  };
  return Object.defineProperty(load, "there", { get: () => there }) as Late;
}

async function fetched(base: string, document: Document, options: AutomationOptions): Promise<Automation> {
  // By what is in it, so that no older one is taken for it.
  const { href } = new URL(`${base}/automation.mjs?${AUTOMATION}`, document.baseURI);
  const { createAutomation }: Module = await import(href);
  return createAutomation(document, options);
}
