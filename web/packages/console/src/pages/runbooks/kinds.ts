/** The kinds of blocks as people call them, and what of a block says what it would do. */

import type { BlockView } from "@pollux/protocol";
import type { SignName } from "./sign";

interface Kind {
  readonly text: string;
  readonly sign: SignName;
}

const KINDS: Readonly<Record<string, Kind>> = {
  agent: { text: "Agent", sign: "agent" },
  script: { text: "Script", sign: "script" },
  terminal: { text: "Terminal", sign: "script" },
  run: { text: "Terminal", sign: "script" },
  http: { text: "Request", sign: "request" },
  sqlite: { text: "SQLite", sign: "query" },
  postgres: { text: "PostgreSQL", sign: "query" },
  env: { text: "Environment", sign: "value" },
  var: { text: "Variable", sign: "value" },
  "local-var": { text: "Your variable", sign: "value" },
  var_display: { text: "Shows a variable", sign: "value" },
  dropdown: { text: "Choice", sign: "choice" },
  directory: { text: "Directory", sign: "folder" },
  "local-directory": { text: "Your directory", sign: "folder" },
  pause: { text: "Pause", sign: "pause" },
  "sub-runbook": { text: "Runbook", sign: "part" },
  editor: { text: "Text", sign: "text" },
  markdown_render: { text: "Shows a text", sign: "text" },
};

export function kindOf(type: string): Kind {
  return KINDS[type] ?? { text: type, sign: "text" };
}

/** A block's name, or what stands for it. */
export function nameOf({ name, type }: { readonly name: string; readonly type: string }): string {
  return name || kindOf(type).text;
}

/** A property that is text; empty where it is anything else. */
export function written(block: Pick<BlockView, "props">, name: string): string {
  const value = block.props[name];
  return typeof value === "string" ? value : "";
}

/** What a block would do, as it stands in the document: templates are still templates. */
export function actOf(block: BlockView): string {
  const of = (name: string) => written(block, name);
  switch (block.type) {
    case "agent":
      return block.agent?.prompt ?? "";
    case "http":
      return [`${of("verb") || "GET"} ${of("url")}`, of("body")].filter(Boolean).join("\n\n");
    case "sqlite":
    case "postgres":
      return of("query");
    case "env":
    case "var":
      return `${of("name")}=${of("value")}`;
    case "dropdown":
      return of("fixedOptions") || of("options") || of("commandOptions") || of("variableOptions");
    case "directory":
      return of("path");
    case "pause":
      return of("message") || of("label");
    case "sub-runbook":
      return of("runbookPath") || of("runbookName");
    default:
      return of("code") || of("content") || block.content;
  }
}

/** Who an agent block asks: `our own agent`, `gemini`, `python3 todo_agent.py`. */
export function askedBy({ agent }: BlockView): string {
  if (!agent) return "";
  if (agent.source.type === "internal")
    return agent.source.model ? `our own agent, ${agent.source.model}` : "our own agent";
  return [agent.source.command, ...agent.source.args].join(" ");
}
