/** The page as the conversation needs it, made of what sees and drives it. */

import type { Automation, Outcome } from "@pollux/automation";
import type { Json, PagePort } from "@pollux/client";
import type { Late } from "./late";
import type { Person } from "./person";

/** How long a page that is being left is waited for: nothing that is looked at now will be there. */
const LEAVING = 3_000;

/** `arrived` is over when the page shows what it was opened for. */
export function pagePort(load: Late, window: Window, person: Person, arrived: Promise<void>): PagePort {
  let leaving: Promise<void> | null = null;
  const left = () => {
    leaving ??= new Promise((resolve) => {
      window.setTimeout(() => {
        // It stayed, after all: a download, or the visitor was asked and said no.
        leaving = null;
        resolve();
      }, LEAVING);
    });
  };
  return {
    state: async () => {
      await Promise.all([arrived, leaving]);
      return (await load()).getPageState() as unknown as Json;
    },
    tools: async () => {
      await Promise.all([arrived, leaving]);
      return (await load()).tools();
    },
    subject: (call) => load.there?.controlOf(call as Parameters<Automation["controlOf"]>[0])?.name,
    execute: async (call, signal) => {
      await arrived;
      window.addEventListener("beforeunload", left);
      try {
        const automation = await load();
        const outcome = await person.during(() =>
          attempt(() => automation.execute(call as Parameters<Automation["execute"]>[0], signal)),
        );
        const result = JSON.stringify(outcome);
        return outcome.ok ? { result } : { result, isError: true };
      } finally {
        window.removeEventListener("beforeunload", left);
      }
    },
  };
}

/** What came of it. Failures are outcomes too: the model is told, and the page's console stays silent. */
async function attempt(act: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await act();
  } catch (problem) {
    return {
      ok: false,
      error: problem instanceof Error ? problem.message : "this could not be done in the page",
    };
  }
}
