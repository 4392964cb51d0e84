/** The tools that drive any page, by the refs of its outline. Executing one never throws: what went wrong is an outcome. */

import { ACTIONS, type Page, remember } from "./act/actions";
import { DEFINITIONS } from "./act/definitions";
import { Refusal } from "./act/refusal";
import { addressOf, changes, seen } from "./diff";
import { withoutSecrets } from "./json";
import { knownSecrets } from "./private";
import { settled } from "./settle";
import type { Json, Outcome, PendingCall, ToolDefinition } from "./types";

/** A tool that the page itself brings: one of Jay's, or of WebMCP's. */
export interface PageTool {
  readonly definition: ToolDefinition;
  execute(args: { readonly [name: string]: Json }, signal?: AbortSignal): Promise<Outcome>;
}

/** What acting needs from seeing. */
export interface Sight extends Page {
  /** Tools that the page itself brings, as they are now. */
  pageTools?(): readonly PageTool[] | Promise<readonly PageTool[]>;
}

export interface Tools {
  tools(): Promise<ToolDefinition[]>;
  execute(call: PendingCall, signal?: AbortSignal): Promise<Outcome>;
}

export function createTools(sight: Sight): Tools {
  let before: Promise<unknown> | undefined;
  const told = async (call: PendingCall, signal: AbortSignal | undefined, act: () => Promise<Outcome>) => {
    const outcome = await guarded(call, signal, act);
    return withoutSecrets(outcome as unknown as Json, knownSecrets(sight.document)) as unknown as Outcome;
  };
  const inTurn = async (turn: Promise<unknown> | undefined, call: PendingCall, signal?: AbortSignal) => {
    await turn;
    // Awaited here too: what is returned without that goes by the page's `then`.
    return await told(call, signal, () => acted(sight, call, signal));
  };
  const execute = (call: PendingCall, signal?: AbortSignal): Promise<Outcome> => {
    // A tool of the page's may itself end in one of ours.
    if (!ACTIONS.has(call.name)) return told(call, signal, () => brought(sight, call, signal));
    // One after the other: two at once would each see what the other did. Not by `then`: that is the page's.
    const outcome = inTurn(before, call, signal);
    before = outcome;
    return outcome;
  };
  return {
    execute,
    tools: async () => [...DEFINITIONS, ...(await pageTools(sight)).map(({ definition }) => definition)],
  };
}

async function guarded(
  call: PendingCall,
  signal: AbortSignal | undefined,
  act: () => Promise<Outcome>,
): Promise<Outcome> {
  try {
    if (signal?.aborted) throw new Refusal("stopped before anything was done");
    return await act();
  } catch (problem) {
    return refused(call, problem);
  }
}

async function brought(sight: Sight, call: PendingCall, signal?: AbortSignal): Promise<Outcome> {
  const tool = (await pageTools(sight)).find(({ definition }) => definition.name === call.name);
  if (!tool) throw new Refusal(`this page has no tool "${call.name.slice(0, 60)}"`);
  return await tool.execute(call.args, signal);
}

/** None of them can stand in for one of ours. */
async function pageTools(sight: Sight): Promise<PageTool[]> {
  const brought = (await sight.pageTools?.()) ?? [];
  return brought.filter(({ definition }) => !ACTIONS.has(definition.name));
}

async function acted(sight: Sight, call: PendingCall, signal?: AbortSignal): Promise<Outcome> {
  const action = ACTIONS.get(call.name);
  if (!action) throw new Refusal("no such tool");
  if (call.name === "read") {
    const { did, value } = await action(sight, call.args);
    return { ok: true, did, changed: [], ...(value === undefined ? {} : { value }) };
  }
  const look = () => seen(sight.document, sight.refs, sight.isOwn);
  const before = look();
  const { result, leavesFor } = await settled(sight.document, () => action(sight, call.args, signal), signal);
  remember(sight.document);
  if (leavesFor !== null)
    return { ok: true, did: result.did, changed: [`the page is left for ${addressOf(leavesFor)}`] };
  const wrong = result.check?.() ?? null;
  if (wrong !== null) return { ok: false, error: `${result.did}, but ${wrong}` };
  return { ok: true, did: result.did, changed: [...(result.notes ?? []), ...changes(before, look())] };
}

function refused(call: PendingCall, problem: unknown): Outcome {
  if (problem instanceof Refusal) {
    const { message, candidates } = problem;
    const about =
      typeof call.args?.ref === "string" && !message.startsWith(call.args.ref) ? `${call.args.ref}: ` : "";
    return { ok: false, error: `${about}${message}`, ...(candidates ? { candidates } : {}) };
  }
  const reason = problem instanceof Error ? `${problem.name}: ${problem.message}` : "unknown reason";
  return {
    ok: false,
    error: `${call.name} went wrong in the page (${reason.slice(0, 200)}). Look at it before trying again`,
  };
}
