/** The vocabulary of a run in plain words. What is not known here is shown as it is, without its underscores. */

import type { ActionDecided, ModelFailed, ModelReplied } from "@pollux/protocol";

export function plain(code: string): string {
  return code.replaceAll("_", " ");
}

const DOORS: Readonly<Record<string, string>> = {
  http: "the HTTP API",
  page: "the chat on a page",
  cli: "the command line",
  sdk: "a program",
  acp: "an editor",
  runbook: "the runbooks",
};

/** How somebody reached us. */
export function doorWords(door: string): string {
  return DOORS[door] ?? plain(door);
}

/** Whose words the model had read. */
export function sourceWords(source: string): string {
  if (source === "user") return "the user";
  if (source === "page") return "the page";
  if (source.startsWith("tool:")) return `the tool ${source.slice(5)}`;
  return plain(source.replace(":", " "));
}

const STOPS: Partial<Record<ModelReplied["stop"], string>> = {
  length: "The answer reached the output limit and is incomplete",
  blocked: "The model's provider held the answer back",
  bad_call: "The model asked for something that cannot be read",
  empty: "The model answered nothing",
  truncated: "The answer broke off",
  other: "The model stopped for a reason of its own",
};

/** What the turn of the model, or of the document in its place, came to. */
export function replyWords(reply: ModelReplied, isDocument: boolean): string {
  const calls = reply.message.parts.flatMap((part) => (part.type === "tool_call" ? [part.name] : []));
  if (reply.message.cut) return "The answer was longer than its limit. It was cut and is incomplete";
  const stop = STOPS[reply.stop];
  if (stop) return stop;
  if (isDocument) return calls.length > 0 ? `Next is ${listed(calls)}` : "The document is at its end";
  return calls.length > 0 ? `The model wants to call ${listed(calls)}` : "The model answered";
}

const FAILURES: Record<ModelFailed["kind"], string> = {
  auth: "the key was refused",
  bad_request: "it refused the question",
  not_found: "there is no such model",
  rate_limit: "it wants fewer questions",
  overloaded: "it is overloaded",
  server: "it had a problem of its own",
  connection: "it could not be reached",
  timeout: "it took too long",
  protocol: "what it said could not be read",
  block: "a block of the document failed",
  instructions: "the instructions could not be made",
  internal: "something went wrong here",
  interrupted: "the process that asked is gone",
};

export function failureWords(kind: ModelFailed["kind"]): string {
  return FAILURES[kind] ?? plain(kind);
}

/** What the policy said of a call. */
export function decisionWords({ action, supersedes }: ActionDecided): string {
  if (supersedes) return `${action.edited_by || "Somebody"} changed what ${action.tool} would get`;
  const mode = action.decision?.mode;
  if (mode === "allow") return `${action.tool} is allowed`;
  if (mode === "deny") return `${action.tool} is refused by the policy`;
  return `${action.tool} needs a person's approval`;
}

const CANCELS: Readonly<Record<string, string>> = {
  superseded: "A newer prompt takes its place: it is to stop",
  parent: "The run that it works for stops, and so does it",
  timeout: "Its time is up: it is to stop",
};

export function cancelWords(reason: string, by: string): string {
  return CANCELS[reason] ?? `${by || "Somebody"} asked it to stop`;
}

const REFUSALS: Readonly<Record<string, string>> = {
  unknown_tool: "The model called a tool that is not there",
  invalid_args: "The model called a tool with arguments that do not fit",
  auth_error: "The model called a tool that needs an account",
};

export function refusalWords(code: string): string {
  return REFUSALS[code] ?? "A call could not be made";
}

const SUMMARIES: Readonly<Record<string, string>> = {
  compressed: "The older part of the conversation was summed up",
  refused_empty: "A summary came out empty and was not used",
  refused_larger: "A summary came out longer than what it stands for and was not used",
  failed: "A summary could not be made",
};

export function summaryWords(status: string): string {
  return SUMMARIES[status] ?? "A summary was tried";
}

export function listed(names: readonly string[]): string {
  return names.length < 2
    ? (names[0] ?? "nothing")
    : `${names.slice(0, -1).join(", ")} and ${names.at(-1) ?? ""}`;
}
