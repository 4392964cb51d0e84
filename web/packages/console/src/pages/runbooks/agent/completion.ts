/** Names for a prompt: what stands behind `{{`, what could stand there, and the text with one of them put in. */

import type { BlockView } from "@pollux/protocol";
import { kindOf } from "../kinds";
import { setBy, wantedBy } from "../variables";

/** A name that was begun: from where, and as much of it as is written. */
export interface Begun {
  readonly from: number;
  readonly typed: string;
}

export interface Suggestion {
  readonly text: string;
  readonly about: string;
}

const OUTPUTS: Readonly<Record<string, readonly string[]>> = {
  agent: ["text", "success", "error", "inputTokens", "outputTokens", "durationSeconds"],
  script: ["stdout", "stderr", "combined", "exit_code"],
  terminal: ["output"],
  run: ["output"],
  http: ["body", "body_json", "status", "status_success", "headers"],
  sqlite: ["rows", "first", "total_rows", "columns"],
  postgres: ["rows", "first", "total_rows", "columns"],
  "sub-runbook": ["text"],
};
const MOST = 50;

/** The name that is being written where the caret stands; null where none is. */
export function begunAt(text: string, caret: number): Begun | null {
  const from = text.lastIndexOf("{{", caret - 1);
  if (from < 0 || caret < from + 2) return null;
  const typed = text.slice(from + 2, caret);
  if (/[\n}|]/.test(typed)) return null;
  return { from, typed: typed.trim() };
}

/** Every name that a block may put in its prompt: what is there before it runs. */
export function namesFor(blocks: readonly BlockView[], id: string): Suggestion[] {
  const at = blocks.findIndex((block) => block.id === id);
  const before = blocks.slice(0, at < 0 ? blocks.length : at).filter((block) => block.runs);
  const variables = new Set([...wantedBy(blocks).map((wanted) => wanted.name), ...setBy(before)]);
  const named = before.filter((block) => block.name && OUTPUTS[block.type]);
  const previous = before.at(-1);
  return [
    ...named.reverse().flatMap((block) =>
      (OUTPUTS[block.type] ?? []).map((key) => ({
        text: `doc.named[${quoted(block.name)}].output.${key}`,
        about: `${kindOf(block.type).text.toLowerCase()} “${block.name}”`,
      })),
    ),
    ...(OUTPUTS[previous?.type ?? ""] ?? []).map((key) => ({
      text: `doc.previous.output.${key}`,
      about: "the block before this one",
    })),
    ...[...variables].map((name) => ({ text: `var.${name}`, about: "variable" })),
    { text: "workspace.root", about: "the folder of the workspace" },
  ];
}

/** Those in which all the words that were typed occur; the ones that begin so come first. */
export function matching(names: readonly Suggestion[], typed: string): Suggestion[] {
  const words = typed
    .toLowerCase()
    .split(/[\s.[\]'"]+/)
    .filter(Boolean);
  const found = names.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)));
  const begins = ({ text }: Suggestion) => text.toLowerCase().startsWith(typed.toLowerCase());
  return [...found.filter(begins), ...found.filter((each) => !begins(each))].slice(0, MOST);
}

/** The text with this name in place of what was begun, and where the caret stands then. */
export function completed(
  text: string,
  caret: number,
  begun: Begun,
  name: string,
): { text: string; caret: number } {
  const rest = text.slice(caret).replace(/^[ \t]*\}\}/, "");
  const put = `{{ ${name} }}`;
  return { text: text.slice(0, begun.from) + put + rest, caret: begun.from + put.length };
}

function quoted(name: string): string {
  return name.includes("'") ? JSON.stringify(name) : `'${name.replaceAll("\\", "\\\\")}'`;
}
