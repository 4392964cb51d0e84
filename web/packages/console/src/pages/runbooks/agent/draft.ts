/** An agent block's configuration as a form has it: read from a block, and written back as what has changed. */

import type { BlockView, KnownAgent } from "@pollux/protocol";

export const INTERNAL = "internal";
export const OWN = "own";
const REGISTERED = "agent:";

export interface Draft {
  readonly name: string;
  /** `internal`, `own`, or `agent:` and a name of the registry. */
  readonly source: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly model: string;
  readonly prompt: string;
  readonly systemPrompt: string;
  readonly readFiles: boolean;
  readonly writeFiles: boolean;
  readonly executeCommands: boolean;
  readonly alwaysAllowTools: boolean;
  readonly timeout: string;
  readonly directory: string;
}

export type Field = keyof Draft;

/** What somebody has typed: each field as it is now, and as it was when they began. */
export type Changes = { readonly [F in Field]?: { readonly now: Draft[F]; readonly before: Draft[F] } };

export const FIELD_NAMES: Readonly<Record<Field, string>> = {
  ...{ name: "name", source: "source", command: "command", args: "arguments", env: "environment" },
  ...{ model: "model", prompt: "prompt", systemPrompt: "system prompt", timeout: "time-out" },
  ...{ directory: "working directory", readFiles: "read files", writeFiles: "write files" },
  ...{ executeCommands: "run commands", alwaysAllowTools: "ask about nothing" },
};

const SOURCE: readonly Field[] = ["source", "command", "args", "env", "model"];
const CAPABILITIES = ["readFiles", "writeFiles", "executeCommands", "alwaysAllowTools"] as const;

export function registered(name: string): string {
  return REGISTERED + name;
}

export function draftOf(block: BlockView, agents: readonly KnownAgent[]): Draft {
  const agent = block.agent;
  const source = agent?.source;
  const acp = source?.type === "acp" ? source : null;
  const isKnown = acp !== null && agents.some((known) => known.name === acp.command);
  return {
    name: block.name,
    source: acp === null ? INTERNAL : isKnown ? registered(acp.command) : OWN,
    command: acp && !isKnown ? acp.command : "",
    args: acp?.args ?? [],
    env: Object.entries(acp?.env ?? {}).map(([name, value]) => [name, String(value)] as const),
    model: source?.type === "internal" ? (source.model ?? "") : "",
    prompt: agent?.prompt ?? "",
    systemPrompt: agent?.systemPrompt ?? "",
    readFiles: agent?.capabilities.readFiles ?? false,
    writeFiles: agent?.capabilities.writeFiles ?? false,
    executeCommands: agent?.capabilities.executeCommands ?? false,
    alwaysAllowTools: agent?.capabilities.alwaysAllowTools ?? false,
    timeout: agent?.timeoutSeconds?.toString() ?? "",
    directory: agent?.workingDirectory ?? "",
  };
}

/** What is shown: the block as it stands, with what was typed over it. */
export function shownOf(base: Draft, changes: Changes): Draft {
  const typed = Object.entries(changes).map(([field, change]) => [field, change.now]);
  return { ...base, ...Object.fromEntries(typed) };
}

/** One more field typed. One that is again as it was is no change. */
export function changed<F extends Field>(base: Draft, changes: Changes, field: F, now: Draft[F]): Changes {
  const { [field]: former, ...others } = changes;
  if (isSame(base[field], now)) return others as Changes;
  return { ...others, [field]: { now, before: former ? former.before : base[field] } } as Changes;
}

/** What is still different from the block as it stands now. */
export function pending(base: Draft, changes: Changes): Changes {
  const left = Object.entries(changes).filter(([field, change]) => !isSame(base[field as Field], change.now));
  return Object.fromEntries(left) as Changes;
}

/** Fields that somebody else has changed since we began to. */
export function contested(base: Draft, changes: Changes): Field[] {
  return (Object.keys(changes) as Field[]).filter((field) => !isSame(base[field], changes[field]?.before));
}

/** What keeps this from being saved, in words; empty where nothing does. */
export function faultsOf(draft: Draft): string[] {
  const faults: string[] = [];
  if (draft.source === OWN && !draft.command.trim()) faults.push("Name the program that the agent is.");
  if (draft.timeout.trim() && !/^[1-9]\d{0,8}$/.test(draft.timeout.trim()))
    faults.push("The time-out is a whole number of seconds, or empty for none.");
  if (draft.source !== INTERNAL) {
    const names = draft.env.map(([name]) => name);
    if (names.some((name) => !name || name.includes("=")))
      faults.push("Every variable needs a name without “=”.");
    if (new Set(names).size < names.length) faults.push("Two variables have the same name.");
  }
  return faults;
}

/** The properties to change. What the form does not know of them stays. */
export function propsOf(block: BlockView, base: Draft, draft: Draft): Record<string, unknown> {
  const isNew = (field: Field) => !isSame(base[field], draft[field]);
  const props: Record<string, unknown> = {};
  if (isNew("name")) props.name = draft.name;
  if (SOURCE.some(isNew)) props.source = sourceOf(block, base, draft);
  if (isNew("prompt")) props.prompt = draft.prompt;
  if (isNew("systemPrompt")) props.systemPrompt = draft.systemPrompt || null;
  if (CAPABILITIES.some(isNew))
    props.capabilities = {
      ...objectOf(block.props.capabilities),
      ...Object.fromEntries(CAPABILITIES.map((name) => [name, draft[name]])),
    };
  if (isNew("timeout")) props.timeoutSeconds = draft.timeout.trim() ? Number(draft.timeout) : null;
  if (isNew("directory")) props.workingDirectory = draft.directory || null;
  return props;
}

function sourceOf(block: BlockView, base: Draft, draft: Draft): Record<string, unknown> {
  const former = objectOf(block.props.source);
  if (draft.source === INTERNAL) {
    const kept = former.type === "internal" ? former : {};
    if (base.source === INTERNAL && base.model === draft.model) return kept;
    if (!draft.model) {
      const { model: _, ...others } = kept;
      return { ...others, type: "internal" };
    }
    return { ...kept, type: "internal", model: modelOf(kept.model, draft.model) };
  }
  const command = draft.source === OWN ? draft.command.trim() : draft.source.slice(REGISTERED.length);
  const kept = former.type === "acp" ? former : {};
  return { ...kept, type: "acp", command, args: [...draft.args], env: Object.fromEntries(draft.env) };
}

/** A model as the document names it: by its maker, where it did so before and that one can be asked. */
function modelOf(former: unknown, name: string): unknown {
  const { type, data } = objectOf(former);
  return typeof type === "string" && type !== "atuinHub"
    ? { type, data: { ...objectOf(data), model: name } }
    : name;
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
